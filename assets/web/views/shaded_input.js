// The text or the picture itself, shaded by a number for each token: with its scale, and in words.

import { el, number } from "../core/dom.js";
import { descending, gradient, TOLD, tintGradient } from "./shading.js";
import { OPACITY, TokenChoice } from "./token_choice.js";

/** @typedef {{ run: Run, values: Float32Array }} Row */

export class ShadedInput {
  told = el("p", { class: "viz-caption viz-flow-told", role: "status" });
  scaleNode = el("p", { class: "viz-caption viz-stat-scale" });
  /** @type {Row | null} */
  shown = null;

  /** @param {(token: number) => unknown} choose */
  constructor(choose) {
    const hover = (/** @type {number | null} */ at) => {
      if (at !== null && this.shown) this.told.textContent = sentence(this.shown, at);
    };
    this.tokens = new TokenChoice({ hover, choose }, { widest: 440, tallest: 440 });
    this.tokens.node.classList.add("viz-source-body");
    this.node = el("div", { class: "viz-flow-source" }, this.tokens.node, this.scaleNode, this.told);
  }

  /** @type {(run: Run, token: number, row: ArrayLike<Maybe>, unit: string) => void} */
  show(run, token, row, unit) {
    const shown = { run, values: Float32Array.from(row, (value) => value ?? 0) };
    this.shown = shown;
    this.tokens.node.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.tokens.show(run, token, { values: shown.values, say: (at) => sentence(shown, at) });
    const { scale } = this.tokens;
    const background = run.grid
      ? `${tintGradient("right", scale, OPACITY)}, linear-gradient(to bottom, #222222 50%, #dddddd 50%)`
      : gradient("right", scale);
    const bar = el("i", { class: "viz-stat-bar", style: `background: ${background}` });
    const most = run.grid ? " (the largest on a patch; shown on dark and on light)" : "";
    this.scaleNode.replaceChildren("0 ", bar, ` ${number(scale.high)}${most}, ${unit}.`);
    this.told.textContent = summary(shown);
  }
}

/** The largest values in words. @type {(shown: Row) => string} */
function summary({ run, values }) {
  const most = descending(values, -1).slice(0, TOLD);
  return `Largest for ${most.map((at) => `${run.named(at)} ${number(values[at])}`).join(", ") || "nothing else"}.`;
}

/** @type {(shown: Row, at: number) => string} */
const sentence = ({ run, values }, at) => `${run.named(at)}: ${number(values[at])}`;
