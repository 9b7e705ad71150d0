// What stands along the sides of a map that is zoomed, or has other columns than rows: names and the border of a pair.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawBorders } from "../../assets/web/core/border.js";
import { drawLabels } from "../../assets/web/core/labels.js";
import { Viewport } from "../../assets/web/core/viewport.js";

Object.assign(globalThis, { document: { body: {} }, getComputedStyle: () => ({ getPropertyValue: () => "" }) });

// A context that keeps where texts and lines were drawn; one that is turned, at the point it was turned around.
function drawing() {
  const [texts, lines] = [[], []];
  let origin = [0, 0];
  const context = {
    ...{ texts, lines, save: () => {}, rotate: () => {}, setLineDash: () => {}, beginPath: () => {}, stroke: () => {} },
    measureText: () => ({ width: 8 }),
    restore: () => (origin = [0, 0]),
    translate: (x, y) => (origin = [x, y]),
    fillText: (text, x, y) => texts.push([text.replace(/[\u2066-\u2069]/g, ""), x + origin[0], y + origin[1]]),
    moveTo: (x, y) => lines.push([x, y]),
    lineTo: (x, y) => lines.push([x, y]),
  };
  return context;
}

const named = (letter, n) => Array.from({ length: n }, (_, at) => ({ name: `${letter}${at}` }));

test("columns that are other tokens than the rows have their own names", () => {
  const context = drawing();
  const map = { shown: named("q", 3), columns: named("k", 6), view: new Viewport(6), chosen: [-1, -1], context };
  drawLabels(Object.assign(map, { left: 100, top: 80, side: 300 }));
  const names = context.texts.filter(([text]) => /^[qk]\d$/.test(text));
  assert.deepEqual(names, [
    ...[0, 1, 2].map((row) => [`q${row}`, 96, 105 + 50 * row]),
    ...[0, 1, 2, 3, 4, 5].map((col) => [`k${col}`, 125 + 50 * col, 75]),
  ]);
});

test("in a view of other rows than columns the border of a pair stays on its token", () => {
  const context = drawing();
  const view = Object.assign(new Viewport(20), { row: 2, col: 6, span: 10 });
  const map = { shown: named("t", 20), view, borders: [8, 8], context, left: 100, top: 50, side: 400 };
  drawBorders(map);
  const [down, across] = [50 + 6 * 40, 100 + 2 * 40]; // six rows and two columns before it are in sight
  assert.deepEqual(context.lines.slice(0, 2), [[100, down], [512, down]]); // biome-ignore format: a line
  assert.deepEqual(context.lines.slice(-2), [[across, 50], [across, 462]]); // biome-ignore format: a line
  assert.deepEqual(context.texts, [
    ["A", 512, 50 + 3 * 40],
    ["B", 512, 50 + 8 * 40],
    ["A", 100 + 1 * 40, 458],
    ["B", 100 + 6 * 40, 458],
  ]);
});
