// Step 3: query, key and value, and how one number of the query comes about.

import { inkOn, rgbText } from "../core/colors.js";
import { caption, el } from "../core/dom.js";
import { signedColors } from "../core/signed_colors.js";
import { asksFor } from "./cover.js";
import { fixed, signedText } from "./printed.js";
import { spoken } from "./spoken.js";
import { stageName } from "./step_residual.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Acts, Shown, StepView } from "./types.d.ts" */

const ASKED = "one-number"; // the exercise

/** @implements {StepView} */
export class ProjectionStep {
  sum = el("p", { class: "viz-learn-equation" });
  vectors = el("div", { class: "viz-learn-three" });
  says = caption();
  note = caption();
  constructor(/** @type {Acts} */ { choose }) {
    this.choose = choose;
    this.rows = new VectorRows((around) => choose({ around }));
    this.node = el("div", {}, this.vectors, this.says, this.note, this.rows.node, this.sum);
  }

  /** @param {Shown} shown */
  headline({ run, place, texts }) {
    return texts.projection.headline(run.tokens[place.query], `${place.layer}.${place.head}`);
  }

  /** @param {Shown} shown */
  show({ run, place, numbers, texts }) {
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
    this.rows.node.setAttribute("aria-label", words.vectors);
    this.rows.show(rows, place.around, texts, 3);
    const total = product.reduce((sum, value) => sum + value, 0);
    const bias = found.bias === null ? null : signedText(fixedSum(found.sum, total), 3);
    const sum = words.sum(found.x.length, fixed(total, 3), bias, fixed(found.sum, 3));
    this.sum.replaceChildren(el("span", asksFor(ASKED, { cell: dim }), sum));
    this.says.textContent = spoken(texts, found.says ?? "");
    this.note.textContent = words.note(found.x.length);
  }

  redraw() {
    this.rows.draw();
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
      const press = () => this.choose({ dim: at });
      return el(
        "button",
        { type: "button", style, title, "aria-pressed": String(at === chosen), onclick: press },
        el("span", asksFor(ASKED, { cell: at }), text),
      );
    });
    return [el("b", {}, name), el("div", { class: "viz-learn-cells" }, ...cells)];
  }
}

// The bias as it is printed between a sum and its total, such that they add up.
const fixedSum = (/** @type {number} */ whole, /** @type {number} */ part) =>
  Math.round(whole * 1000) / 1000 - Math.round(part * 1000) / 1000;
