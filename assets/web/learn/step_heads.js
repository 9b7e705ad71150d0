// Step 5: what each head adds through its part of W_O, and their sum.

import { el } from "../core/dom.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Row } from "./vector_rows.js" */

export class HeadsStep extends StepView {
  rows = new VectorRows(this.acts);
  node = el("div", {}, this.rows.node, this.note);

  headline() {
    const { run, place, numbers, texts } = this.shown;
    const lengths = numbers.heads?.lengths ?? [];
    const most = lengths.indexOf(Math.max(...lengths));
    return texts.heads.headline(run.tokens[place.query], `${place.layer}.${most}`);
  }

  draw() {
    const { place, numbers, texts } = this.shown;
    const [found, words] = [numbers.heads, texts.heads];
    if (!found) return;
    /** @type {Row[]} */
    const rows = found.parts.map((values, head) => ({
      ...{ name: words.head(place.layer, head), values, part: "addend", chosen: head === place.head },
      press: () => this.acts.choose({ head }),
    }));
    if (found.bias) rows.push({ name: words.bias, values: found.bias, part: "addend" });
    rows.push({ name: words.sum, values: found.sum, part: "sum" });
    this.rows.show(words.vectors, rows, place.around, texts, 3);
    this.note.textContent = words.note;
  }
}
