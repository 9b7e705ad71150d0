// A product of two vectors, number by number: one above the other, their product as a bar under them, and the sum.

import { inkOn, rgbText, signedColors } from "../core/colors.js";
import { el } from "../core/dom.js";
import { addingUp, fixed, signedText } from "./printed.js";

/** @import { Texts } from "./types.d.ts" */
/** @typedef {{ name: string, values: number[] }} Named */

const HALF = 16; // pixels of the longest bar

export class ProductColumns {
  node = el("div", { class: "viz-learn-products" });
  said = el("p", { class: "viz-learn-readout", role: "status" });

  /** @type {(first: Named, second: Named, words: Texts["attention"]) => void} */
  show(first, second, words) {
    const products = first.values.map((value, at) => value * second.values[at]);
    const printed = addingUp(products, 2);
    const most = (/** @type {number[]} */ values) => Math.max(...values.map(Math.abs)) || 1;
    const [a, b, bar] = [most(first.values), most(second.values), HALF / most(products)];
    const color = signedColors();
    const cell = (/** @type {number} */ value, /** @type {number} */ largest) => {
      const rgb = color(value / largest);
      return el("span", { style: `background:${rgbText(rgb)};color:${inkOn(rgb)}` }, signedText(value, 2));
    };
    const tell = (/** @type {number} */ at) =>
      this.said.replaceChildren(
        `${words.number(at)}: ${fixed(first.values[at], 4)} × ${fixed(second.values[at], 4)} = ${fixed(products[at], 4)}`,
      );
    this.node.style.setProperty("--half", `${HALF}px`);
    this.node.replaceChildren(
      el("div", { class: "viz-learn-column viz-learn-labels" }, el("b", {}, first.name), el("b", {}, second.name)),
      ...products.map((product, at) => {
        const height = Math.abs(product) * bar;
        const place = product < 0 ? `top:50%` : `bottom:50%`;
        const drawn = el("i", { style: `height:${height}px;${place}`, "data-sign": product < 0 ? "less" : "more" });
        return el(
          "div",
          { class: "viz-learn-column", "data-product": product, onpointerenter: () => tell(at) },
          ...[cell(first.values[at], a), cell(second.values[at], b), el("span", { class: "viz-learn-bar" }, drawn)],
          el("small", {}, signedText(printed[at], 2)),
        );
      }),
    );
    this.said.textContent = words.point;
  }
}
