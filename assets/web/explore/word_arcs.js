// Lines over the words, from the chosen one to where it looks, where they stand in one line.

import { drawArcs, isSingle, ROOM } from "../core/arcs.js";
import { el } from "../core/dom.js";
import { fullHeight } from "../views/full_screen.js";
import { descending } from "../views/shading.js";

/** @import { Words } from "../views/token_strip.js" */

const MOST = 40; // chips; a longer text would be a thicket
const LINES = 8; // strongest of the chosen word
const LEAST = 0.02; // a weaker one is not drawn
const ZOOMS = [2.2, 2, 1.8, 1.6, 1.4, 1.2]; // font sizes of words alone in the window
const BELOW = 24; // pixels of a full-screen view besides its arcs and words

export class WordArcs {
  canvas = el("canvas", { class: "viz-arcs", "aria-hidden": "true" });
  #single = false;
  #room = ROOM;
  #fitted = ""; // the room and the words that they were fitted to

  /** @param {Words} words @param {HTMLElement} box that the words stand in, and in which they scroll */
  constructor(words, box) {
    this.words = words;
    this.box = box;
    box.classList.add("viz-arced");
  }

  // The words, or something else in their place; the room above words is theirs until they are laid out.
  show(/** @type {HTMLElement | null} */ other) {
    if (other) this.box.style.paddingTop = "";
    this.box.replaceChildren(...(other ? [other] : [this.canvas, this.words.text]));
  }

  // Whether there is room for arcs: a short text, in one line.
  layout() {
    this.#grow();
    this.#single = this.#fits();
    this.box.style.paddingTop = this.#single ? `${this.#room}px` : "";
    this.canvas.hidden = !this.#single;
    this.box.classList.toggle("viz-single", this.#single);
  }

  #fits() {
    const { chips, parts } = this.words;
    return parts.hidden && chips.length <= MOST && isSingle(chips);
  }

  // Alone in the window, words are as large as leaves them in their one line, or all of them in sight.
  #grow() {
    const { box } = this;
    const height = fullHeight(box);
    const fitted = height ? `${height}:${box.clientWidth}:${this.words.chips.length}` : "";
    if (fitted === this.#fitted) return; // as at every move of the pointer
    const zoom = (/** @type {number | string} */ by) => box.style.setProperty("--viz-zoom", String(by));
    this.#fitted = fitted;
    zoom("");
    const single = this.#fits();
    const fits = (/** @type {number} */ by) => {
      zoom(by);
      return single ? this.#fits() : box.scrollHeight <= height;
    };
    if (!height || !ZOOMS.some(fits)) zoom("");
    this.#room = Math.max(ROOM, height - (this.words.chips[0]?.offsetHeight ?? 0) - BELOW); // arcs fill the window
  }

  /** From the chosen word, or to it, dashed as it was; none where the numbers are no weights.
   * @type {(values: Float32Array | null, chosen: number, before?: Float32Array | null, marked?: number) => void} */
  draw(values, chosen, before = null, marked = undefined) {
    this.layout();
    if (!this.#single) return;
    const [links, was] = [values, before].map((of) => (of ? linksOf(of, chosen) : []));
    drawArcs(this.canvas, this.box, this.words.chips, { query: chosen, links, was, marked }, this.#room);
  }
}

/** The strongest, each with its place; not the word itself.
 * @type {(values: Float32Array, chosen: number) => { at: number, weight: number }[]} */
export const linksOf = (values, chosen) =>
  descending(values)
    .filter((at) => at !== chosen && values[at] >= LEAST)
    .slice(0, LINES)
    .map((at) => ({ at, weight: values[at] }));
