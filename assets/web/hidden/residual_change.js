// Panel: lengths of the states, and what attention and the feed-forward network add in each block.

import { el } from "../core/dom.js";
import { keptTokens, median, named } from "./results.js";
import { LineChart } from "./layer_chart.js";
import { Panel } from "./panel.js";

const PRE = "Each part is added to the residual stream itself, and measured by its length.";
const POST = "Each part is measured in its sum before the norm, which then rescales it.";

export class ChangePanel extends Panel {
  constructor({ layer }) {
    super({
      name: "change",
      title: "Norms and change per block",
      measures:
        "Measured: lengths of hidden states and of what each block adds. Not measured: directions, or whether a part matters to the answer.",
    });
    const block = { xTitle: "Block", choose: (at) => layer(at + 1) };
    this.norms = new LineChart({
      title: "Length of the hidden states",
      xTitle: "Blocks passed (0 = embeddings)",
      yTitle: "model's units",
      choose: layer,
    });
    this.parts = new LineChart({ title: "What each part adds ÷ what it is added to", yTitle: "no unit", ...block });
    this.moved = new LineChart({ title: "Change of the whole state ÷ its length before", yTitle: "no unit", ...block });
    this.norm = el("p", { class: "viz-caption" });
    this.body.append(this.norms.node, this.parts.node, this.norm, this.moved.node);
  }

  async show(state) {
    const { run, special, token } = state;
    this.state = state;
    const views = await run.json("views").catch(() => null);
    if (this.state !== state) return;
    const missing = views?.residual_change.missing ?? "";
    const tables = [
      { text: "Norms ", path: `change?special=${special}` },
      ...(missing ? [] : [{ text: "Parts ", path: `parts?special=${special}` }]),
    ];
    this.files(
      run,
      tables,
      `${missing ? "over_smoothing" : "residual_change"}?tokens=${special ? "all" : "without special"}`,
    );
    const [change, parts] = await Promise.all([
      this.fetch(run, `change?special=${special}`),
      missing ? null : this.fetch(run, `parts?special=${special}`, "parts"),
    ]);
    if (this.state !== state) return;
    const place = keptTokens(run, special).indexOf(token);
    if (change) this.#change(change, place, state);
    this.parts.node.hidden = !parts;
    this.norm.textContent = missing
      ? `${missing} Without it, the attention part and the feed-forward part cannot be told apart.`
      : "";
    if (parts) this.#parts(parts, place, state);
    if (change && (missing || parts)) this.node.dataset.painted = `${run.key}:${special}:${token}:${state.layer}`;
  }

  mark() {}

  #change(answer, place, { run, token, layer }) {
    this.norms.show(this.#pair(answer, 0, 0, place, run, token), layer);
    this.moved.show(this.#pair(answer, 2, 1, place, run, token), layer - 1);
  }

  #parts(answer, place, { run, token, layer }) {
    const [attention, own] = this.#pair(answer, 2, 0, place, run, token);
    const [forward, ownForward] = this.#pair(answer, 3, 0, place, run, token);
    const both = [
      { ...attention, name: "attention, median of tokens" },
      { ...forward, name: "feed-forward, median of tokens", kind: "viz-hidden-b" },
      ...(own
        ? [
            { ...own, name: `attention, ${own.name}`, kind: "viz-hidden-a viz-hidden-own" },
            { ...ownForward, name: `feed-forward, ${own.name}`, kind: "viz-hidden-b viz-hidden-own" },
          ]
        : []),
    ];
    this.parts.show(both, layer - 1);
    this.norm.textContent = answer.about.preNorm ? PRE : POST;
  }

  // One series of series × layers × tokens, from a layer on: the median, and the chosen token's own.
  #pair({ values, shape: [, layers, tokens] }, series, from, place, run, token) {
    const row = (layer) => values.subarray((series * layers + layer) * tokens, (series * layers + layer + 1) * tokens);
    const rows = Array.from({ length: layers - from }, (_, at) => row(at + from));
    const own = { name: named(run, token), values: rows.map((each) => each[place]), kind: "viz-hidden-c" };
    return [{ name: "median of tokens", values: rows.map(median), kind: "viz-hidden-a" }, ...(place < 0 ? [] : [own])];
  }
}
