// Step 5: what each head adds through its part of W_O, and their sum.

import { caption, el } from "../core/dom.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Row } from "./vector_rows.js" */
/** @import { Acts, Shown, StepView } from "./types.d.ts" */

/** @implements {StepView} */
export class HeadsStep {
  note = caption();

  constructor(/** @type {Acts} */ { choose }) {
    this.choose = choose;
    this.rows = new VectorRows((around) => choose({ around }));
    this.node = el("div", {}, this.rows.node, this.note);
  }

  /** @param {Shown} shown */
  headline({ run, place, numbers, texts }) {
    const lengths = numbers.heads?.lengths ?? [];
    const most = lengths.indexOf(Math.max(...lengths));
    return texts.heads.headline(run.tokens[place.query], `${place.layer}.${most}`);
  }

  /** @param {Shown} shown */
  show({ place, numbers, texts }) {
    const [found, words] = [numbers.heads, texts.heads];
    if (!found) return;
    /** @type {Row[]} */
    const rows = found.parts.map((values, head) => ({
      ...{ name: words.head(place.layer, head), values, part: "addend", chosen: head === place.head },
      press: () => this.choose({ head }),
    }));
    if (found.bias) rows.push({ name: words.bias, values: found.bias, part: "addend" });
    rows.push({ name: words.sum, values: found.sum, part: "sum" });
    this.rows.show(words.vectors, rows, place.around, texts, 3);
    this.note.textContent = words.note;
  }
}
