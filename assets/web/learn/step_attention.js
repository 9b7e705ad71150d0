// Step 4: one query against every key in one head: products, scores, softmax, and the sum of the values.

import { caption, el } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { isolated } from "../core/token_names.js";
import { fixed, scrolled, shareText, signedText } from "./printed.js";
import { spoken, woven } from "./sentences.js";
import { asksFor } from "./cover.js";
import { ProductColumns } from "./product_columns.js";
import { RemovedHeads } from "./removed_heads.js";
import { divisor, ScoreTable } from "./score_table.js";
import { weighted } from "./arithmetic.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Row } from "./vector_rows.js" */
/** @import { Acts, AttentionNumbers, SeenAttention } from "./types.d.ts" */

const STRONGEST = 4; // keys whose weighted values have a row of their own

export class AttentionStep extends StepView {
  divide = el("input", { type: "checkbox", checked: true, onchange: () => this.shown && this.#divided() });
  titles = [el("h4"), el("h4"), el("h4")];
  products = new ProductColumns();
  sum = el("p", { class: "viz-learn-equation" });
  why = caption();
  minus = caption();
  touched = el("p", { class: "viz-learn-touched", role: "status", hidden: true });
  removed = new RemovedHeads(this.acts);
  views = [this.removed];
  beside = this.removed.node;
  table = new ScoreTable(this.acts.choose, () => {
    this.#edited();
    this.acts.layoutChanged();
  });
  values = new VectorRows(this.acts);
  worked = [
    ...[this.titles[0], this.products.node, el("div", { class: "viz-learn-sumline" }, this.sum, this.products.said)],
    ...[this.why, this.titles[1], this.touched, scrolled(this.table.node), this.minus],
    ...[this.titles[2], this.values.node],
  ];
  node = el("div", {}, ...this.worked, this.note);

  constructor(/** @type {Acts} */ acts) {
    super(acts);
    inLink("learn.divide", this.divide, acts.signal);
  }

  /** The weights as they are here, changed or not; null where queries and keys were not seen. */
  get weights() {
    const { shown, table } = this;
    return table.ran === shown?.numbers.attention ? table.now.weights : null;
  }

  headline() {
    const { run, place, numbers, texts } = this.shown;
    const found = numbers.attention;
    if (!found) return [];
    const weights = this.weights ?? found.weights;
    const most = weights.indexOf(Math.max(...weights));
    const named = (/** @type {number} */ at, /** @type {string} */ kind) =>
      el(kind === "q" ? "b" : "u", { dir: "auto" }, isolated(run.tokens[at]));
    if (!weights[most]) return texts.attention.nothing(run.tokens[place.query]);
    const said = texts.attention.headline("\u0000", `${place.layer}.${place.head}`, "\u0000");
    return woven(said, named(place.query, "q"), named(most, "k"));
  }

  draw() {
    const { run, place, numbers, texts } = this.shown;
    const [found, words] = [seen(numbers.attention), texts.attention];
    for (const part of this.worked) part.hidden = !found;
    if (!found) {
      this.note.textContent = spoken(texts, numbers.missing.scores ?? "");
      return;
    }
    const [query, key] = [run.tokens[place.query], run.tokens[place.key]].map(isolated);
    this.titles[0].textContent = words.products(query, key);
    const named = [words.q(query), words.k(key)];
    this.products.show({ name: named[0], values: found.q }, { name: named[1], values: found.k }, words);
    const bias = found.bias?.[place.key];
    const divided = this.divide.checked;
    const by = divided ? divisor(found) : words.undivided;
    const score = (divided ? found.scale : 1) * found.dots[place.key] + (bias ?? 0);
    this.sum.replaceChildren(
      words.sum(found.q.length, fixed(found.dots[place.key], 2), by),
      el("span", divided ? asksFor("score") : {}, fixed(score, 2)),
      bias === undefined ? "" : words.bias(signedText(bias, 2)),
    );
    const wide = deviation(found.dots.filter((_, at) => found.allowed[at]));
    this.why.textContent = words.spread(query, fixed(wide, 2), divisor(found), fixed(wide * found.scale, 2));
    this.table.show(this.shown, found, divided);
    this.touched.hidden = divided && !this.table.touched;
    this.#edited();
  }

  // Without the division by √d_head, or with it again.
  #divided() {
    this.draw();
    this.acts.layoutChanged();
  }

  // Update everything that depends on scores and masks.
  #edited() {
    const { shown, table } = this;
    const found = seen(shown.numbers.attention);
    if (!found) return;
    const words = shown.texts.attention;
    const nothing = words.nothing(isolated(shown.run.tokens[shown.place.query]));
    const over = el(
      "span",
      asksFor("weight-of-key score"),
      `${fixed(table.now.sum, 4)} × e^${fixed(table.now.max, 2)}`,
    );
    this.titles[1].replaceChildren(...(table.now.sum ? [words.softmax, " (", over, ")"] : [nothing]));
    this.titles[2].textContent = words.values;
    this.touched.hidden = !table.touched;
    this.minus.textContent = table.edited.allowed.every(Boolean) ? "" : words.minus;
    const reset = el("button", { type: "button", class: "viz-small", onclick: () => this.#reset() }, shown.texts.reset);
    this.touched.replaceChildren(`${shown.texts.here} `, reset);
    const sink =
      found.sink === null ? "" : words.sinkNote(shareText(1 - table.now.weights.reduce((sum, each) => sum + each, 0)));
    this.note.textContent = `${found.v ? "" : words.long} ${sink}`.trim();
    this.values.show(words.outOf, this.#valueRows(found), shown.place.around, shown.texts, 3);
  }

  /** @type {(found: SeenAttention) => Row[]} */
  #valueRows(found) {
    const { run, place, texts } = this.shown;
    const words = texts.attention;
    const { v } = found;
    if (!v) return [{ name: words.out, values: found.out }];
    const { weights } = this.table.now;
    const order = weights.map((_, key) => key).sort((a, b) => weights[b] - weights[a]);
    const [first, rest] = [order.slice(0, STRONGEST), order.slice(STRONGEST)];
    const part = (/** @type {number[]} */ keys) =>
      weighted(
        keys.map((key) => weights[key]),
        keys.map((key) => v[key]),
      );
    /** @type {Row[]} */
    const rows = first.map((key) => ({
      ...{ name: `v ${isolated(run.tokens[key])}`, values: part([key]), part: "addend" },
      times: { text: `${fixed(weights[key], 3)} · `, asks: key === place.key ? "weight-of-key" : "" },
    }));
    if (rest.length) rows.push({ name: words.rest(rest.length), values: part(rest), part: "addend" });
    return [...rows, { name: words.out, values: weighted(weights, v), part: "sum" }];
  }

  #reset() {
    if (this.divide.checked) this.#divided();
    else this.divide.click();
  }
}

/** Attention numbers with queries and keys; null if the model only kept its maps.
 * @type {(found: AttentionNumbers | null | undefined) => SeenAttention | null} */
const seen = (found) => (found?.q && found.k && found.dots ? /** @type {SeenAttention} */ (found) : null);

/** Standard deviation. @type {(values: number[]) => number} */
export function deviation(values) {
  const mean = (/** @type {number[]} */ all) => all.reduce((sum, each) => sum + each, 0) / all.length;
  const middle = mean(values);
  return Math.sqrt(mean(values.map((each) => (each - middle) ** 2)));
}
