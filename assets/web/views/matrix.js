// A number for every two of many things, as a square of colors to point at and to walk through.

import { makeScale, picture, SIGNED } from "../core/colors.js";
import { context2d, css, el, fit, onWidth } from "../core/dom.js";
import { CellCanvas } from "./cell_canvas.js";
import { walked } from "./cells.js";

/** @import { Context } from "../core/labels.js" */
/** @typedef {[place: number, color: string, width: number]} Framed a row with its column; -1 where it is not there */

const TITLE_FONT = "12px system-ui, sans-serif";

export class SquareMatrix extends CellCanvas {
  /** @type {Float32Array} row by row, as drawn; NaN = not defined */
  values = new Float32Array();
  /** @type {Cell | null} */
  cell = null;
  base = document.createElement("canvas"); // without marks

  /** @param {HTMLElement} node @param {string} name the class of its canvas @param {string} what its rows are
   * @param {(row: number) => unknown} choose */
  constructor(node, name, what, choose) {
    super();
    this.node = node;
    this.canvas = el("canvas", {
      class: name,
      tabindex: "0",
      role: "application",
      "aria-roledescription": `matrix of ${what}`,
      onpointermove: (event) => this.#point(this.place(event)),
      onpointerleave: () => this.#point(null),
      onblur: () => this.#point(null),
      onclick: (event) => {
        const cell = this.place(event);
        if (cell) choose(cell[0]);
      },
      onkeydown: (event) => {
        if (event.key === "Enter" && this.cell) choose(this.cell[0]);
        const to = event.ctrlKey || event.metaKey || event.altKey ? null : this.#walk(event.key);
        if (!to) return;
        event.preventDefault();
        this.#point(to);
      },
    });
    onWidth(node, () => requestAnimationFrame(() => this.draw()));
  }

  // Pixels of a cell.
  get each() {
    return this.side / this.view.n;
  }

  fill(/** @type {Float32Array} */ values, /** @type {number} */ n) {
    if (this.view.n !== n) {
      this.renew(n);
      this.cell = null;
    }
    this.values = values;
    this.draw();
  }

  /** @type {(row: number, column: number) => number} */
  value(row, column) {
    return this.values[row * this.view.n + column];
  }

  draw() {
    const { paddingLeft, paddingRight } = getComputedStyle(this.node);
    const room = this.node.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
    if (!(room > 0) || !this.view.n) return;
    Object.assign(this, this.layout(room));
    const [width, height] = [this.left + this.side + 2, this.top + this.side + 2];
    fit(this.canvas, width, height);
    const context = fit(this.base, width, height);
    context.imageSmoothingEnabled = this.each < 1;
    context.drawImage(this.picture(), this.left, this.top, this.side, this.side);
    this.write(context);
    this.marks();
  }

  marks() {
    const { canvas, each, left, top, side, cell } = this;
    if (!side) return;
    const context = context2d(canvas);
    const [width, height] = [left + side + 2, top + side + 2];
    context.clearRect(0, 0, width, height);
    context.drawImage(this.base, 0, 0, width, height);
    for (const [place, color, line] of this.framed()) {
      if (place < 0) continue;
      const [from, thick] = band(place, each, side);
      context.strokeStyle = css(color, canvas);
      context.lineWidth = line;
      context.strokeRect(left, top + from, side, thick);
      context.strokeRect(left + from, top, thick, side);
    }
    if (!cell) return;
    context.strokeStyle = css("--viz-mark-key", canvas);
    context.lineWidth = 2;
    const [[down, thick], [right]] = cell.map((place) => band(place, each, side));
    context.strokeRect(left + right, top + down, thick, thick);
  }

  /** Draw the same title along both sides. @type {(context: Context, text: string) => void} */
  title(context, text) {
    context.fillStyle = css("--body-text-color-subdued");
    context.font = TITLE_FONT;
    context.textAlign = "center";
    context.fillText(text, this.left + this.side / 2, 12);
    context.save();
    context.translate(12, this.top + this.side / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
    context.restore();
  }

  // What a kind of matrix says: where its square lies in so much room, a canvas of a pixel a cell, what
  // stands beside it, the rows that are framed, the cell that is pointed at, and where a walk by keys begins.
  layout(/** @type {number} */ _room) {
    return /** @type {Frame} */ (this);
  }
  picture() {
    return this.base;
  }
  write(/** @type {Context} */ _context) {}
  framed() {
    return /** @type {Framed[]} */ ([]);
  }
  pointed(/** @type {Cell | null} */ _cell) {}
  get start() {
    return /** @type {Cell} */ ([0, 0]);
  }

  // The cell that a key leads to; at first the start.
  #walk(/** @type {string} */ key) {
    const to = walked(key, this.cell ?? this.start, this.view.n);
    return to && (this.cell ? to : this.start);
  }

  #point(/** @type {Cell | null} */ cell) {
    if (String(cell) === String(this.cell) || !this.side) return;
    this.cell = cell;
    this.pointed(cell);
    this.marks();
  }
}

/** Offset and thickness of a row's frame: visible, and inside the square.
 * @type {(place: number, each: number, side: number) => [from: number, thick: number]} */
export function band(place, each, side) {
  const thick = Math.max(each, 3);
  return [Math.min(side - thick, Math.max(0, (place + 0.5) * each - thick / 2)), thick];
}

/** Numbers from −1 to 1 with a pixel each. @type {(values: Float32Array, side: number) => HTMLCanvasElement} */
export const signedPicture = (values, side) => picture(values, side, side, makeScale(SIGNED, 1));
