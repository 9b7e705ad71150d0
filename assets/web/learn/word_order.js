// Two words swapped, with positions and without: one token's outputs side by side, and what they say of word order.

import { button, caption, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { fixed, quoted } from "./printed.js";
import { wordOrder } from "./requests.js";
import { spoken } from "./sentences.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Order } from "./requests.js" */
/** @import { Acts, Shown } from "./types.d.ts" */

const NOTHING = 1e-4; // relative to a vector's length: rounding, even in half precision

export class WordOrder {
  #asked = new Latest((sentence) => this.said.replaceChildren(sentence));
  go = button("", () => this.#run());
  said = el("p", { class: "viz-learn-equation", role: "status" });
  title = caption();
  /** @type {Shown | null} */
  shown = null;
  /** @type {(Order & { key: string }) | null} */
  found = null;

  constructor(/** @type {Acts} */ { choose }) {
    this.rows = new VectorRows((around) => choose({ around }));
    this.result = el("div", { hidden: true }, this.title, this.rows.node);
    this.node = el("div", { class: "viz-learn-order" }, this.go, this.said, this.result);
  }

  /** @param {Shown} shown */
  show(shown) {
    const asked = keyOf(shown);
    if (this.shown && keyOf(this.shown) !== asked) {
      this.#asked.stop();
      this.said.textContent = "";
    }
    this.shown = shown;
    this.go.textContent = shown.texts.order.go;
    this.node.hidden = !shown.numbers.ids; // no words to swap
    this.result.hidden = this.found?.key !== asked;
    if (!this.result.hidden) this.#draw();
  }

  async #run() {
    const { shown } = this;
    if (!shown) return;
    this.said.textContent = shown.texts.waiting;
    await this.#asked.run(async (fresh) => {
      const found = await fresh(wordOrder(shown.run, shown.place, fresh.signal));
      if ("message" in found) return this.said.replaceChildren(spoken(shown.texts, found.message));
      this.found = { ...found, key: keyOf(shown) };
      this.result.hidden = false;
      this.#draw();
    });
  }

  #draw() {
    const { shown, found } = this;
    if (!shown || !found) return;
    const { run, place, texts } = shown;
    const words = texts.order;
    const [one, two] = [found.one, found.two].map((at) => quoted(run.tokens[at]));
    const [on, off] = found.apart.map((share) => fixed(share, 3));
    this.said.textContent = words.said(one, two, on, off) + (found.apart[1] < NOTHING ? words.blind : "");
    this.title.textContent = words.vectors(quoted(run.tokens[place.query]));
    const rows = found.vectors.flat().map((values, at) => ({ name: words.rows[at], values }));
    this.rows.show(this.title.textContent ?? "", rows, place.around, texts, 3);
  }
}

const keyOf = (/** @type {Shown} */ { run, place }) => `${run.key}:${place.query}:${place.key}`;
