// Two words swapped, with positions and without: one token's outputs side by side, and what they say of word order.

import { button, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { fixed, quoted } from "./printed.js";
import { wordOrder } from "./requests.js";
import { spoken } from "./sentences.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Order } from "./requests.js" */
/** @import { Shown } from "./types.d.ts" */

const NOTHING = 1e-4; // relative to a vector's length: rounding, even in half precision

export class WordOrder extends StepView {
  #asked = new Latest((sentence) => this.said.replaceChildren(sentence));
  go = button("", () => this.#run());
  rows = new VectorRows(this.acts);
  result = el("div", { hidden: true }, this.note, this.rows.node);
  node = el("div", { class: "viz-learn-order" }, this.go, this.said, this.result);
  /** @type {(Order & { key: string }) | null} */
  found = null;
  key = ""; // of what is shown

  draw() {
    const { shown } = this;
    const asked = keyOf(shown);
    if (this.key !== asked) {
      this.#asked.stop();
      this.said.textContent = "";
    }
    this.key = asked;
    this.go.textContent = shown.texts.order.go;
    this.node.hidden = !shown.numbers.ids; // no words to swap
    this.result.hidden = this.found?.key !== asked;
    if (!this.result.hidden && this.found) this.#tell(this.found);
  }

  async #run() {
    const { shown } = this;
    this.said.textContent = shown.texts.waiting;
    await this.#asked.run(async (fresh) => {
      const found = await fresh(wordOrder(shown.run, shown.place, fresh.signal));
      if ("message" in found) return this.said.replaceChildren(spoken(shown.texts, found.message));
      this.found = { ...found, key: keyOf(shown) };
      this.draw();
    });
  }

  #tell(/** @type {Order} */ found) {
    const { run, place, texts } = this.shown;
    const words = texts.order;
    const [one, two] = [found.one, found.two].map((at) => quoted(run.tokens[at]));
    const [on, off] = found.apart.map((share) => fixed(share, 3));
    this.said.textContent = words.said(one, two, on, off) + (found.apart[1] < NOTHING ? words.blind : "");
    this.note.textContent = words.vectors(quoted(run.tokens[place.query]));
    const rows = found.vectors.flat().map((values, at) => ({ name: words.rows[at], values }));
    this.rows.show(this.note.textContent ?? "", rows, place.around, texts, 3);
  }
}

const keyOf = (/** @type {Shown} */ { run, place }) => `${run.key}:${place.query}:${place.key}`;
