// Says where a color scale leaves a map nearly white or nearly black, with the scale that does not, one click away.

import { button, el } from "../core/dom.js";

/** @import { Tile } from "./types.d.ts" */
/** @typedef {{ pale: number, deep: number }} Tone shares of the weights above 0 that are drawn pale, or deep */

const PALE = 0.02; // end of the scale that is nearly white on a light page
const DEEP = 0.5; // and above: on a light page nearly black
const NEARLY_ALL = 0.95;
const ROBUST = "percentile";
const CHOSEN_FOR_RANGE = [ROBUST, "sqrt", "log"]; // who chose these has seen to it

/**
 * Distribution of the positive weights on a scale.
 * @type {(values: ArrayLike<number>, scale: Scale) => Tone}
 */
export function toneOf(values, scale) {
  let [pale, deep, all] = [0, 0, 0];
  const [low, high] = [scale.at(PALE), scale.at(DEEP)];
  for (let at = 0; at < values.length; at++) {
    const above = values[at] > 0; // else masked, or exactly 0, which has a color of its own
    all += Number(above); // added and not branched on, which takes a third of the time
    pale += Number(above && values[at] < low);
    deep += Number(values[at] > high);
  }
  return all ? { pale: pale / all, deep: deep / all } : { pale: 0, deep: 0 };
}

/** A hint; "" if the map is readable. @type {(tone: Tone) => string} */
export function toneSentence({ pale, deep }) {
  const percent = (/** @type {number} */ share) => `${Math.floor(share * 100)}%`;
  if (pale >= NEARLY_ALL) return `Hard to see: ${percent(pale)} of the weights are below 2% of this scale.`;
  if (deep >= NEARLY_ALL) return `Hard to see: ${percent(deep)} of the weights are above half of this scale.`;
  return "";
}

export class ScaleHint {
  #told = "";
  /** @type {ArrayLike<number> | null} */ #of = null;
  text = el("span");
  node;

  constructor(/** @type {(scale: string) => unknown} */ choose) {
    const better = button("Color percentiles 1 to 99", () => choose(ROBUST), { class: "viz-small" });
    this.said = el("span", { hidden: true }, this.text, " ", better);
    this.node = el("p", { class: "viz-caption viz-scale-hint" }, this.said);
  }

  // Per row, a weight is a share of its row's largest, which `scaled` would give; it is not judged.
  /** @type {(tile: Tile, scale: Scale) => void} */
  show({ values }, scale) {
    const asked = `${scale.name}:${scale.high}`;
    if (this.#told === asked && this.#of === values) return;
    [this.#told, this.#of] = [asked, values];
    const judged = scale.name !== "row" && !scale.waiting && !CHOSEN_FOR_RANGE.includes(scale.name);
    this.text.textContent = judged ? toneSentence(toneOf(values, scale)) : "";
    this.said.hidden = !this.text.textContent;
  }
}
