// The numbers of a figure as a table, for those who cannot see it or want to read them.

import { count, el } from "../core/dom.js";
import { heatmapOf, isMarks, plainText, unpack } from "./figure_numbers.js";

const MOST = 60; // rows and columns

export function tableOf(figure, title) {
  const heatmap = heatmapOf(figure);
  return heatmap ? cells(heatmap, title, marksOf(figure)) : points(figure, title);
}

// Which cells are masked: a heatmap of their own, 0 there. Other cells without a number are gaps.
function marksOf(figure) {
  const marks = figure.data.find(isMarks);
  return marks ? unpack(marks.z).values : [];
}

function cells(heatmap, title, marks) {
  const { rows, cols, values, x, y } = heatmap;
  const [down, across] = [Math.min(MOST, rows), Math.min(MOST, cols)];
  const head = el(
    "tr",
    {},
    el("td", {}, `${heatmap.yTitle} \\ ${heatmap.xTitle}`),
    ...x.slice(0, across).map((name) => el("th", { scope: "col" }, el("bdi", {}, name))),
  );
  const lines = y
    .slice(0, down)
    .map((name, row) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, el("bdi", {}, name)),
        ...Array.from({ length: across }, (_, col) =>
          el("td", {}, marks[row * cols + col] === 0 ? "masked" : digits(values[row * cols + col])),
        ),
      ),
    );
  const cut =
    down < rows || across < cols
      ? ` The first ${count(down)} of ${count(rows)} rows and ${count(across)} of ${count(cols)} columns; CSV has all.`
      : "";
  return framed(title, `${title}. ${heatmap.unit}.${cut}`, head, lines);
}

function points(figure, title) {
  const lines = [];
  const measured = figure.data.filter((trace) => !isMarks(trace) && trace.type !== "image");
  for (const trace of measured) {
    const [x, y] = [unpack(trace.x).values, unpack(trace.y).values];
    for (let at = 0; at < x.length && lines.length < MOST; at++) {
      lines.push(
        el(
          "tr",
          {},
          el("th", { scope: "row" }, el("bdi", {}, plainText(trace.name))),
          el("td", {}, shown(x[at])),
          el("td", {}, shown(y[at])),
        ),
      );
    }
  }
  const names = ["xaxis", "yaxis"].map((axis) => plainText(figure.layout[axis]?.title?.text));
  const head = el("tr", {}, el("td", {}, "Series"), ...names.map((name) => el("th", { scope: "col" }, name)));
  const total = measured.reduce((sum, trace) => sum + unpack(trace.x).values.length, 0);
  const cut = total > lines.length ? ` The first ${lines.length} of ${count(total)} points; CSV has all.` : "";
  return framed(title, `${title}.${cut}`, head, lines);
}

function framed(title, caption, head, lines) {
  const table = el("table", {}, el("caption", {}, caption), el("thead", {}, head), el("tbody", {}, ...lines));
  return el(
    "div",
    { class: "viz-figure-table", tabindex: "0", role: "region", "aria-label": `Numbers of: ${title}` },
    table,
  );
}

const shown = (value) => (typeof value === "number" ? digits(value) : plainText(value));

function digits(value) {
  if (value == null || Number.isNaN(value)) return "";
  return Number.isInteger(value) ? String(value) : value.toPrecision(4);
}
