// Step 11: one vector for the whole input: the first token's, the mean or the maximum.

import { caption, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { isolated } from "../core/token_names.js";
import { fixed, signedText } from "./printed.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Row } from "./vector_rows.js" */
/** @import { Acts, Shown, StepView } from "./types.d.ts" */

const FIRST = 4; // tokens with a row of their own

/** @implements {StepView} */
export class PoolingStep {
  #asked = new Latest((sentence) => this.note.replaceChildren(sentence));
  sum = el("p", { class: "viz-learn-equation" });
  note = caption();
  /** @type {{ key: string, vectors: Float32Array[] } | null} of the real tokens */
  found = null;

  constructor(/** @type {Acts} */ { choose, layoutChanged }) {
    this.changed = layoutChanged;
    this.rows = new VectorRows((around) => choose({ around }));
    this.node = el("div", {}, this.rows.node, this.sum, this.note);
  }

  /** @param {Shown} shown */
  headline({ run, texts }) {
    const [vector] = this.found?.key === run.key ? this.found.vectors : [];
    return vector ? texts.pooling.headline(run.real(true).length, vector.length) : [];
  }

  /** @param {Shown} shown */
  async show(shown) {
    const { run, place, texts } = shown;
    this.note.textContent = texts.pooling.note;
    if (this.found?.key !== run.key) {
      await this.#asked.run(async (fresh) => {
        const { shape, values } = await fresh(run.numbers("learn/outputs"));
        const vector = (/** @type {number} */ token) => values.subarray(token * shape[1], (token + 1) * shape[1]);
        this.found = { key: run.key, vectors: run.real(true).map(vector) };
        this.changed();
      });
    }
    if (this.found?.key !== run.key) return;
    const { vectors } = this.found;
    const n = vectors.length;
    const each = (/** @type {(values: number[]) => number} */ pool) =>
      Array.from(vectors[0], (_, dim) => pool(vectors.map((vector) => vector[dim])));
    const mean = each((values) => values.reduce((sum, value) => sum + value, 0) / n);
    const words = texts.pooling;
    const tokens = run.real(true);
    /** @type {Row[]} */
    const rows = vectors.slice(0, FIRST).map((values, at) => ({ name: isolated(run.tokens[tokens[at]]), values }));
    rows.push({ name: words.mean, values: mean }, { name: words.first, values: vectors[0] });
    rows.push({ name: words.max, values: each((values) => Math.max(...values)) });
    this.rows.node.setAttribute("aria-label", words.vectors);
    this.rows.show(rows, place.around, texts, 3);
    const dim = Math.min(place.around, mean.length - 1);
    const printed = vectors.slice(0, FIRST).map((vector, at) => (at ? signedText : fixed)(vector[dim], 3));
    const more = n > FIRST ? [words.others(n - FIRST)] : [];
    this.sum.textContent = `(${[printed.join(" "), ...more].join(" + ")}) ÷ ${n} = ${fixed(mean[dim], 3)}`;
  }

  redraw() {
    this.rows.draw();
  }
}
