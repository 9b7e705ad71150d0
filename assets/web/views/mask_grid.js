// A square of cells with token names along its sides: rows are queries, columns are keys.

import { rgb } from "../core/colors.js";
import { context2d, css, el, fit, isDark, onWidth } from "../core/dom.js";
import { AXES, drawLabels, labelRoom } from "../core/labels.js";
import { BitImage, pixelsOf } from "./bit_image.js";
import { CellCanvas } from "./cell_canvas.js";
import { fullHeight } from "./full_screen.js";
import { swatch } from "./shading.js";

/** @typedef {[row: number, col: number]} Cell */

const RIGHT = 30; // room for the last key's tilted name
const LINES = 7; // pixels a cell needs for lines between cells
export const OUTLINED = 6; // and for an outline that leaves its color to be seen

const LIGHT = {
  allowed: rgb("#2f6fa8"),
  forbidden: rgb("#e6d5bd"),
  faint: rgb("#d6d9de"),
  line: "rgb(255 255 255 / 0.55)",
};
const DARK = { allowed: rgb("#57b3e6"), forbidden: rgb("#4a3f33"), faint: rgb("#2c313b"), line: "rgb(0 0 0 / 0.45)" };
export const maskColors = () => (isDark() ? DARK : LIGHT);

export class TokenGrid extends CellCanvas {
  canvas = el("canvas", { class: "viz-mask-canvas", role: "img", tabindex: "0" });
  over = el("canvas", { class: "viz-map-over", "aria-hidden": "true" });
  node = el("div", { class: "viz-stage viz-mask-stage" }, this.canvas, this.over);
  context = context2d(this.canvas);
  overContext = context2d(this.over);
  width = 0;
  height = 0;
  /** @type {string[]} */
  names = [];
  /** @type {{ name: string }[]} */
  shown = [];
  chosen = /** @type {Cell} */ ([0, 0]);
  /** @type {Cell | null} */
  hovered = null;
  /** @type {[Cell, Cell] | null} */
  rectangle = null;
  /** @type {number[]} */
  outlined = [];
  axes = AXES;
  /** Image to draw if the cells are a mask's. @type {BitImage | null} */
  bits = null;
  /** @type {HTMLCanvasElement | null} */
  cells = null;
  /** @type {(at: number) => Rgb} */
  color = () => maskColors().allowed;

  constructor({ label = "", maxSide = 620, maxCell = 40 }) {
    super();
    this.maxSide = maxSide;
    this.maxCell = maxCell;
    this.canvas.setAttribute("aria-label", label);
    onWidth(this.node, () => this.layout());
  }

  /** `names` has an entry a cell of a side, `color` gives a cell's color by its number, row by row; a
   * view of another size begins whole. @type {(names: string[], color: (at: number) => Rgb) => void} */
  show(names, color) {
    this.color = color;
    this.bits = null;
    this.#show(names);
  }

  /** Show a mask, with `cells` 1 where a pair may attend; fast up to thousands of tokens.
   * @type {(names: string[], cells: Uint8Array) => void} */
  showBits(names, cells) {
    this.bits = new BitImage(names.length, cells, maskColors());
    if (this.names === names) this.draw();
    else this.#show(names);
    this.names = names;
  }

  #show(/** @type {string[]} */ names) {
    this.shown = names.map((name) => ({ name }));
    if (this.view.n !== names.length) this.renew(names.length);
    const [row, col] = this.chosen;
    this.chosen = [Math.min(row, names.length - 1), Math.min(col, names.length - 1)];
    this.cells = null;
    this.layout();
  }

  layout() {
    const width = this.node.clientWidth;
    if (!this.view.n || !width) return;
    const room = labelRoom(this.shown);
    this.left = Math.min(room.left, Math.floor(width * 0.34));
    this.top = room.top;
    const alone = fullHeight(this.node);
    const usual = Math.min(this.maxSide, this.maxCell * this.view.n);
    const most = alone ? Math.max(usual, alone - this.top - 12) : usual; // panels below each other are scrolled
    this.side = Math.max(60, Math.min(most, width - this.left - RIGHT));
    this.width = this.left + this.side + RIGHT;
    this.height = this.top + this.side + 4;
    fit(this.canvas, this.width, this.height);
    fit(this.over, this.width, this.height);
    this.draw();
  }

  // Call with `changed` when cells have other colors than before.
  draw(changed = false) {
    if (!this.side) return;
    const { context, view } = this;
    const cell = this.side / view.span;
    if (changed) this.cells = null;
    const [left, top] = [this.left - view.col * cell, this.top - view.row * cell];
    context.clearRect(0, 0, this.width, this.height);
    this.clipped(context, 2, () => {
      context.imageSmoothingEnabled = false;
      const cells = this.bits ? null : this.#plain();
      if (cells) context.drawImage(cells, left, top, view.n * cell, view.n * cell);
      else this.bits?.draw(context, view, this);
      if (cell >= LINES) this.#lines(cell);
      if (cell >= OUTLINED) this.#outline(cell);
    });
    drawLabels(this);
    this.drawOver();
  }

  drawOver() {
    if (!this.side) return;
    const { overContext: context, view, rectangle, hovered } = this;
    context.clearRect(0, 0, this.width, this.height);
    const cell = this.side / view.span;
    /** @type {(from: Cell, to: Cell, color: string, width: number) => void} */
    const box = ([r0, c0], [r1, c1], color, width) => {
      const [row, col] = [Math.min(r0, r1), Math.min(c0, c1)];
      const [wide, high] = [(Math.abs(c1 - c0) + 1) * cell, (Math.abs(r1 - r0) + 1) * cell];
      context.strokeStyle = color;
      context.lineWidth = width;
      context.strokeRect(this.left + (col - view.col) * cell, this.top + (row - view.row) * cell, wide, high);
    };
    this.clipped(context, 2, () => {
      if (rectangle) box(...rectangle, css("--body-text-color"), 2);
      box(this.chosen, this.chosen, css("--viz-mark", this.node), 3);
      if (hovered) box(hovered, hovered, css("--body-text-color-subdued"), 1.5);
    });
    if (hovered) drawLabels(this, hovered);
  }

  // The cell under the pointer, or the nearest one of the whole map.
  nearest(/** @type {MouseEvent} */ event) {
    const [x, y] = this.pixel(event);
    const { row, col, n, span } = this.view;
    const [down, right] = [row + ((y - this.top) / this.side) * span, col + ((x - this.left) / this.side) * span];
    return /** @type {Cell} */ ([down, right].map((each) => Math.floor(Math.min(n - 1, Math.max(0, each)))));
  }

  #plain() {
    this.cells ??= pixelsOf(this.view.n, this.color);
    return this.cells;
  }

  #lines(/** @type {number} */ cell) {
    const { context, view } = this;
    context.strokeStyle = maskColors().line;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = Math.ceil(view.row); at <= view.row + view.span; at++) {
      const y = this.top + (at - view.row) * cell;
      context.moveTo(this.left, y);
      context.lineTo(this.left + this.side, y);
    }
    for (let at = Math.ceil(view.col); at <= view.col + view.span; at++) {
      const x = this.left + (at - view.col) * cell;
      context.moveTo(x, this.top);
      context.lineTo(x, this.top + this.side);
    }
    context.stroke();
  }

  #outline(/** @type {number} */ cell) {
    const { context, view } = this;
    context.strokeStyle = css("--viz-leak", this.node);
    context.lineWidth = Math.max(1, Math.min(2, cell / 6));
    const inset = context.lineWidth / 2;
    const side = Math.max(1, cell - 2 * inset);
    for (const at of this.outlined) {
      const [row, col] = [Math.floor(at / view.n), at % view.n];
      const [left, top] = [this.left + (col - view.col) * cell, this.top + (row - view.row) * cell];
      context.strokeRect(left + inset, top + inset, side, side);
    }
  }
}

/** A line of colored squares by their words. @param {Record<string, Rgb | string>} squares */
export function swatches(squares) {
  const all = Object.entries(squares).map(([words, square]) => swatch(words, square));
  return el("p", { class: "viz-swatches viz-mask-swatches" }, ...all);
}
