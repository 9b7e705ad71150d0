// The part of a map that is seen: which cell lies under a pixel, to the pixel.

import assert from "node:assert/strict";
import { test } from "node:test";
import { thin } from "../../assets/web/core/labels.js";
import { Viewport } from "../../assets/web/core/viewport.js";
import { moved, patchAt, squareOf } from "../../assets/web/views/patch_canvas.js";

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
