// Panel: how alike the tokens are after this many blocks, and whether they become one over layers.

import { el } from "../core/dom.js";
import { keptTokens, passed } from "./results.js";
import { LineChart } from "./layer_chart.js";
import { Matrix } from "./similarity_matrix.js";
import { Panel } from "./panel.js";

const TOGETHER = 64; // tokens up to which all layers' matrices are fetched at once

export class LikenessPanel extends Panel {
  constructor({ hover, choose, layer }) {
    super({
      name: "likeness",
      title: "Likeness of tokens",
      measures:
        "Measured: the cosine of two tokens' hidden states, whether they point the same way. Not measured: their lengths, or whether the model treats the tokens alike.",
    });
    this.matrix = new Matrix({
      hover,
      choose,
      tell: (text) => {
        this.told.textContent = text;
      },
    });
    this.heading = el("h4", {});
    this.sentence = el("p", { class: "viz-hidden-sentence" });
    this.chart = new LineChart({
      title: "Are the tokens becoming one?",
      xTitle: "Blocks passed (0 = embeddings)",
      yTitle: "no unit",
      choose: layer,
    });
    this.body.append(
      this.heading,
      this.matrix.node,
      this.told,
      this.chart.node,
      this.sentence,
      el(
        "p",
        { class: "viz-caption" },
        "Mean cosine: over all pairs of different tokens. Apart: ‖states − their mean‖ ÷ ‖states‖, 0 where all tokens are the same. A high cosine alone is no proof of over-smoothing: states of unrelated inputs may share a direction too.",
      ),
    );
  }

  async show(state) {
    const { run, special, layer } = state;
    this.state = state;
    this.files(
      run,
      [
        { text: "Matrix ", path: `likeness?layer=${layer}&special=${special}` },
        { text: "Lines ", path: `over_smoothing?special=${special}` },
      ],
      `token_similarity?layer=${layer}&tokens=${special ? "all" : "without special"}`,
    );
    const [cells, spread] = await Promise.all([
      this.#cells(state),
      this.fetch(run, `over_smoothing?special=${special}`, "lines"),
    ]);
    if (this.state !== state) return;
    if (spread) this.#spread(spread, layer);
    if (!cells) return;
    this.heading.textContent = `Cosine of each two tokens ${passed(layer)}`;
    this.matrix.show({ ...state, ...cells });
    if (this.matrix.pooled)
      this.heading.textContent += `; each cell is the mean of up to ${cells.edges[1]} × ${cells.edges[1]} tokens`;
    this.node.dataset.painted = `${run.key}:${layer}:${special}:${state.token}`;
  }

  mark(hovered) {
    this.matrix.mark(hovered);
  }

  async #cells({ run, special, layer }) {
    const { length } = keptTokens(run, special);
    if (length > TOGETHER) {
      const answer = await this.fetch(run, `likeness?layer=${layer}&special=${special}`);
      return answer && { values: answer.values, edges: answer.about.edges };
    }
    const answer = await this.fetch(run, `likenesses?special=${special}`);
    return (
      answer && {
        values: answer.values.subarray(layer * length ** 2, (layer + 1) * length ** 2),
        edges: Array.from({ length: length + 1 }, (_, at) => at),
      }
    );
  }

  #spread({ cosine, apart }, layer) {
    const numbers = [cosine, apart].map((values) => values.map((value) => value ?? NaN));
    const lowest = Math.min(...numbers.flat().filter(Number.isFinite));
    this.chart.show(
      [
        { name: "mean cosine", values: numbers[0], kind: "viz-hidden-a" },
        { name: "apart", values: numbers[1], kind: "viz-hidden-b" },
      ],
      layer,
      { low: lowest > -0.05 ? 0 : null, high: 1 },
    );
    const said = (at) =>
      `${cosine[at] === null ? "not defined" : cosine[at].toFixed(2).replace(/^-(?=0\.00$)/, "")} ${passed(at)}`;
    this.sentence.textContent = `Mean cosine of two tokens: ${[...new Set([0, layer, cosine.length - 1])].map(said).join(", ")}.`;
  }
}
