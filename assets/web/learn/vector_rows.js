// Vectors under one another on one scale of colors, with some of their numbers; a sum adds up as it is printed.

import { makeScale, picture, SIGNED } from "../core/colors.js";
import { el, fit, onWidth } from "../core/dom.js";
import { oneStop } from "../views/one_stop.js";
import { lengthOf } from "./arithmetic.js";
import { asksFor } from "./cover.js";
import { addingUp, choosing, fitting, fixed, signedText, windowStart } from "./printed.js";
import { TEXTS } from "./texts.js";

/** @import { Acts, Texts } from "./types.d.ts" */
/** @typedef {ArrayLike<number>} Vector */
/** @typedef {{ name: string, values: Vector, part?: "addend" | "sum", press?: () => unknown, chosen?: boolean,
 *   asks?: string, times?: { text: string, asks: string } }} Row
 *   addends are printed so that they add up to the sum after them; `asks` is the exercise about one of its numbers,
 *   `times` what stands before the name */

const [HIGH, PRINTED, NARROW] = [24, 8, 4]; // pixels of a strip; numbers beside it, and on a phone

export class VectorRows {
  /** @type {Row[]} */
  rows = [];
  dim = 0;
  decimals = 2;
  /** @type {Texts["vectors"]} */
  words = TEXTS.en.vectors;
  node = el("div", { class: "viz-learn-vectors", role: "table" });

  /** `choose` is told the dimension that was clicked. @param {Pick<Acts, "choose">} acts */
  constructor({ choose }) {
    this.choose = choose;
    oneStop(this.node);
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  /** @type {(label: string, rows: Row[], dim: number, texts: Texts, decimals?: number) => void} */
  show(label, rows, dim, { vectors: words }, decimals = 2) {
    this.node.ariaLabel = label;
    Object.assign(this, { rows, words, dim: Math.min(dim, rows[0].values.length - 1), decimals });
    this.draw();
  }

  draw() {
    const { rows, node } = this;
    if (!rows.length || !node.clientWidth) return;
    const n = rows[0].values.length;
    const printed = Math.min(n, node.clientWidth < 560 ? NARROW : PRINTED);
    const start = windowStart(this.dim, n, printed);
    const largest = Math.max(...rows.map(({ values }) => Math.max(...Array.from(values, Math.abs)))) || 1;
    const texts = printedTexts(rows, start, printed, fitting(this.decimals, largest));
    const scale = makeScale(SIGNED, largest);
    node.style.setProperty("--printed", String(printed));
    const dims = Array.from({ length: printed }, (_, at) => start + at);
    const head = el(
      "div",
      { class: "viz-learn-vector viz-learn-dims", role: "row" },
      el("span", { role: "columnheader" }, ""),
      el("span", { role: "columnheader", class: "viz-learn-range" }, `0 … ${n - 1}`),
      ...dims.map((dim) => el("span", { role: "columnheader", "data-here": dim === this.dim }, String(dim))),
      el("span", { role: "columnheader" }, this.words.length),
    );
    const lines = rows.map((row, at) => {
      const strip = this.#strip(row, start, printed, scale);
      const cells = texts[at].map((text, i) =>
        el(
          "span",
          { role: "cell", class: "viz-learn-number", "data-here": dims[i] === this.dim },
          el("span", row.asks ? asksFor(row.asks, { cell: dims[i] }) : {}, text),
        ),
      );
      const length = el("span", { role: "cell", class: "viz-learn-length" }, fixed(lengthOf(row.values), 1));
      const kind = `viz-learn-vector${row.part === "sum" ? " viz-learn-sum" : ""}${row.chosen ? " viz-chosen" : ""}`;
      return el("div", { class: kind, role: "row" }, nameOf(row), strip, ...cells, length);
    });
    node.replaceChildren(head, ...lines);
    for (const strip of node.querySelectorAll("canvas")) paint(/** @type {Strip} */ (strip));
  }

  /** @type {(row: Row, start: number, printed: number, scale: Scale) => HTMLCanvasElement} */
  #strip({ name, values, asks }, start, printed, scale) {
    const n = values.length;
    const strip = el("canvas", {
      role: "cell",
      "aria-label": this.words.strip(name, n),
      onclick: (event) => this.choose({ around: dimAt(event, n) }),
      onpointermove: (event) => {
        const dim = dimAt(event, n);
        event.currentTarget.title = asks ? String(dim) : `${dim}: ${fixed(values[dim], 4)}`;
      },
    });
    return Object.assign(strip, { drawn: { values, start, printed, scale } });
  }
}

/** @typedef {HTMLCanvasElement & { drawn: { values: Vector, start: number, printed: number, scale: Scale } }} Strip */

function paint(/** @type {Strip} */ strip) {
  const { values, start, printed, scale } = strip.drawn;
  const n = values.length;
  const width = strip.parentElement ? strip.getBoundingClientRect().width : 0;
  const context = fit(strip, width, HIGH);
  strip.style.width = "";
  const side = width / n;
  context.imageSmoothingEnabled = false;
  context.drawImage(picture(values, 1, n, scale), 0, 2, width, HIGH - 4);
  if (printed >= n) return;
  context.strokeStyle = getComputedStyle(strip).color;
  context.strokeRect(start * side + 0.5, 0.5, Math.max(3, printed * side) - 1, HIGH - 1);
}

/** @type {(event: MouseEvent & { currentTarget: HTMLCanvasElement }, n: number) => number} */
const dimAt = ({ offsetX, currentTarget }, n) =>
  Math.max(0, Math.min(n - 1, Math.floor((offsetX / currentTarget.clientWidth) * n)));

function nameOf(/** @type {Row} */ { name, press, times }) {
  const named = press ? choosing(name, press) : name;
  const before = times ? [el("span", times.asks ? asksFor(times.asks) : {}, times.text)] : [];
  return el("span", { role: "rowheader" }, ...before, named);
}

/** @type {(rows: Row[], start: number, printed: number, decimals: number) => string[][]} */
function printedTexts(rows, start, printed, decimals) {
  const addends = rows.filter(({ part }) => part === "addend");
  const sum = rows.find(({ part }) => part === "sum");
  const columns = Array.from({ length: printed }, (_, at) => {
    const column = addends.map(({ values }) => values[start + at]);
    return addingUp(column, decimals, sum?.values[start + at]);
  });
  return rows.map((row) => {
    const at = addends.indexOf(row);
    return columns.map((column, i) =>
      at < 0 ? fixed(row.values[start + i], decimals) : signedText(column[at], decimals),
    );
  });
}
