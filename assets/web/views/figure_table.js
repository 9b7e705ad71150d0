// The numbers of a figure as a table, for those who cannot see it or want to read them.

import { count, el, tableHead, tableRow } from "../core/dom.js";
import { heatmapOf, isMarks, plainText, unpack } from "./figure_numbers.js";

/** @import { Heatmap } from "./figure_numbers.js" */

const MOST = 60; // rows and columns

/** @type {(figure: FigureJson, title: string) => HTMLElement} */
export function tableOf(figure, title) {
  const heatmap = heatmapOf(figure);
  return heatmap ? cells(heatmap, title, marksOf(figure)) : points(figure, title);
}

// Masked cells: 0 in a heatmap of their own. Other empty cells are gaps.
function marksOf(/** @type {FigureJson} */ figure) {
  return unpack(figure.data.find(isMarks)?.z).values;
}

/** @type {(heatmap: Heatmap, title: string, marks: ArrayLike<FigureCell>) => HTMLElement} */
function cells(heatmap, title, marks) {
  const { rows, cols, x, y } = heatmap;
  const [down, across] = [Math.min(MOST, rows), Math.min(MOST, cols)];
  const head = tableHead(`${heatmap.yTitle} \\ ${heatmap.xTitle}`, ...x.slice(0, across).map(isolated));
  const lines = textsOf(heatmap, marks).map((texts, row) => tableRow(isolated(y[row]), ...texts));
  const cut =
    down < rows || across < cols
      ? ` The first ${count(down)} of ${count(rows)} rows and ${count(across)} of ${count(cols)} columns; the CSV has all of them.`
      : "";
  return framed(title, `${title}. ${heatmap.unit}.${cut}`, head, lines);
}

/** The cells of the first rows and columns as text. @type {(heatmap: Pick<Heatmap, "rows" | "cols" | "values">,
 *   marks: ArrayLike<FigureCell>) => string[][]} */
export function textsOf({ rows, cols, values }, marks) {
  const cell = (/** @type {number} */ at) => (marks[at] === 0 ? "masked" : digits(values[at]));
  return Array.from({ length: Math.min(MOST, rows) }, (_, row) =>
    Array.from({ length: Math.min(MOST, cols) }, (_, col) => cell(row * cols + col)),
  );
}

/** @type {(figure: FigureJson, title: string) => HTMLElement} */
function points(figure, title) {
  const head = tableHead("Series", ...titlesOf(figure, figure.data[0] ?? {}));
  /** @type {Element[]} */ const lines = [];
  let [told, total, above] = [0, 0, head.textContent];
  for (const trace of figure.data.filter((one) => !isMarks(one) && one.type !== "image")) {
    const [x, y] = [trace.x, trace.y].map((values) => unpack(values).values);
    const [its] = tableHead("Series", ...titlesOf(figure, trace)).children; // of another strip
    if (its.textContent !== above && told < MOST) lines.push(its);
    [above, total] = [its.textContent, total + x.length];
    for (let at = 0; at < x.length && told < MOST; at++, told++)
      lines.push(tableRow(isolated(plainText(trace.name)), shown(x[at]), shown(y[at])));
  }
  const cut = total > told ? ` The first ${told} of ${count(total)} points; the CSV has all of them.` : "";
  return framed(title, `${title}.${cut}`, head, lines);
}

/** The titles of the axes that a trace is drawn on. @type {(figure: FigureJson, trace: Partial<FigureTrace>) => string[]} */
const titlesOf = ({ layout }, { xaxis = "x", yaxis = "y" }) =>
  [xaxis, yaxis].map((axis) =>
    plainText(layout[/** @type {"xaxis" | "yaxis"} */ (`${axis[0]}axis${axis.slice(1)}`)]?.title?.text),
  );

/** @type {(title: string, says: string, head: HTMLElement, lines: Element[]) => HTMLElement} */
function framed(title, says, head, lines) {
  const table = el("table", {}, el("caption", {}, says), head, el("tbody", {}, ...lines));
  const named = { role: "region", "aria-label": `Numbers of: ${title}` };
  return el("div", { class: "viz-figure-table", tabindex: "0", ...named }, table);
}

const isolated = (/** @type {string} */ name) => el("bdi", {}, name);
const shown = (/** @type {FigureCell} */ value) => (typeof value === "number" ? digits(value) : plainText(value));

function digits(/** @type {number | null} */ value) {
  if (value == null || Number.isNaN(value)) return "";
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}
