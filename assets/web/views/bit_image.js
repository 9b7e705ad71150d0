// Cells as pixels: those of a mask that are in sight, in blocks where they are smaller than a pixel, or all of a map.

import { mixed, pack, pixelCanvas } from "../core/colors.js";
import { context2d } from "../core/dom.js";

/** @typedef {{ allowed: Rgb, forbidden: Rgb }} Colors */

const LEAST = 0.25; // least tint of a mixed block, so that one cell among many shows
const STEPS = 64; // mixed colors

export class BitImage {
  canvas = document.createElement("canvas");
  context = context2d(this.canvas);
  drawn = ""; // which blocks are on the canvas, in which colors

  /** `cells` are 1 or 0, row by row. @param {number} n @param {Uint8Array} cells @param {Colors} colors */
  constructor(n, cells, colors) {
    this.n = n;
    this.cells = cells;
    this.colors = colors;
  }

  /** @type {(context: CanvasRenderingContext2D, view: Viewport, frame: Frame) => void} */
  draw(context, view, { left, top, side }) {
    const cell = side / view.span;
    const size = Math.max(1, Math.ceil(1 / (cell * devicePixelRatio) - 0.01));
    const [rows, cols] = view.cells().map((range) => blocksOf(range, size));
    this.#paint(size, rows, cols);
    const [x, y] = [left + (cols[0] * size - view.col) * cell, top + (rows[0] * size - view.row) * cell];
    const block = size * cell;
    context.drawImage(this.canvas, x, y, this.canvas.width * block, this.canvas.height * block);
  }

  /** @type {(size: number, rows: Span, cols: Span) => void} */
  #paint(size, rows, cols) {
    const name = [size, ...rows, ...cols].join();
    if (this.drawn === name) return;
    this.drawn = name;
    const { n, cells, canvas, context } = this;
    const [width, height] = [cols[1] - cols[0], rows[1] - rows[0]];
    const sums = sumsOf(n, cells, size, rows, cols);
    const shade = shader(this.colors);
    const image = new ImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const long = (/** @type {number} */ at) => Math.min(size, n - at * size); // the last block may be smaller
    for (let row = 0, at = 0; row < height; row++) {
      const high = long(rows[0] + row);
      for (let col = 0; col < width; col++, at++) {
        pixels[at] = shade(sums[at] / (high * long(cols[0] + col)));
      }
    }
    Object.assign(canvas, { width, height });
    context.putImageData(image, 0, 0);
  }
}

/** The pixel of a block by the share of its cells that may attend. @type {(colors: Colors) => (share: number) => number} */
function shader({ allowed, forbidden }) {
  const pixel = (/** @type {number} */ share) => pack(mixed(forbidden, allowed, share));
  const [none, all] = [pixel(0), pixel(1)];
  const between = Array.from({ length: STEPS + 1 }, (_, at) => pixel(LEAST + ((1 - 2 * LEAST) * at) / STEPS));
  return (share) => (share === 0 ? none : share === 1 ? all : between[Math.round(share * STEPS)]);
}

/** The blocks that a range of cells touches. @type {(range: Span, size: number) => Span} */
const blocksOf = ([start, stop], size) => [Math.floor(start / size), Math.ceil(stop / size)];

/** Number of allowed cells in each block, row by row of blocks.
 * @type {(n: number, cells: Uint8Array, size: number, rows: Span, cols: Span) => Uint32Array} */
export function sumsOf(n, cells, size, rows, cols) {
  const width = cols[1] - cols[0];
  const sums = new Uint32Array(width * (rows[1] - rows[0]));
  for (let row = rows[0] * size; row < Math.min(n, rows[1] * size); row++) {
    const first = (Math.floor(row / size) - rows[0]) * width;
    for (let block = 0, at = row * n + cols[0] * size; block < width; block++) {
      const end = row * n + Math.min(n, (cols[0] + block + 1) * size);
      let sum = 0;
      for (; at < end; at++) sum += cells[at];
      sums[first + block] += sum;
    }
  }
  return sums;
}

/** A pixel a cell, by the cell's number, row by row. @type {(n: number, color: (at: number) => Rgb) => HTMLCanvasElement} */
export function pixelsOf(n, color) {
  const packed = new Uint32Array(n * n);
  for (let at = 0; at < packed.length; at++) packed[at] = pack(color(at));
  return pixelCanvas(packed, n, n);
}
