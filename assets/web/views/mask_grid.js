// A square of cells with token names along its sides: rows are queries, columns are keys.

import { css, el, fit, isDark } from "../core/dom.js";
import { rgbText } from "../core/colors.js";
import { drawLabels, labelRoom } from "../core/labels.js";
import { Viewport } from "../core/viewport.js";

const RIGHT = 30; // room for the last key's tilted name
const LINES = 7; // pixels a cell needs for lines between cells

const hex = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));
const LIGHT = { allowed: hex("#2f6fa8"), forbidden: hex("#e6d5bd"), line: "rgb(255 255 255 / 0.55)" };
const DARK = { allowed: hex("#57b3e6"), forbidden: hex("#4a3f33"), line: "rgb(0 0 0 / 0.45)" };
export const maskColors = () => (isDark() ? DARK : LIGHT);

export class TokenGrid {
  constructor({ label, maxSide = 620, maxCell = 40 }) {
    Object.assign(this, { maxSide, maxCell, outlined: [] });
    this.canvas = el("canvas", { class: "viz-mask-canvas", role: "img", tabindex: "0", "aria-label": label });
    this.over = el("canvas", { class: "viz-map-over", "aria-hidden": "true" });
    this.node = el("div", { class: "viz-stage viz-mask-stage" }, this.canvas, this.over);
    new ResizeObserver(() => this.node.clientWidth !== this.laidOut && this.layout()).observe(this.node);
  }

  // `names` has an entry a cell of a side, `color` gives a cell's [r, g, b] by its number, row by
  // row; a view of another size begins whole.
  show(names, color) {
    this.color = color;
    this.shown = names.map((name) => ({ name }));
    if (this.view?.n !== names.length) this.view = new Viewport(names.length);
    this.chosen ??= [0, 0];
    this.chosen = this.chosen.map((at) => Math.min(at, names.length - 1));
    this.cells = null;
    this.layout();
  }

  layout() {
    const width = this.node.clientWidth;
    if (!this.view || !width) return;
    this.laidOut = width;
    const room = labelRoom(this.shown);
    this.left = Math.min(room.left, Math.floor(width * 0.34));
    this.top = room.top;
    this.side = Math.max(60, Math.min(this.maxSide, width - this.left - RIGHT, this.maxCell * this.view.n));
    Object.assign(this, { width: this.left + this.side + RIGHT, height: this.top + this.side + 4 });
    this.context = fit(this.canvas, this.width, this.height);
    this.overContext = fit(this.over, this.width, this.height);
    this.draw();
  }

  // Call with `changed` when cells have other colors than before.
  draw(changed = false) {
    if (!this.context) return;
    if (changed || !this.cells) this.cells = this.#painted();
    const { context, view } = this;
    const cell = this.side / view.span;
    context.clearRect(0, 0, this.width, this.height);
    this.#clipped(context, () => {
      context.imageSmoothingEnabled = false;
      context.drawImage(
        this.cells,
        this.left - view.col * cell,
        this.top - view.row * cell,
        view.n * cell,
        view.n * cell,
      );
      if (cell >= LINES) this.#lines(cell);
      if (this.outlined.length) this.#outline(cell);
    });
    drawLabels(this);
    this.drawOver();
  }

  drawOver() {
    const { overContext: context, view } = this;
    if (!context) return;
    context.clearRect(0, 0, this.width, this.height);
    const cell = this.side / view.span;
    const box = ([row, col], high, wide, color, width) => {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.strokeRect(
        this.left + (col - view.col) * cell,
        this.top + (row - view.row) * cell,
        wide * cell,
        high * cell,
      );
    };
    this.#clipped(context, () => {
      if (this.rectangle) {
        const [[r0, c0], [r1, c1]] = this.rectangle;
        box(
          [Math.min(r0, r1), Math.min(c0, c1)],
          Math.abs(r1 - r0) + 1,
          Math.abs(c1 - c0) + 1,
          css("--body-text-color"),
          2,
        );
      }
      box(this.chosen, 1, 1, css("--viz-mark", this.node), 3);
      if (this.hovered) box(this.hovered, 1, 1, css("--body-text-color-subdued"), 1.5);
    });
    if (this.hovered) drawLabels(this, this.hovered);
  }

  // The cell under a pixel of the canvas, or null outside of all.
  place(event, inside = true) {
    const page = this.canvas.getBoundingClientRect();
    const cell = this.side / this.view.span;
    const at = [
      this.view.row + (event.clientY - page.top - this.top) / cell,
      this.view.col + (event.clientX - page.left - this.left) / cell,
    ];
    const seen = [this.view.row, this.view.col];
    if (!inside) return at.map((each) => Math.floor(Math.min(this.view.n - 1, Math.max(0, each))));
    if (at.some((each, axis) => each < seen[axis] || each >= Math.min(this.view.n, seen[axis] + this.view.span)))
      return null;
    return at.map(Math.floor);
  }

  // The middle of a cell on the screen.
  box(row, col) {
    const cell = this.side / this.view.span;
    const page = this.canvas.getBoundingClientRect();
    return [
      page.left + this.left + (col - this.view.col + 0.5) * cell,
      page.top + this.top + (row - this.view.row + 0.5) * cell,
    ];
  }

  #painted() {
    const n = this.view.n;
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = n;
    const image = new ImageData(n, n);
    for (let at = 0; at < n * n; at++) {
      const [r, g, b] = this.color(at);
      image.data.set([r, g, b, 255], at * 4);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  #clipped(context, draw) {
    context.save();
    context.beginPath();
    context.rect(this.left - 2, this.top - 2, this.side + 4, this.side + 4);
    context.clip();
    draw();
    context.restore();
  }

  #lines(cell) {
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

  #outline(cell) {
    const { context, view } = this;
    context.strokeStyle = css("--viz-leak", this.node);
    context.lineWidth = Math.max(1, Math.min(2, cell / 6));
    const inset = context.lineWidth / 2;
    for (const at of this.outlined) {
      const [row, col] = [Math.floor(at / view.n), at % view.n];
      context.strokeRect(
        this.left + (col - view.col) * cell + inset,
        this.top + (row - view.row) * cell + inset,
        Math.max(1, cell - 2 * inset),
        Math.max(1, cell - 2 * inset),
      );
    }
  }
}

// A line of colored squares with their words.
export function swatches(entries) {
  return el(
    "p",
    { class: "viz-swatches viz-mask-swatches" },
    ...entries.map(([color, words]) =>
      el(
        "span",
        {},
        el("i", { class: "viz-swatch", style: typeof color === "string" ? color : `background:${rgbText(color)}` }),
        words,
      ),
    ),
  );
}
