// The border between text A and text B of a pair, on both sides of a map, and the letters of the two.

import { css } from "./dom.js";

/** @import { Labelled } from "./labels.js" */
/** @typedef {Labelled & { borders: Borders }} Bordered */
/** @typedef {[row: number, col: number]} Borders where text B begins along each side, in cells; -1 where it does not */

export const FOOT = 16; // pixels below a map, for the letters
const FONT = "600 12px system-ui, sans-serif";
const LETTER = 12; // pixels that a letter needs

/** Where text B begins: the first token of it, if any is before. @type {(segments: ArrayLike<number>) => number} */
export function borderAt(segments) {
  const at = Array.prototype.indexOf.call(segments, 1);
  return at > 0 ? at : -1;
}

/** How far from a part's start the border lies, and the middles of A and B in sight; in cells.
 * @type {(border: number, from: number, to: number) => { at: number | null, letters: [string, number, number][] }} */
export function bordered(border, from, to) {
  if (border < 0) return { at: null, letters: [] };
  /** @type {[string, number, number][]} */
  const parts = [
    ["A", from, Math.min(border, to)],
    ["B", Math.max(border, from), to],
  ];
  const letters = parts.filter(([, start, stop]) => stop > start);
  return {
    at: border > from && border < to ? border - from : null,
    letters: letters.map(([letter, start, stop]) => [letter, (start + stop) / 2 - from, stop - start]),
  };
}

/** The lines over the cells, and the letters right of and below them. @type {(map: Bordered) => void} */
export function drawBorders(map) {
  const { context, view, left, top, side, borders, shown, columns = shown } = map;
  if (borders[0] < 0 && borders[1] < 0) return;
  const cell = side / view.span;
  const tall = Math.min(view.span, shown.length - view.row);
  const wide = Math.min(view.span, columns.length - view.col);
  const [right, bottom] = [left + wide * cell, top + tall * cell];
  const rows = bordered(borders[0], view.row, view.row + tall);
  const cols = bordered(borders[1], view.col, view.col + wide);
  context.save();
  if (rows.at !== null) line(context, [left, top + rows.at * cell], [right + LETTER, top + rows.at * cell]);
  if (cols.at !== null) line(context, [left + cols.at * cell, top], [left + cols.at * cell, bottom + LETTER]);
  Object.assign(context, { font: FONT, fillStyle: css("--body-text-color"), textBaseline: "middle" });
  context.textAlign = "center";
  for (const [letter, middle, long] of rows.letters)
    if (long * cell >= LETTER) context.fillText(letter, right + LETTER, top + middle * cell);
  for (const [letter, middle, long] of cols.letters)
    if (long * cell >= LETTER) context.fillText(letter, left + middle * cell, bottom + FOOT / 2);
  context.restore();
}

/** Dashes that are seen on cells of any color. @type {(context: CanvasRenderingContext2D, from: number[], to: number[]) => void} */
function line(context, from, to) {
  for (const [color, dash] of /** @type {const} */ ([
    ["#ffffff", []],
    ["#111827", [5, 4]],
  ])) {
    Object.assign(context, { strokeStyle: color, lineWidth: 1.5 });
    context.setLineDash([...dash]);
    context.beginPath();
    context.moveTo(from[0], from[1]);
    context.lineTo(to[0], to[1]);
    context.stroke();
  }
}
