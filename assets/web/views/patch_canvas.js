// A picture cut into patches: where each lies, which is under the pointer, and where a key leads.

import { context2d, el, fit } from "../core/dom.js";
import { walked } from "./cells.js";
import { tintOf } from "./shading.js";

/** @typedef {{ rows: number, cols: number }} Size */
/** @typedef {[x: number, y: number, side: number]} Square */
/** @typedef {{ point: (at: number | null) => unknown, choose: (at: number, key: string) => unknown,
 *   from: () => number, beyond: () => unknown }} PatchActs patches by their numbers: `point` is told the one
 *   under the pointer, `choose` one that was clicked or that a key led to, `from` says where keys begin, and
 *   `beyond` is told of up from the first row */

export class PatchCanvas {
  canvas = el("canvas", {
    class: "viz-picture",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "picture of patches",
  });
  context = context2d(this.canvas);
  /** @type {Grid} */
  grid = { rows: 1, cols: 1, prefix: 0 };
  patch = 0; // pixels a side

  constructor(/** @type {PatchActs} */ { point, choose, from, beyond }) {
    const { canvas } = this;
    canvas.addEventListener("click", (event) => {
      const at = this.at(event);
      if (at !== null) choose(at, "");
    });
    canvas.addEventListener("pointermove", (event) => event.pointerType !== "touch" && point(this.at(event)));
    canvas.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && point(null));
    canvas.addEventListener("keydown", (event) => {
      const to = event.ctrlKey || event.metaKey || event.altKey ? null : moved(event.key, from(), this.grid);
      if (to === null) return;
      event.preventDefault();
      if (to < 0) beyond();
      else choose(to, event.key);
    });
  }

  get width() {
    return this.patch * this.grid.cols;
  }

  get height() {
    return this.patch * this.grid.rows;
  }

  resize(/** @type {Grid} */ grid, /** @type {number} */ patch) {
    this.grid = grid;
    this.patch = patch;
    fit(this.canvas, this.width, this.height);
  }

  // Draw in place of what was there; an image of one pixel a patch, or of many.
  draw(/** @type {(CanvasImageSource | null)[]} */ ...images) {
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.imageSmoothingEnabled = false;
    for (const image of images) if (image) this.context.drawImage(image, 0, 0, this.width, this.height);
  }

  /** A frame inside a patch, `from` pixels from its edge.
   * @type {(at: number, color: string, width: number, from?: number) => void} */
  frame(at, color, width, from = 0) {
    if (!(at >= 0)) return;
    const [x, y, side] = squareOf(at, this.patch, this.grid);
    const inset = from + width / 2;
    this.context.strokeStyle = color;
    this.context.lineWidth = width;
    this.context.strokeRect(x + inset, y + inset, side - 2 * inset, side - 2 * inset);
  }

  /** Black around a color, so that it is seen on dark and on light pictures.
   * @type {(at: number, color: string, width: number) => void} */
  outline(at, color, width) {
    this.frame(at, "#000000", 1);
    this.frame(at, color, width, 1);
  }

  /** The middle of a patch on the screen. @returns {[x: number, y: number]} */
  box(/** @type {number} */ at) {
    const page = this.canvas.getBoundingClientRect();
    const [x, y, side] = squareOf(at, this.patch, this.grid);
    return [page.left + x + side / 2, page.top + y + side / 2];
  }

  // The patch under the pointer, or null beside the picture.
  at(/** @type {MouseEvent} */ event) {
    const page = this.canvas.getBoundingClientRect();
    return patchAt(event.clientX - page.left, event.clientY - page.top, this.patch, this.grid);
  }
}

/** One pixel per patch, with opacity by value; patches not kept are clear.
 * @type {(patches: Float32Array, grid: Grid, scale: Scale, opacity: number, kept?: Uint8Array |
 *   false) => HTMLCanvasElement} */
export function overlay(patches, grid, scale, opacity, kept = false) {
  const canvas = el("canvas");
  [canvas.width, canvas.height] = [grid.cols, grid.rows];
  const pixels = new ImageData(grid.cols, grid.rows);
  patches.forEach((value, at) => {
    if (!kept || kept[at]) pixels.data.set(tintOf(value, scale, opacity), 4 * at);
  });
  context2d(canvas).putImageData(pixels, 0, 0);
  return canvas;
}

/** @type {(at: number, patch: number, size: Size) => Square} */
export const squareOf = (at, patch, { cols }) => [(at % cols) * patch, Math.floor(at / cols) * patch, patch];

/** @type {(x: number, y: number, patch: number, size: Size) => number | null} */
export function patchAt(x, y, patch, { rows, cols }) {
  const [col, row] = [Math.floor(x / patch), Math.floor(y / patch)];
  return col >= 0 && row >= 0 && col < cols && row < rows ? row * cols + col : null;
}

/** The patch that a key leads to: none leaves its row or column at an edge, but up from the first row
 * gives -1. From outside the picture, where `at` is negative, every key leads to the first patch.
 * @type {(key: string, at: number, size: Size) => number | null} */
export function moved(key, at, { rows, cols }) {
  const [row, col] = [Math.floor(at / cols), at % cols];
  const to = key === "Enter" || key === " " ? [row, col] : walked(key, [row, col], rows, cols);
  if (!to || at < 0) return to && 0;
  return key === "ArrowUp" && row === 0 ? -1 : to[0] * cols + to[1];
}
