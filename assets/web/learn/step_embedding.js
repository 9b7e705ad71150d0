// Step 2: what is looked up for the token and for its position, and added.

import { caption, el } from "../core/dom.js";
import { isolated } from "../core/token_names.js";
import { PositionTable } from "./position_table.js";
import { spoken } from "./sentences.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";
import { WordOrder } from "./word_order.js";

/** @import { Row } from "./vector_rows.js" */

export class EmbeddingStep extends StepView {
  says = caption();
  rows = new VectorRows(this.acts);
  views = [new WordOrder(this.acts), new PositionTable(this.acts)];
  node = el("div", {}, this.rows.node, this.says, this.note, ...this.views.map(({ node }) => node));

  headline() {
    const { run, place, numbers, texts } = this.shown;
    const found = numbers.embedding;
    return found ? texts.embedding.headline(run.tokens[place.query], found.out.length) : [];
  }

  draw() {
    const { run, place, numbers, texts } = this.shown;
    const [found, words] = [numbers.embedding, texts.embedding];
    if (!found) return;
    /** @type {Row[]} */
    const rows = [];
    const add = (/** @type {string} */ name, /** @type {number[] | null} */ values) =>
      values && rows.push({ name, values, part: "addend" });
    const before = run.grid && place.query < run.grid.prefix; // such as [CLS]: learned, and no patch
    add(before ? words.learned(isolated(run.tokens[place.query])) : words.token(found.id), found.token);
    add(words.position(place.query), found.position);
    add(words.segment, found.segment);
    if (rows.length > 1) rows.push({ name: words.sum, values: found.sum, part: "sum", asks: "sum-cell" });
    if (found.norm || rows.length < 1) rows.push({ name: found.token ? words.out : words.entering, values: found.out });
    this.rows.show(words.vectors, rows, place.around, texts, 3);
    this.says.textContent = spoken(texts, found.says);
    const note = found.position ? words.note : found.token ? words.noteAlone : "";
    this.note.textContent = !run.grid ? note : before ? words.notePrefix : words.notePatch;
  }
}
