// Every head as a cell, colored by a statistic or by a difference: walked by arrows, chosen by click or Enter.

import { inkOn, makeScale, rgbText, shade } from "../core/colors.js";
import { el } from "../core/dom.js";
import { signedColors } from "../core/signed_colors.js";
import { HeadCells } from "../views/head_cells.js";
import { decimalsOf, shown, signed } from "./tables.js";

/** @typedef {{ values: Maybe[][], change: boolean, title: string, about: (place: HeadPlace) => string,
 *   label: (place: HeadPlace) => string }} Drawn `label` of a head's role; "" where it has none */

/** @type {[number, number]} */
const SIZES = [46, 30]; // pixels of a cell
const [SIDES, IN_CELL] = [9, 3]; // colors of the legend; decimals for which a cell has room

/** The color of each value: from 0 to the largest, or signed about 0.
 * @type {(values: Maybe[][], change: boolean) => { high: number, low: number, of: (value: Maybe) => Rgb }} */
function coloring(values, change) {
  const known = values.flat().filter((value) => value !== null);
  const high = Math.max(...known.map(Math.abs), 0) || 1;
  const scale = makeScale("head", high);
  const diverging = signedColors();
  const of = (/** @type {Maybe} */ value) =>
    change ? diverging(value === null ? null : value / high) : shade(value ?? NaN, scale);
  return { high, low: change ? -high : 0, of };
}

/** A number whose zero before the point goes where there is no room for it. @param {string} text */
function withZero(text) {
  const [, sign, rest] = /^([+−]?)0(\..*)$/.exec(text) ?? [];
  return rest ? [sign, el("i", {}, "0"), rest] : [text];
}

export class HeadMap {
  node = el("div", { class: "viz-corpus-map", role: "group" });
  legend = el("div", { class: "viz-corpus-legend" });
  #shape = "";

  /** `point` is told of the head under the pointer or the focus, and null of none.
   * @param {(place: HeadPlace) => unknown} choose @param {(place: HeadPlace | null) => unknown} point */
  constructor(choose, point) {
    this.heads = new HeadCells(this.node, {
      kind: "viz-corpus",
      sizes: SIZES,
      parts: ["span", "small"],
      choose,
      tell: point,
    });
  }

  draw(/** @type {Drawn} */ { values, change, title, about, label }) {
    this.#enter(values.length, values[0].length);
    const colors = coloring(values, change);
    const decimals = Math.min(IN_CELL, decimalsOf(colors.high)); // for a change
    this.heads.cells.forEach((row, layer) => {
      row.forEach((cell, head) => {
        const value = values[layer][head];
        const ground = colors.of(value);
        Object.assign(cell.style, { background: rgbText(ground), color: inkOn(ground) });
        cell.children[1].replaceChildren(...withZero(change ? signed(value, decimals) : shown(value)));
        cell.children[2].textContent = label({ layer, head });
        cell.ariaDescription = about({ layer, head });
        cell.dataset.value = value === null ? "" : String(value);
      });
    });
    this.node.setAttribute("aria-label", `Heads by ${title}. Arrow keys move, Enter chooses a head.`);
    const side = (/** @type {number} */ at) => colors.low + (at / (SIDES - 1)) * (colors.high - colors.low);
    const bar = Array.from({ length: SIDES }, (_, at) => rgbText(colors.of(side(at) || 1e-9)));
    this.legend.replaceChildren(
      el("span", {}, change ? signed(colors.low, decimals) : "0"),
      el("i", { style: `background: linear-gradient(to right, ${bar.join(", ")})` }),
      el("span", {}, change ? signed(colors.high, decimals) : shown(colors.high)),
      el("span", {}, "rows are layers, columns are heads"),
    );
  }

  mark(/** @type {HeadPlace} */ place) {
    this.heads.mark([place]);
  }

  #enter(/** @type {number} */ layers, /** @type {number} */ heads) {
    if (this.#shape === `${layers}:${heads}`) return;
    this.#shape = `${layers}:${heads}`;
    this.heads.enter(layers, heads);
  }
}
