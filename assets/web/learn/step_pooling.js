// Step 11: one vector for the whole input: the first token's, the mean or the maximum.

import { current } from "../core/app_state.js";
import { button, controls, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { isolated } from "../core/token_names.js";
import { lengthOf } from "./arithmetic.js";
import { fixed, signedText } from "./printed.js";
import { PADDING, withPadding } from "./simple_masks.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Row } from "./vector_rows.js" */
/** @import { Texts } from "./types.d.ts" */

const FIRST = 4; // tokens with a row of their own
const SHOWN = 2; // [PAD] tokens with a row of their own

export class PoolingStep extends StepView {
  #asked = new Latest((sentence) => this.note.replaceChildren(sentence));
  sum = el("p", { class: "viz-learn-equation" });
  counted = el("input", { type: "checkbox", onchange: () => this.draw() });
  countedLabel = el("label", { class: "viz-control" });
  pad = button("", () => this.#pad());
  moved = el("p", { class: "viz-learn-equation viz-learn-moved", role: "status" });
  /** @type {{ key: string, all: Float32Array[] } | null} of all tokens, padding too */
  found = null;
  /** @type {Run | null} before [PAD] was put beside it */
  alone = null;
  rows = new VectorRows(this.acts);
  node = el("div", {}, ...[this.rows.node, this.sum, controls(this.countedLabel, this.pad), this.moved, this.note]);

  headline() {
    const { run, texts } = this.shown;
    const [vector] = this.found?.key === run.key ? this.found.all : [];
    return vector ? texts.pooling.headline(run.real().length, vector.length) : [];
  }

  async draw() {
    const { run, texts } = this.shown;
    this.note.textContent = run.grid ? texts.pooling.notePicture : texts.pooling.note;
    this.#offer();
    if (this.found?.key !== run.key) {
      await this.#asked.run(async (fresh) => {
        const { shape, values } = await fresh(run.numbers("learn/outputs"));
        if (run !== this.shown.run) return; // what is found of that one stays
        const vector = (/** @type {number} */ token) => values.subarray(token * shape[1], (token + 1) * shape[1]);
        this.found = { key: run.key, all: run.tokens.map((_, token) => vector(token)) };
        this.acts.layoutChanged();
      });
    }
    if (this.found?.key === this.shown.run.key) this.#draw(this.found.all);
  }

  // Offer to count [PAD] by mistake if the run has padding; otherwise, to add padding.
  #offer() {
    const { run, numbers, texts } = this.shown;
    const words = texts.pooling;
    const isPadded = run.valid.includes(false);
    if (!isPadded) [this.alone, this.counted.checked] = [null, false];
    this.countedLabel.replaceChildren(this.counted, ` ${words.counted}`);
    this.countedLabel.hidden = !isPadded;
    const servable = document.getElementById("viz-tabs"); // a lesson in a file runs no batch
    this.pad.hidden = isPadded ? !this.alone : !(servable && numbers.ids && !run.changed && !run.masked);
    this.pad.textContent = isPadded ? words.unpad : words.pad(PADDING);
    this.moved.textContent = "";
  }

  #draw(/** @type {Float32Array[]} */ all) {
    const { run, place, texts } = this.shown;
    const tokens = this.counted.checked ? run.tokens.map((_, token) => token) : run.real();
    const vectors = tokens.map((token) => all[token]);
    const n = vectors.length;
    const each = (/** @type {(values: number[]) => number} */ pool) =>
      Array.from(vectors[0], (_, dim) => pool(vectors.map((vector) => vector[dim])));
    const mean = each((values) => values.reduce((sum, value) => sum + value, 0) / n);
    const words = texts.pooling;
    const pads = run.tokens.flatMap((_, token) => (run.valid[token] ? [] : [token]));
    const own = [...tokens.filter((token) => run.valid[token]).slice(0, FIRST), ...pads.slice(0, SHOWN)];
    /** @type {Row[]} */
    const rows = own.map((token) => ({ name: isolated(run.tokens[token]), values: all[token] }));
    rows.push({ name: words.mean, values: mean }, { name: words.first, values: vectors[0] });
    rows.push({ name: words.max, values: each((values) => Math.max(...values)) });
    this.rows.show(words.vectors, rows, place.around, texts, 3);
    const dim = Math.min(place.around, mean.length - 1);
    const printed = vectors.slice(0, FIRST).map((vector, at) => (at ? signedText : fixed)(vector[dim], 3));
    if (pads.length) this.#tell(mean, run.real(), all, pads.length, words);
    const more = n > FIRST ? [words.others(n - FIRST)] : [];
    this.sum.textContent = `(${[printed.join(" "), ...more].join(" + ")}) ÷ ${n} = ${fixed(mean[dim], 3)}`;
  }

  /** Distance of the mean from that of the real tokens, if [PAD] counts.
   * @type {(mean: number[], real: number[], all: Float32Array[], n: number, words: Texts["pooling"]) => void} */
  #tell(mean, real, all, n, words) {
    const right = mean.map((_, dim) => real.reduce((sum, token) => sum + all[token][dim], 0) / real.length);
    const share = lengthOf(mean.map((value, dim) => value - right[dim])) / lengthOf(right);
    this.moved.textContent = this.counted.checked ? words.moved(n, fixed(share, 3)) : words.left(n);
  }

  // Run the text beside a longer one, with a mask that hides its [PAD] from all; or go back.
  async #pad() {
    const { shown, alone } = this;
    if (alone) return current.enter(alone);
    this.moved.textContent = shown.texts.waiting;
    await this.#asked.run(async (fresh) => {
      const padded = await fresh(withPadding(shown.run, fresh.signal));
      if (shown.run !== current.run) return; // another was run meanwhile
      this.alone = shown.run;
      current.enter(padded);
    });
  }
}
