// Panel: lengths of the states, and what attention and the feed-forward network add in each block.

import { caption } from "../core/dom.js";
import { STATES_AXIS } from "../core/states.js";
import { LineChart } from "./layer_chart.js";
import { Panel } from "./panel.js";

/** @import { Line } from "./layer_chart.js" */
/** @import { Acts, Draw, State, Table } from "./panel.js" */
/** @typedef {(numbers: Numbers, series: number, from?: number) => Line[]} Pair */

const PRE = "Update size: length of what a part adds ÷ length of the residual stream it is added to.";
const POST =
  "Update size: length of what a part adds ÷ length of what it is added to, before the norm rescales the sum.";

export class ResidualChangePanel extends Panel {
  norm = caption();

  constructor(/** @type {Acts} */ acts) {
    super(
      acts,
      "change",
      "Norms and updates per block",
      "Compare how much attention and the feed-forward network add in each block. These are lengths, not directions, and they do not show whether a part matters to the answer.",
    );
    const block = { xTitle: "Block", yTitle: "ratio", choose: (/** @type {number} */ at) => acts.layer(at + 1) };
    const states = { xTitle: STATES_AXIS, yTitle: "model's units", choose: acts.layer };
    this.norms = new LineChart("Length of the hidden states", states);
    this.parts = new LineChart("Relative update size (attention, feed-forward)", block);
    this.moved = new LineChart("Relative change of the whole state", block);
    this.body.append(this.norms.node, this.parts.node, this.norm, this.moved.node);
  }

  /** @override @type {(state: State, missing: string) => Table[]} */
  tables({ hide }, missing) {
    /** @type {Table[]} */
    const tables = [
      ["Norms ", `hidden_change?hide_special=${hide}`],
      ["Parts ", `residual_change?hide_special=${hide}`],
    ];
    return missing ? tables.slice(0, 1) : tables;
  }

  /** @override @type {Draw} */
  async draw(state, fresh) {
    const { run, hide, token, layer } = state;
    const [first] = await fresh(this.views(run));
    const asked = this.tables(state, first?.missing ?? "").map(([, path]) => run.numbers(`hidden/${path}`));
    /** @type {Numbers<{ preNorm?: boolean }>[]} */
    const [change, parts] = await fresh(Promise.all(asked));
    const place = run.real(hide).indexOf(token);
    /** @type {Pair} */
    const pair = (numbers, series, from = 0) => pairOf(numbers, series, from, place, run.named(token));
    this.norms.show(pair(change, 0), layer);
    this.moved.show(pair(change, 2, 1), layer - 1);
    this.parts.node.hidden = !parts;
    this.norm.textContent = parts
      ? parts.about.preNorm
        ? PRE
        : POST
      : `${first.missing} Without it, the attention part and the feed-forward part cannot be told apart.`;
    if (parts) this.#parts(pair(parts, 2), pair(parts, 3), layer - 1);
    return `${hide}:${token}:${layer}`;
  }

  /** @type {(attention: Line[], forward: Line[], at: number) => void} */
  #parts([attention, own], [forward, ownForward], at) {
    const both = [
      { ...attention, name: "attention, median of tokens" },
      { ...forward, name: "feed-forward, median of tokens", kind: "viz-hidden-b" },
    ];
    const ofToken = own && [
      { ...own, name: `attention, ${own.name}`, kind: "viz-hidden-a viz-hidden-own" },
      { ...ownForward, name: `feed-forward, ${own.name}`, kind: "viz-hidden-b viz-hidden-own" },
    ];
    this.parts.show([...both, ...(ofToken ?? [])], at);
  }
}

/** One series of series × layers × tokens, from a layer on: the median, and the own of the token at a place.
 * @type {(numbers: Numbers, series: number, from: number, place: number, name: string) => Line[]} */
function pairOf({ values, shape: [, layers, tokens] }, series, from, place, name) {
  const row = (/** @type {number} */ layer) =>
    values.subarray((series * layers + layer) * tokens, (series * layers + layer + 1) * tokens);
  const rows = Array.from({ length: layers - from }, (_, at) => row(at + from));
  const middle = { name: "median of tokens", values: rows.map(median), kind: "viz-hidden-a" };
  return place < 0 ? [middle] : [middle, { name, values: rows.map((each) => each[place]), kind: "viz-hidden-c" }];
}

// The middle value, of those that are defined.
export function median(/** @type {Float32Array} */ values) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 || !sorted.length ? (sorted[half] ?? NaN) : (sorted[half - 1] + sorted[half]) / 2;
}
