// Cosines of all items of a set as a square: ordered by label, then as they were given.

import { makeScale, picture } from "../core/colors.js";
import { control, controls, css, el, options } from "../core/dom.js";
import { isolated, numbered } from "../core/token_names.js";
import { fullHeight, fullScreen } from "../views/full_screen.js";
import { SquareMatrix, signedPicture } from "../views/matrix.js";
import { bar, cut, fixed, HUES, signedBar } from "./results.js";

/** @import { Framed } from "../views/matrix.js" */

const [LARGEST, NAMES, STRIP, AXIS, LETTERS] = [520, 76, 8, 18, 11];
const HINT = "Point at a cell for its cosine; click it for the nearest neighbors of its row's item.";
const RANGES = /** @type {const} */ ([
  ["signed", "−1 … 1"],
  ["positive", "0 … 1"],
  ["own", "smallest … 1"],
]);

/** The items by label, then by number; and each label's range in that order.
 * @param {string[]} labels @param {number} n */
export function ordered(labels, n) {
  const order = Array.from({ length: n }, (_, item) => item);
  const names = [...new Set(labels)].sort((a, b) => a.localeCompare(b));
  order.sort((a, b) => names.indexOf(labels[a]) - names.indexOf(labels[b]) || a - b);
  const groups = names.map((name) => ({
    name,
    from: order.findIndex((item) => labels[item] === name),
    to: order.findLastIndex((item) => labels[item] === name) + 1,
  }));
  return { order, groups };
}

/** A square matrix with its rows and columns in an order. @type {(values: Float32Array, order: number[]) => Float32Array} */
export function inOrder(values, order) {
  const n = order.length;
  return Float32Array.from(values, (_, at) => values[order[Math.floor(at / n)] * n + order[at % n]]);
}

export class ItemMatrix extends SquareMatrix {
  heading = el("h3");
  range = el("select", { id: "viz-set-range", onchange: () => this.draw() }, ...options(RANGES));
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  told = el("p", { class: "viz-readout", role: "status" });
  /** @type {SetDescription | null} */
  set = null;
  item = -1;
  shown = ordered([], 0);

  constructor(/** @type {(item: number) => unknown} */ choose) {
    const node = el("section", { class: "viz-set-cosines", "aria-label": "Cosine of every pair of items" });
    super(node, "viz-set-matrix", "items", (row) => choose(this.shown.order[row]));
    node.append(
      fullScreen(node, () => this.draw()),
      this.heading,
      this.canvas,
      this.told,
      controls(control("Scale", this.range), this.scale),
    );
  }

  /** @type {(set: SetDescription, found: Numbers, title: string, item: number) => void} */
  show(set, { values, shape: [n] }, title, item) {
    if (this.set !== set) this.cell = null;
    Object.assign(this, { set, item, shown: ordered(set.labels, n) });
    this.heading.textContent = `Cosine of every pair of items: ${title}`;
    this.told.textContent = HINT;
    this.fill(inOrder(values, this.shown.order), n);
    const walk = "Arrow keys walk through the cells, Enter lists the row's neighbors.";
    this.canvas.setAttribute("aria-label", `Cosine of ${n} × ${n} items, ordered by label. ${walk}`);
  }

  mark(/** @type {number} */ item) {
    this.item = item;
    this.marks();
  }

  /** @override @param {number} room */
  layout(room) {
    const left = AXIS + STRIP + (this.shown.groups.length ? NAMES : 0);
    const top = AXIS + STRIP + 4;
    const alone = fullHeight(this.canvas);
    return { left, top, side: Math.min(alone ? alone - top - 2 : LARGEST, room - left - 2) };
  }

  /** @override */
  picture() {
    const [{ values }, { n }, range] = [this, this.view, this.range.value];
    if (range === "signed") {
      this.scale.replaceChildren(...signedBar("−1", "1", "cosine"));
      return signedPicture(values, n);
    }
    const low = range === "own" ? values.reduce((least, value) => (value < least ? value : least), 1) : 0;
    const scale = makeScale("shared", 1);
    this.scale.replaceChildren(...bar(scale, low ? fixed(low) : "0 or less", "1", "cosine"));
    const share = (/** @type {number} */ value) => Math.max(0, (value - low) / Math.max(1e-9, 1 - low));
    return picture(values.map(share), n, n, scale);
  }

  /** Axis titles, a strip of the labels' colors on both sides, and their names on the left.
   * @override @param {CanvasRenderingContext2D} context */
  write(context) {
    const { left, top, each } = this;
    this.canvas.dataset.box = JSON.stringify([left, top, each]); // where cells are, for tests and tools
    this.title(context, this.shown.groups.length ? "Item, by label" : "Item, as given");
    let free = 0; // where the last name ended
    for (const [number, { name, from, to }] of this.shown.groups.entries()) {
      context.fillStyle = HUES[number % HUES.length];
      context.fillRect(left - STRIP - 2, top + from * each + 0.5, STRIP, (to - from) * each - 1);
      context.fillRect(left + from * each + 0.5, top - STRIP - 2, (to - from) * each - 1, STRIP);
      const middle = top + ((from + to) / 2) * each;
      if (middle - 6 < free) continue;
      free = middle + 6;
      context.fillStyle = css("--body-text-color");
      context.textAlign = "right";
      context.fillText(isolated(cut(name, LETTERS)), left - STRIP - 6, middle + 4);
    }
  }

  /** @override @returns {Framed[]} */
  framed() {
    return [[this.shown.order.indexOf(this.item), "--viz-mark", 1.5]];
  }

  /** @override @param {Cell | null} cell */
  pointed(cell) {
    this.told.textContent = cell ? this.#sentence(...cell) : HINT;
  }

  #sentence(/** @type {number} */ row, /** @type {number} */ column) {
    const value = this.value(row, column);
    const said = Number.isNaN(value) ? "not defined (a vector of zeros)" : fixed(value, 6);
    const [one, other] = [row, column].map((place) => this.#name(this.shown.order[place]));
    return `Cosine ${said}: ${one} and ${other}`;
  }

  #name(/** @type {number} */ item) {
    const { names, labels } = /** @type {SetDescription} */ (this.set);
    return `${numbered(item, cut(names[item], 90))}${labels[item] ? ` (${labels[item]})` : ""}`;
  }
}
