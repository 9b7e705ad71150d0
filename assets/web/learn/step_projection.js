// Step 3: query, key and value, and how one number of the query comes about.

import { inkOn, rgbText, signedColors } from "../core/colors.js";
import { caption, el } from "../core/dom.js";
import { oneStop } from "../views/one_stop.js";
import { asksFor } from "./cover.js";
import { fixed, signedText } from "./printed.js";
import { spoken } from "./sentences.js";
import { stageName } from "./step_residual.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

const ASKED = "one-number"; // the exercise
const LARGEST = 3; // products that are written out, as the exercise does

export class ProjectionStep extends StepView {
  sum = el("p", { class: "viz-learn-equation" });
  vectors = oneStop(el("div", { class: "viz-learn-three" }));
  says = caption();
  rows = new VectorRows(this.acts);
  node = el("div", {}, this.vectors, this.says, this.note, this.rows.node, this.sum);

  headline() {
    const { run, place, texts } = this.shown;
    return texts.projection.headline(run.tokens[place.query], `${place.layer}.${place.head}`, run.tokens[place.key]);
  }

  draw() {
    const { run, place, numbers, texts } = this.shown;
    const [found, words] = [numbers.projection, texts.projection];
    if (!found) return;
    const [query, key] = [run.tokens[place.query], run.tokens[place.key]];
    const { dim } = found;
    this.vectors.replaceChildren(
      ...this.#cells(words.q(query), found.q, dim),
      ...(found.q_before ? this.#cells(found.k_before ? words.before : words.whole, found.q_before, dim) : []),
      ...this.#cells(words.k(key), found.k),
      ...(found.k_before ? this.#cells(words.before, found.k_before) : []),
      ...this.#cells(words.v(key), found.v),
    );
    const stages = numbers.stages ?? [];
    const into = stages
      .slice(
        0,
        stages.findIndex(({ id }) => id === "qkv"),
      )
      .findLast(({ vector }) => vector);
    const product = found.x.map((value, at) => value * found.column[at]);
    const rows = [
      { name: into ? stageName(texts, into) : words.x, values: found.x },
      { name: words.column(dim), values: found.column },
      { name: words.product, values: product },
    ];
    this.rows.show(words.vectors, rows, place.around, texts, 3);
    const largest = product.map((_, at) => at).sort((a, b) => Math.abs(product[b]) - Math.abs(product[a]));
    const [first, others] = [largest.slice(0, LARGEST), largest.slice(LARGEST)];
    const rest = others.reduce((sum, at) => sum + product[at], 0);
    const bias = found.bias === null ? null : fixed(found.bias, 2);
    const factors = (/** @type {number} */ at) =>
      `${words.at(at)} ${fixed(found.x[at], 2)} · ${factor(found.column[at])}`;
    const said = words.sum(product.length, first.map(factors).join("; "), fixed(rest, 2), bias);
    this.sum.replaceChildren(said, el("span", asksFor(ASKED, { cell: dim }), `q[${dim}] = ${fixed(found.sum, 2)}`));
    this.says.textContent = spoken(texts, found.says);
    this.note.textContent = words.note(found.x.length);
  }

  print(/** @type {number} */ dim) {
    this.acts.choose({ dim });
  }

  /** @type {(name: string, values: number[], chosen?: number) => HTMLElement[]} */
  #cells(name, values, chosen) {
    const [color, most] = [signedColors(), Math.max(...values.map(Math.abs)) || 1];
    const cells = values.map((value, at) => {
      const rgb = color(value / most);
      const style = `background:${rgbText(rgb)};color:${inkOn(rgb)}`;
      const text = signedText(value, 2);
      if (chosen === undefined) return el("span", { style }, text);
      const title = `q[${at}]`; // its name while the number is covered
      const press = () => this.print(at);
      return el(
        "button",
        { type: "button", style, title, "aria-pressed": String(at === chosen), onclick: press },
        el("span", asksFor(ASKED, { cell: at }), text),
      );
    });
    return [el("b", {}, name), el("div", { class: "viz-learn-cells" }, ...cells)];
  }
}

const factor = (/** @type {number} */ value) => (value < 0 ? `(${fixed(value, 2)})` : fixed(value, 2));
