// Lines over the words, from the chosen one to where it looks, where they stand in one line.

import { drawArcs, isSingle, ROOM } from "../core/arcs.js";
import { el } from "../core/dom.js";
import { descending } from "../views/shading.js";

/** @import { Words } from "../views/token_strip.js" */

const MOST = 40; // chips; a longer text would be a thicket
const LINES = 8; // of the chosen word, the strongest
const LEAST = 0.02; // a weaker one is not drawn

export class WordArcs {
  canvas = el("canvas", { class: "viz-arcs", "aria-hidden": "true" });
  #single = false;

  /** @param {Words} words @param {HTMLElement} box that the words stand in, and in which they scroll */
  constructor(words, box) {
    this.words = words;
    this.box = box;
    box.classList.add("viz-arced");
  }

  // The words, or something else in their place.
  show(/** @type {HTMLElement | null} */ other) {
    this.box.style.paddingTop = "";
    this.box.replaceChildren(...(other ? [other] : [this.canvas, this.words.text]));
  }

  // Whether there is room for arcs: a short text, in one line.
  layout() {
    const { chips, parts } = this.words;
    this.#single = parts.hidden && chips.length <= MOST && isSingle(chips);
    this.box.style.paddingTop = this.#single ? `${ROOM}px` : "";
    this.canvas.hidden = !this.#single;
  }

  /** From the chosen word, or to it; none where the numbers are no weights.
   * @type {(values: Float32Array | null, chosen: number) => void} */
  draw(values, chosen) {
    this.layout();
    if (!this.#single) return;
    const links = values ? linksOf(values, chosen) : [];
    drawArcs(this.canvas, this.box, this.words.chips, { query: chosen, links, faint: [] });
  }
}

/** The strongest, each with its place; not the word itself.
 * @type {(values: Float32Array, chosen: number) => { at: number, weight: number }[]} */
export const linksOf = (values, chosen) =>
  descending(values)
    .filter((at) => at !== chosen && values[at] >= LEAST)
    .slice(0, LINES)
    .map((at) => ({ at, weight: values[at] }));
