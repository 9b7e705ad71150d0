// Panel: how alike the tokens are after this many blocks, and whether they become one over layers.

import { caption, el } from "../core/dom.js";
import { afterBlocks, STATES_AXIS } from "../core/states.js";
import { LineChart } from "./layer_chart.js";
import { Nearest } from "./nearest_tokens.js";
import { Panel } from "./panel.js";
import { SimilarityMatrix } from "./similarity_matrix.js";

/** @import { Acts, Draw, State, Table } from "./panel.js" */
/** @import { Cells } from "./similarity_matrix.js" */

const CLEAR = 2; // hundredths of a cosine by which the lines turn

export class TokenSimilarityPanel extends Panel {
  heading = el("h4");
  lead = el("span");

  /** `beside` stands at the end of the lines. @param {Acts} acts @param {HTMLElement} beside */
  constructor(acts, beside) {
    super(
      acts,
      "similarity",
      "Token similarity (cosine)",
      "Look for blocks of high cosine: tokens whose hidden states point the same way. The cosine ignores their lengths, and does not show that the model treats the tokens alike.",
    );
    this.matrix = new SimilarityMatrix(acts, this.told);
    const axes = { xTitle: STATES_AXIS, yTitle: "cosine, ratio", choose: acts.layer };
    this.chart = new LineChart("Over-smoothing", axes);
    const says = caption(
      "Watch whether the mean cosine rises toward 1 and the spread falls toward 0: the tokens are becoming alike. Mean cosine: over all pairs of different tokens. Spread: ‖states − their mean‖ ÷ ‖states‖. A high cosine alone does not prove over-smoothing: states of unrelated inputs may share a direction too.",
    );
    const left = el("div", {}, this.heading, this.matrix.node, this.told);
    this.nearest = new Nearest(acts);
    this.body.append(left, el("div", {}, this.chart.node, says), beside, this.nearest.node);
  }

  /** @override @type {(state: State) => Table[]} */
  tables(state) {
    const { hide, layer } = state;
    return [
      ["Matrix ", `token_similarity?layer=${layer}&hide_special=${hide}`],
      ["Lines ", `over_smoothing?hide_special=${hide}`],
      this.nearest.table(state),
    ];
  }

  /** @override @type {Draw} */
  async draw(state, fresh) {
    const { run, hide, layer, token } = state;
    /** @type {Promise<OverSmoothing>} */
    const lines = run.json(`hidden/over_smoothing?hide_special=${hide}`);
    const [[, path]] = this.tables(state);
    /** @type {Promise<Numbers<{ edges: number[] }>>} */
    const numbers = run.numbers(`hidden/${path}`, fresh.signal);
    const [{ values, about }, spread] = await fresh(Promise.all([numbers, lines, this.nearest.draw(state, fresh)]));
    const cells = { kept: run.real(hide), values, edges: about.edges };
    this.#spread(spread, layer);
    this.matrix.show(run, cells, token);
    const [, each] = cells.edges;
    const pooled = cells.kept.length >= cells.edges.length;
    const of = pooled ? `; each cell is the mean of up to ${each} × ${each} tokens` : "";
    this.heading.textContent = `Cosine of every pair of tokens ${afterBlocks(layer)}${of}`;
    return `${layer}:${hide}:${token}`;
  }

  /** @override @param {number | null} hovered */
  mark(hovered) {
    super.mark(hovered);
    this.matrix.mark(hovered);
    this.nearest.mark(hovered);
  }

  /** @type {(spread: OverSmoothing, layer: number) => void} */
  #spread({ cosine, apart }, layer) {
    const [cosines, aparts] = [cosine, apart].map((values) => values.map((value) => value ?? NaN));
    const lowest = Math.min(...[...cosines, ...aparts].filter(Number.isFinite));
    const lines = [
      { name: "mean cosine", values: cosines, kind: "viz-hidden-a" },
      { name: "spread", values: aparts, kind: "viz-hidden-b" },
    ];
    this.chart.show(lines, layer, lowest > -0.05 ? 0 : null, 1);
    const layers = [...new Set([0, layer, cosine.length - 1])];
    const said = layers.map((at) => `${twoDigits(cosine[at])} ${afterBlocks(at)}`);
    this.lead.textContent = `${wayOf(cosine.slice(0, layer + 1))}: mean cosine over pairs of tokens ${said.join(", ")}.`;
  }
}

/** Whether the tokens grow alike over the blocks or apart, or one and then the other, by their mean cosines.
 * @type {(cosines: Maybe[]) => string} */
export function wayOf(cosines) {
  const all = cosines.map((value) => Math.round(100 * Number(value)));
  const [first, last, low, high] = [all[0], all[all.length - 1], Math.min(...all), Math.max(...all)];
  if (Math.min(first, last) - low > CLEAR) return "The tokens grow apart, then alike";
  if (high - Math.max(first, last) > CLEAR) return "The tokens grow alike, then apart";
  return last > first ? "The tokens grow alike" : last < first ? "The tokens grow apart" : "The tokens stay as alike";
}

const twoDigits = (/** @type {Maybe} */ value) =>
  value === null ? "not defined" : value.toFixed(2).replace(/^-(?=0\.00$)/, "");
