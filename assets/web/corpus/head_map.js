// Every head as a cell, colored by a statistic or by a difference: walked by arrows, chosen by click or Enter.

import { inkOn, makeScale, rgbText, shade } from "../core/colors.js";
import { el, onWidth } from "../core/dom.js";
import { signedColors } from "../core/signed_colors.js";
import { walked } from "../views/cells.js";
import { headName, shown, signed } from "./tables.js";

/** @import { Rgb } from "../core/colors.js" */
/** @import { HeadPlace, Maybe } from "./types.d.ts" */
/** @typedef {{ values: Maybe[][], change: boolean, title: string, about: (place: HeadPlace) => string }} Drawn */

const [ROOMY, NARROW] = [46, 30]; // pixels of a cell: from here on both lines have room, in two sizes
const SIDES = 9; // colors of the legend

/** The color of each value: from 0 to the largest, or signed about 0.
 * @type {(values: Maybe[][], change: boolean) => { high: number, low: number, of: (value: Maybe) => Rgb }} */
export function coloring(values, change) {
  const known = values.flat().filter((value) => value !== null);
  const high = Math.max(...known.map(Math.abs), 0) || 1;
  const scale = makeScale("head", high);
  const diverging = signedColors();
  const of = (/** @type {Maybe} */ value) =>
    change ? diverging(value === null ? null : value / high) : shade(value ?? NaN, scale);
  return { high, low: change ? -high : 0, of };
}

export class HeadMap {
  node = el("div", { class: "viz-corpus-map", role: "group" });
  legend = el("div", { class: "viz-corpus-legend" });
  /** @type {HTMLButtonElement[][]} */
  cells = [];
  #shape = "";
  #at = { layer: 0, head: 0 }; // the cell that Tab leads to

  /** `point` is told of the head under the pointer or the focus, and null of none.
   * @param {(place: HeadPlace) => unknown} choose @param {(place: HeadPlace | null) => unknown} point */
  constructor(choose, point) {
    const { node } = this;
    node.addEventListener("click", ({ target }) => {
      const place = placeOf(target);
      if (place) choose(place);
    });
    for (const event of ["pointerover", "focusin"]) node.addEventListener(event, (e) => point(placeOf(e.target)));
    for (const event of ["pointerleave", "focusout"]) node.addEventListener(event, () => point(null));
    node.addEventListener("keydown", (event) => this.#key(event));
    onWidth(node, () => requestAnimationFrame(() => this.#fit()));
  }

  draw(/** @type {Drawn} */ { values, change, title, about }) {
    this.#enter(values.length, values[0].length);
    const colors = coloring(values, change);
    this.cells.forEach((row, layer) => {
      row.forEach((cell, head) => {
        const value = values[layer][head];
        const ground = colors.of(value);
        Object.assign(cell.style, { background: rgbText(ground), color: inkOn(ground) });
        cell.children[1].textContent = change ? signed(value) : shown(value);
        cell.ariaDescription = about({ layer, head });
        cell.dataset.value = value === null ? "" : String(value);
      });
    });
    this.node.setAttribute("aria-label", `Heads by ${title}. Arrow keys move, Enter chooses a head.`);
    const side = (/** @type {number} */ at) => colors.low + (at / (SIDES - 1)) * (colors.high - colors.low);
    const bar = Array.from({ length: SIDES }, (_, at) => rgbText(colors.of(side(at) || 1e-9)));
    this.legend.replaceChildren(
      el("span", {}, change ? signed(colors.low) : "0"),
      el("i", { style: `background: linear-gradient(to right, ${bar.join(", ")})` }),
      el("span", {}, change ? signed(colors.high) : shown(colors.high)),
      el("span", {}, "rows are layers, columns are heads"),
    );
  }

  mark(/** @type {HeadPlace} */ place) {
    for (const cell of this.cells.flat())
      cell.setAttribute("aria-pressed", String(cell.dataset.head === headName(place)));
    if (!this.node.contains(document.activeElement)) this.#goTo(place);
  }

  #enter(/** @type {number} */ layers, /** @type {number} */ heads) {
    if (this.#shape === `${layers}:${heads}`) return;
    this.#shape = `${layers}:${heads}`;
    this.cells = Array.from({ length: layers }, (_, layer) =>
      Array.from({ length: heads }, (_, head) => cellOf({ layer, head })),
    );
    this.node.style.setProperty("--heads", String(heads));
    this.node.replaceChildren(
      ...this.cells.map((row, layer) =>
        el("div", { class: "viz-corpus-layer" }, el("span", { "aria-hidden": "true" }, String(layer)), ...row),
      ),
    );
    this.#goTo({ layer: 0, head: 0 });
    this.#fit();
  }

  #goTo(/** @type {HeadPlace} */ place) {
    this.cells[this.#at.layer]?.[this.#at.head]?.setAttribute("tabindex", "-1");
    this.#at = place;
    this.cells[place.layer]?.[place.head]?.setAttribute("tabindex", "0");
  }

  #fit() {
    const { clientWidth } = this.node;
    if (!clientWidth || !this.cells.length) return;
    const each = (clientWidth - 18) / this.cells[0].length;
    this.node.dataset.size = each >= ROOMY ? "roomy" : each >= NARROW ? "narrow" : "tiny";
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const place = placeOf(event.target);
    if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = walked(event.key, [place.layer, place.head], this.cells.length, this.cells[0].length);
    if (!to) return;
    event.preventDefault();
    this.#goTo({ layer: to[0], head: to[1] });
    this.cells[to[0]][to[1]].focus();
  }
}

/** @type {(place: HeadPlace) => HTMLButtonElement} */
const cellOf = (place) =>
  el(
    "button",
    { type: "button", class: "viz-corpus-cell", tabindex: "-1", "data-head": headName(place) },
    el("b", {}, headName(place)),
    el("span"),
  );

/** @type {(target: EventTarget | null) => HeadPlace | null} */
function placeOf(target) {
  const cell = target instanceof Element && target.closest("[data-head]");
  if (!(cell instanceof HTMLElement)) return null;
  const [layer, head] = String(cell.dataset.head).split(".").map(Number);
  return { layer, head };
}
