// The part of a map that is seen, to the pixel: its room, which cell lies under a pixel, and what stands along its sides.

import assert from "node:assert/strict";
import { test } from "node:test";
import { thin, drawLabels } from "../../assets/web/core/labels.js";
import { Viewport } from "../../assets/web/core/viewport.js";
import { moved, patchAt, squareOf } from "../../assets/web/views/patch_canvas.js";
import { keptInView, laidOut } from "../../assets/web/explore/map_sheet.js";
import { drawBorders } from "../../assets/web/core/border.js";

const FRAME = { left: 50, top: 30, side: 100 };

test("a pixel's place: the whole map, every cell from its first pixel to its last", () => {
  const view = new Viewport(10);
  assert.deepEqual(view.place(50, 30, FRAME), [0, 0]);
  assert.deepEqual(view.place(59.99, 40, FRAME).map(Math.floor), [1, 0]);
  assert.deepEqual(view.place(60, 39.99, FRAME).map(Math.floor), [0, 1]);
  assert.deepEqual(view.place(149.99, 129.99, FRAME).map(Math.floor), [9, 9]);
  for (const [x, y] of [
    [49.9, 50],
    [150, 50],
    [60, 29.9],
    [60, 130],
  ])
    assert.equal(view.place(x, y, FRAME), null);
});

test("a pixel's place in a window: between two cells exactly", () => {
  const view = new Viewport(100);
  view.center(40, 60, 8); // rows 36.5 to 44.5, columns 56.5 to 64.5
  assert.deepEqual([view.row, view.col, view.span], [36.5, 56.5, 8]);
  assert.deepEqual(view.place(100, 80, FRAME), [40.5, 60.5]);
  const border = 50 + (100 / 8) * 3.5; // where column 60 begins
  assert.deepEqual(Math.floor(view.place(border - 0.01, 80, FRAME)[1]), 59);
  assert.deepEqual(Math.floor(view.place(border + 0.01, 80, FRAME)[1]), 60);
});

test("the middle of a cell is a pixel of that cell, from every corner", () => {
  const view = new Viewport(33);
  view.zoom(0.3, 20, 11);
  const [[top, bottom], [left, right]] = view.cells();
  for (const [row, col] of [
    [top + 1, left + 1],
    [bottom - 2, right - 2],
    [20, 11],
  ]) {
    assert.deepEqual(
      view.place(...view.middle(row, col, FRAME), FRAME).map((at) => +at.toFixed(9)),
      [row + 0.5, col + 0.5],
    );
  }
});

test("zooming keeps the cell under the pointer, and stops at 4 cells and at the whole map", () => {
  const view = new Viewport(64);
  const before = view.place(75, 105, FRAME);
  view.zoom(0.5, ...before);
  assert.equal(view.span, 32);
  assert.deepEqual(view.place(75, 105, FRAME), before);
  view.zoom(1e-6, 10, 10);
  assert.equal(view.span, 4);
  view.zoom(1e6, 10, 10);
  assert.deepEqual([view.row, view.col, view.span, view.zoomed], [0, 0, 64, false]);
  const small = new Viewport(3);
  small.zoom(0.1, 1, 1);
  assert.equal(small.span, 3);
});

test("moving stays on the map, and revealing moves no more than it must", () => {
  const view = new Viewport(20);
  view.center(0, 19, 5);
  assert.deepEqual([view.row, view.col], [0, 15]);
  view.pan(-3, 3);
  assert.deepEqual([view.row, view.col], [0, 15]);
  view.reveal(7, 15);
  assert.deepEqual([view.row, view.col], [3, 15]);
  view.reveal(4, 12);
  assert.deepEqual([view.row, view.col], [3, 12]);
  view.fit();
  assert.deepEqual(view.cells(), [
    [0, 20],
    [0, 20],
  ]);
});

test("the cells in sight are whole ones, those at the border too", () => {
  const view = new Viewport(20);
  Object.assign(view, { row: 2.5, col: 15.2, span: 4.8 });
  assert.deepEqual(view.cells(), [
    [2, 8],
    [15, 20],
  ]);
});

test("names: every so many, clear of the chosen one, which is always there", () => {
  assert.deepEqual(thin([0, 10], 1, 3), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.deepEqual(thin([0, 12], 4, 0), [0, 4, 8]);
  assert.deepEqual(thin([0, 12], 4, 5), [0, 5]);
  assert.deepEqual(thin([3, 12], 4, 50), [4, 8]);
  assert.deepEqual(thin([3, 12], 4, 11), [4, 11]);
});

test("a picture's patch under a pixel, and the square it fills", () => {
  const size = { rows: 3, cols: 5 };
  assert.equal(patchAt(0, 0, 20, size), 0);
  assert.equal(patchAt(19.9, 20, 20, size), 5);
  assert.equal(patchAt(20, 19.9, 20, size), 1);
  assert.equal(patchAt(99.9, 59.9, 20, size), 14);
  for (const [x, y] of [
    [-0.1, 5],
    [100, 5],
    [5, 60],
    [5, -0.1],
  ])
    assert.equal(patchAt(x, y, 20, size), null);
  assert.deepEqual(squareOf(7, 20, size), [40, 20, 20]);
});

test("keys walk within a picture; up from the first row leaves it", () => {
  const size = { rows: 3, cols: 5 };
  const led = (key, at) => moved(key, at, size);
  assert.deepEqual(
    ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => led(key, 7)),
    [6, 8, 2, 12],
  );
  assert.deepEqual(
    ["Home", "End", "PageUp", "PageDown", "Enter", " "].map((key) => led(key, 7)),
    [5, 9, 2, 12, 7, 7],
  );
  assert.deepEqual(
    [led("ArrowLeft", 5), led("ArrowRight", 9), led("ArrowDown", 12), led("ArrowUp", 3)],
    [5, 9, 12, -1],
  );
  assert.deepEqual([led("ArrowLeft", -2), led("x", 3), led("constructor", 3)], [0, null, null]);
});

test("a view is read as it was written, and what cannot be in view is not taken", () => {
  const view = new Viewport(20);
  assert.equal(view.written, "");
  view.zoom(0.4, 10, 6);
  assert.equal(view.written, "6,3.6,8");
  const other = new Viewport(20);
  other.read(view.written);
  assert.deepEqual([other.row, other.col, other.span], [6, 3.6, 8]);
  for (const wrong of ["", "1,2", "1,2,40", "1,2,1", "a,b,c"]) other.read(wrong);
  assert.deepEqual([other.row, other.col, other.span], [6, 3.6, 8]);
  other.read("30,-4,8"); // past the end: as far as the map goes
  assert.deepEqual([other.row, other.col, other.span], [12, 0, 8]);
});

const ROOM = { labels: { left: 80, top: 70 }, width: 900, window: 1000, full: 0, n: 100 };

test("the square takes the room that width, window and cells leave", () => {
  const side = (more) => laidOut({ ...ROOM, ...more }).side;
  assert.deepEqual(laidOut(ROOM), { left: 80, top: 70, side: 780 }); // the window's height less names and controls
  assert.equal(side({ width: 700 }), 590); // the width less the names on both sides
  assert.equal(side({ window: 2000 }), 790);
  assert.equal(side({ window: 2000, width: 2000 }), 860); // never more on the page
  assert.equal(side({ window: 300 }), 420); // never less for a low window
  assert.equal(side({ n: 5 }), 300); // 60 pixels a cell at most
  assert.equal(side({ width: 100 }), 60);
});

test("alone in the window it is as high as that, and its cells twice as wide", () => {
  assert.equal(laidOut({ ...ROOM, full: 700 }).side, 626);
  assert.equal(laidOut({ ...ROOM, full: 700, n: 4 }).side, 480);
});

test("long names take a third of the width at most", () => {
  assert.equal(laidOut({ ...ROOM, width: 360, labels: { left: 300, top: 70 } }).left, 122);
});

// The tokens along a side, but those left out.
function tokensBut(n, ...out) {
  const tokens = Array.from({ length: n }, (_, at) => at).filter((at) => !out.includes(at));
  const places = new Int32Array(n).fill(-1);
  for (const [place, at] of tokens.entries()) places[at] = place;
  return Object.assign(
    tokens.map((at) => ({ name: `t${at}`, tokens: [at] })),
    { places },
  );
}

test("other tokens keep the one in the middle of the view there", () => {
  const [all, inner] = [tokensBut(40), tokensBut(40, 0, 39)];
  const view = new Viewport(40);
  view.center(20, 10, 8);
  const kept = keptInView(view, all, inner);
  assert.deepEqual([kept.n, kept.span, kept.row, kept.col], [38, 8, 15.5, 5.5]); // tokens 20 and 10, one place less
  const back = keptInView(kept, inner, all);
  assert.deepEqual([back.n, back.row, back.col], [40, view.row, view.col]);
});

test("all are in view where all were, or where the token in the middle is left out", () => {
  const all = tokensBut(9);
  assert.deepEqual(keptInView(new Viewport(9), all, tokensBut(9, 0, 8)), new Viewport(7));
  const view = new Viewport(9);
  view.center(2, 6, 4);
  assert.deepEqual(keptInView(view, all, tokensBut(9, 2)), new Viewport(8));
  assert.equal(keptInView(view, all, tokensBut(9, 3)).span, 4);
});

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
