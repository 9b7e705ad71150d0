// How alike all tokens are after some blocks, as a square of colors to point at.

import { css, el, fit } from "../core/dom.js";
import { keptTokens, named } from "./results.js";
import { signed, signedColors } from "../core/signed_colors.js";

const [LARGEST, NAMES, LETTERS] = [440, 86, 11]; // pixels of the square and of names beside it; letters of a name
const LEGIBLE = 11; // pixels of a cell from which names are written
const AXIS = 20;
const STEPS = 512;

// The colors of −1 … 1, packed, and after them that of what is not defined.
function ramp() {
  const color = signedColors();
  const colors = Array.from({ length: STEPS }, (_, step) => color((2 * step) / (STEPS - 1) - 1));
  return Uint32Array.from([...colors, color(NaN)], ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
}

export class Matrix {
  // `hover` and `choose` get a token; `tell` a sentence of the cell under the pointer.
  constructor({ hover, choose, tell }) {
    Object.assign(this, { hover, choose, tell, cell: null });
    this.canvas = el("canvas", {
      class: "viz-hidden-matrix",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "matrix of tokens",
      onpointermove: (event) => this.#point(this.#at(event)),
      onpointerleave: () => this.#point(null),
      onblur: () => this.#point(null),
      onclick: (event) => {
        const cell = this.#at(event);
        if (cell) choose(this.first(cell[0]));
      },
      onkeydown: (event) => this.#key(event),
    });
    this.bar = el("i", { class: "viz-stat-bar" });
    this.scale = el("p", { class: "viz-caption viz-stat-scale" }, "−1 ", this.bar, " 1, cosine (no unit)");
    this.node = el("div", {}, this.canvas, this.scale);
    new ResizeObserver(
      () => this.cells && this.node.clientWidth !== this.room && requestAnimationFrame(() => this.draw()),
    ).observe(this.node);
  }

  // `values` are side × side cosines, `edges` the places among the kept tokens where blocks begin.
  show({ run, special, values, edges, token, hovered }) {
    Object.assign(this, { run, values, edges, token, hovered, side: edges.length - 1, kept: keptTokens(run, special) });
    this.cells = picture(values, this.side);
    this.draw();
  }

  mark(hovered) {
    this.hovered = hovered;
    if (this.base) this.#marks();
  }

  draw() {
    this.room = this.node.clientWidth;
    if (!this.room || !this.cells) return;
    const fits = Math.min(LARGEST, this.room - NAMES) / this.side >= LEGIBLE;
    this.margin = AXIS + (fits ? NAMES - AXIS : 0);
    this.size = Math.min(LARGEST, this.room - this.margin);
    this.each = this.size / this.side;
    const whole = this.size + this.margin;
    this.context = fit(this.canvas, whole, whole);
    this.base = document.createElement("canvas");
    const context = fit(this.base, whole, whole);
    context.imageSmoothingEnabled = this.each < 1;
    context.drawImage(this.cells, this.margin, this.margin, this.size, this.size);
    this.#write(context, fits);
    this.bar.style.background = `linear-gradient(to right, ${signed()
      .map((color) => `rgb(${color})`)
      .join(", ")})`;
    this.canvas.setAttribute(
      "aria-label",
      `Cosine of ${this.side} × ${this.side} ${this.pooled ? "blocks of tokens" : "tokens"}. Arrow keys walk through the cells, Enter chooses the row's token.`,
    );
    this.#marks();
  }

  get pooled() {
    return this.side < this.kept.length;
  }

  // The first token of a block, and what a block is called.
  first(block) {
    return this.kept[this.edges[block]];
  }

  name(block) {
    const [from, to] = [this.first(block), this.kept[this.edges[block + 1] - 1]];
    return from === to ? named(this.run, from) : `tokens ${from}–${to}`;
  }

  // The block that a token is in; −1 where it is left out.
  block(token) {
    const place = this.kept.indexOf(token);
    return place < 0 ? -1 : this.edges.findLastIndex((edge) => edge <= place);
  }

  // The middle of a cell on the screen, for tests and tools.
  box(row, column) {
    const page = this.canvas.getBoundingClientRect();
    return [page.left + this.margin + (column + 0.5) * this.each, page.top + this.margin + (row + 0.5) * this.each];
  }

  #write(context, fits) {
    const { margin, size, each } = this;
    context.fillStyle = css("--body-text-color-subdued");
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    context.fillText("Token", margin + size / 2, 12);
    context.save();
    context.translate(12, margin + size / 2);
    context.rotate(-Math.PI / 2);
    context.fillText("Token", 0, 0);
    context.restore();
    if (!fits) return;
    context.font = "11px system-ui, sans-serif";
    for (let block = 0; block < this.side; block++) {
      const middle = margin + (block + 0.5) * each;
      const text = cut(this.run.tokens[this.first(block)]);
      context.textAlign = "right";
      context.fillText(text, margin - 4, middle + 4);
      context.save();
      context.translate(middle + 4, margin - 4);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(text, 0, 0);
      context.restore();
    }
  }

  // The chosen token's row and column, the hovered one's, and the cell under the pointer.
  #marks() {
    const { context, margin, size, each } = this;
    const whole = size + margin;
    context.clearRect(0, 0, whole, whole);
    context.drawImage(this.base, 0, 0, whole, whole);
    const thick = Math.max(each, 3);
    const frame = (block, color, width) => {
      if (block < 0) return;
      context.strokeStyle = color;
      context.lineWidth = width;
      const from = Math.min(size - thick, Math.max(0, (block + 0.5) * each - thick / 2));
      context.strokeRect(margin, margin + from, size, thick);
      context.strokeRect(margin + from, margin, thick, size);
    };
    frame(this.block(this.token), css("--viz-mark", this.canvas), 1.5);
    if (this.hovered !== null) frame(this.block(this.hovered), css("--body-text-color"), 1);
    if (!this.cell) return;
    const [x, y] = [margin + this.cell[1] * each, margin + this.cell[0] * each];
    context.strokeStyle = css("--viz-mark-key", this.canvas);
    context.lineWidth = 2;
    context.strokeRect(x, y, thick, thick);
  }

  #point(cell) {
    if (String(cell) === String(this.cell)) return;
    this.cell = cell;
    this.hover(cell ? this.first(cell[0]) : null);
    this.tell(cell ? this.sentence(...cell) : "");
    if (this.base) this.#marks();
  }

  sentence(row, column) {
    const value = this.values[row * this.side + column];
    const said = Number.isNaN(value) ? "not defined" : value.toFixed(4);
    const mean = this.pooled ? "mean cosine" : "cosine";
    return `${this.name(row)} and ${this.name(column)}: ${mean} ${said}`;
  }

  #at(event) {
    if (!this.base) return null;
    const page = this.canvas.getBoundingClientRect();
    const cell = [event.clientY - page.top, event.clientX - page.left].map((at) =>
      Math.floor((at - this.margin) / this.each),
    );
    return cell.every((at) => at >= 0 && at < this.side) ? cell : null;
  }

  #key(event) {
    const [row, column] = this.cell ?? Array(2).fill(Math.max(0, this.block(this.token)));
    if (event.key === "Enter" && this.cell) this.choose(this.first(row));
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#point([row + move[0], column + move[1]].map((at) => Math.max(0, Math.min(this.side - 1, at))));
  }
}

const cut = (name) => (name.length > LETTERS ? `${name.slice(0, LETTERS - 1)}…` : name);

// One pixel a cell.
function picture(values, side) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const colors = ramp();
  const packed = Uint32Array.from(
    values,
    (value) => colors[Number.isNaN(value) ? STEPS : Math.round(((value + 1) / 2) * (STEPS - 1))],
  );
  const pixels = new ImageData(new Uint8ClampedArray(packed.buffer), side, side);
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}
