// Effects of the mask: hidden states by layer and token, and the pooled vectors.

import { button, caption, el, number, tableRow } from "../core/dom.js";
import { afterBlocks } from "../core/states.js";
import { section, table } from "../views/headed.js";
import { descending, scaleBar, tintGradient, TOLD } from "../views/shading.js";
import { OPACITY, TokenChoice } from "../views/token_choice.js";

/** @typedef {{ run: Run, result: MaskResult, query: number }} Shown */

const UNIT = "‖h − h′‖ / ‖h′‖, where h′ is the state without the mask";
const POOLED = ["Pooled by", "Cosine (1 = same direction)", "Difference (share of its length)"];

export class Effect {
  /** @type {Shown | null} */
  shown = null;
  layer = 0;
  bars = el("ol", { class: "viz-mask-bars" });
  heading = el("h4");
  pooled = el("div");

  constructor(/** @type {(token: number) => unknown} */ choose) {
    this.source = new ShadedInput(choose);
    const title = el("h4", {}, "How far hidden states moved, mean over real tokens");
    const says = caption(`${UNIT}. Click a layer to see its tokens.`);
    const left = el("div", {}, title, this.bars, says, this.pooled);
    const right = el("div", {}, this.heading, this.source.node);
    this.node = section(
      ...["viz-mask-result-part", "What the mask changes", "What the mask changes, compared with the run without it"],
      el("div", { class: "viz-mask-two" }, left, right),
    );
  }

  show(/** @type {Shown} */ shown) {
    if (this.shown?.result !== shown.result) this.layer = shown.result.moved.length - 1;
    this.shown = shown;
    this.draw();
  }

  draw() {
    if (!this.shown) return;
    const { run, result, query } = this.shown;
    const most = Math.max(...result.movedMean.map(Number)) || 1;
    const bars = result.movedMean.map((value, at) => this.#bar(at, value, Number(value) / most));
    this.bars.replaceChildren(...bars);
    this.heading.textContent = `How far each token moved, ${afterBlocks(this.layer)}`;
    this.source.show(run, query, result.moved[this.layer], UNIT);
    const rows = Object.entries(result.pooled).map(([method, { cosine, difference }]) =>
      tableRow(method, signed(cosine), number(difference)),
    );
    this.pooled.replaceChildren(table("viz-mask-table", POOLED, rows, "Pooled output with and without the mask"));
  }

  /** @type {(at: number, value: Maybe, share: number) => HTMLElement} */
  #bar(at, value, share) {
    const choose = () => {
      this.layer = at;
      this.draw();
    };
    const chosen = String(at === this.layer);
    const bar = button("", choose, { class: "viz-mask-bar", "data-moved": value, "aria-pressed": chosen });
    const length = el("i", { style: `width:${(share * 100).toFixed(2)}%` });
    bar.append(length, el("span", {}, afterBlocks(at)), el("span", {}, number(value)));
    return el("li", {}, bar);
  }
}

// A cosine, which may be below 0.
const signed = (/** @type {Maybe} */ value) => (value !== null && value < 0 ? `−${number(-value)}` : number(value));

/** @typedef {{ run: Run, values: Float32Array }} Row */

class ShadedInput {
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
      : undefined;
    const most = run.grid ? " (the largest on a patch; shown on dark and on light)" : "";
    this.scaleNode.replaceChildren("0 ", scaleBar(scale, background), ` ${number(scale.high)}${most}, ${unit}.`);
    this.told.textContent = summary(shown);
  }
}

/** The largest values in words. @type {(shown: Row) => string} */
function summary({ run, values }) {
  const most = descending(values).slice(0, TOLD);
  return `Largest for ${most.map((at) => `${run.named(at)} ${number(values[at])}`).join(", ") || "nothing else"}.`;
}

/** @type {(shown: Row, at: number) => string} */
const sentence = ({ run, values }, at) => `${run.named(at)}: ${number(values[at])}`;
