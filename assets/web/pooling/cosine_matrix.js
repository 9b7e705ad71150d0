// Cosines of all items of a set as a square: ordered by label, then as they were given.

import { css, el, fit } from "../core/dom.js";
import { makeScale, rgbText, shade, theme } from "../core/colors.js";
import { cut, fixed, signedScale } from "./results.js";
import { signedColors } from "../core/signed_colors.js";

const [LARGEST, NAMES, STRIP, AXIS, LETTERS] = [520, 76, 8, 18, 11];
export const HUES = ["#4269d0", "#d08b00", "#e0503f", "#2a9d8f", "#8a5cc2", "#5c8a2f", "#c2578f", "#7a6a58"]; // of labels; repeated after eight

// The items of a set by label, then by number; and each label's range in that order.
function ordered(labels, n) {
  const order = Array.from({ length: n }, (_, item) => item);
  const names = [...new Set(labels)].sort((a, b) => a.localeCompare(b));
  order.sort((a, b) => names.indexOf(labels[a]) - names.indexOf(labels[b]) || a - b);
  const groups = names.map((name) => ({
    name,
    from: order.findIndex((item) => labels[item] === name),
    to: order.findLastIndex((item) => labels[item] === name) + 1,
  }));
  return { order, groups };
}

export class ItemMatrix {
  constructor({ choose }) {
    Object.assign(this, { choose, cell: null });
    this.title = el("h3", {});
    this.range = el(
      "select",
      { id: "viz-set-range", onchange: () => this.draw() },
      el("option", { value: "signed" }, "−1 … 1"),
      el("option", { value: "positive" }, "0 … 1"),
      el("option", { value: "own" }, "smallest … 1"),
    );
    this.canvas = el("canvas", {
      class: "viz-set-matrix",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "matrix of items",
      onpointermove: (event) => this.#point(this.#at(event)),
      onpointerleave: () => this.#point(null),
      onblur: () => this.#point(null),
      onclick: (event) => {
        const cell = this.#at(event);
        if (cell) choose(this.order[cell[0]]);
      },
      onkeydown: (event) => this.#key(event),
    });
    this.scale = el("p", { class: "viz-caption viz-stat-scale" });
    this.told = el("p", { class: "viz-readout", role: "status" });
    this.node = el(
      "section",
      { class: "viz-set-cosines", "aria-label": "Cosine of every two items" },
      this.title,
      this.canvas,
      this.told,
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "Scale", this.range), this.scale),
    );
    new ResizeObserver(
      () => this.values && this.node.clientWidth !== this.room && requestAnimationFrame(() => this.draw()),
    ).observe(this.node);
  }

  show(set, { values, side }, title, item) {
    if (this.set !== set) Object.assign(this, ordered(set.labels, side), { cell: null });
    Object.assign(this, { set, values, side, item });
    this.title.textContent = `Cosine of every two items: ${title}`;
    this.told.textContent = HINT;
    this.draw();
  }

  mark(item) {
    this.item = item;
    if (this.base) this.#marks();
  }

  draw() {
    this.room = this.node.clientWidth;
    if (!this.room || !this.values) return;
    this.margin = AXIS + STRIP + (this.set.labels.length ? NAMES : 0);
    this.top = AXIS + STRIP + 4;
    this.size = Math.min(LARGEST, this.room - this.margin - 2);
    this.each = this.size / this.side;
    const [width, height] = [this.margin + this.size + 2, this.top + this.size + 2];
    this.context = fit(this.canvas, width, height);
    this.base = document.createElement("canvas");
    const context = fit(this.base, width, height);
    context.imageSmoothingEnabled = this.each < 1;
    context.drawImage(this.#cells(), this.margin, this.top, this.size, this.size);
    this.#write(context);
    this.canvas.setAttribute(
      "aria-label",
      `Cosine of ${this.side} × ${this.side} items, ordered by label. Arrow keys walk through the cells, Enter lists the row's neighbors.`,
    );
    this.canvas.dataset.box = JSON.stringify([this.margin, this.top, this.each]); // where cells are, for tests and tools
    this.#legend();
    this.#marks();
  }

  value(row, column) {
    return this.values[this.order[row] * this.side + this.order[column]];
  }

  get signed() {
    return this.range.value === "signed";
  }

  // Where the colors begin, unless they are signed.
  get low() {
    return this.range.value === "own" ? this.values.reduce((least, value) => (value < least ? value : least), 1) : 0;
  }

  #cells() {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = this.side;
    const pixels = new ImageData(this.side, this.side);
    const [scale, low, color, colors, { signed }] = [makeScale("shared", 1), this.low, signedColors(), theme(), this]; // asked once: a set may have millions of cells
    const share = (value) => Math.max(0, (value - low) / Math.max(1e-9, 1 - low));
    for (let row = 0; row < this.side; row++) {
      for (let column = 0; column < this.side; column++) {
        const value = this.value(row, column);
        const shown = signed || Number.isNaN(value) ? color(value) : shade(share(value), scale, colors);
        pixels.data.set([...shown, 255], 4 * (row * this.side + column));
      }
    }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    return canvas;
  }

  #legend() {
    if (this.signed) return this.scale.replaceChildren(...signedScale("−1", "1", "cosine (no unit)"));
    const stops = [0, 64, 128, 192, 255].map((step) => rgbText(theme().ramp[step])).join(", ");
    const start = this.range.value === "own" ? `${fixed(this.low)} ` : "0 or less ";
    this.scale.replaceChildren(
      start,
      el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` }),
      " 1, cosine (no unit)",
    );
  }

  // Axis titles, a strip of the labels' colors on both sides, and their names on the left.
  #write(context) {
    const { margin, top, size, each } = this;
    context.fillStyle = css("--body-text-color-subdued");
    context.font = "12px system-ui, sans-serif";
    context.textAlign = "center";
    const by = this.groups.length ? "Item, by label" : "Item, as given";
    context.fillText(by, margin + size / 2, 12);
    context.save();
    context.translate(12, top + size / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(by, 0, 0);
    context.restore();
    let free = 0; // where the last name ended
    this.groups.forEach(({ name, from, to }, number) => {
      context.fillStyle = HUES[number % HUES.length];
      context.fillRect(margin - STRIP - 2, top + from * each + 0.5, STRIP, (to - from) * each - 1);
      context.fillRect(margin + from * each + 0.5, top - STRIP - 2, (to - from) * each - 1, STRIP);
      const middle = top + ((from + to) / 2) * each;
      if (middle - 6 < free) return;
      free = middle + 6;
      context.fillStyle = css("--body-text-color");
      context.textAlign = "right";
      context.fillText(cut(name, LETTERS), margin - STRIP - 6, middle + 4);
    });
  }

  // The chosen item's row and column, and the cell under the pointer.
  #marks() {
    const { context, margin, top, size, each } = this;
    const [width, height] = [margin + size + 2, top + size + 2];
    context.clearRect(0, 0, width, height);
    context.drawImage(this.base, 0, 0, width, height);
    const thick = Math.max(each, 3);
    const place = this.item == null ? -1 : this.order.indexOf(this.item);
    context.strokeStyle = css("--viz-mark", this.canvas);
    context.lineWidth = 1.5;
    if (place >= 0) {
      context.strokeRect(margin, top + (place + 0.5) * each - thick / 2, size, thick);
      context.strokeRect(margin + (place + 0.5) * each - thick / 2, top, thick, size);
    }
    if (!this.cell) return;
    context.strokeStyle = css("--viz-mark-key", this.canvas);
    context.lineWidth = 2;
    context.strokeRect(margin + this.cell[1] * each, top + this.cell[0] * each, thick, thick);
  }

  #point(cell) {
    if (String(cell) === String(this.cell) || !this.base) return;
    this.cell = cell;
    this.told.textContent = cell ? this.sentence(...cell) : HINT;
    this.#marks();
  }

  sentence(row, column) {
    const value = this.value(row, column);
    const said = Number.isNaN(value) ? "not defined (a vector of zeros)" : fixed(value, 6);
    return `Cosine ${said}: ${this.name(this.order[row])} and ${this.name(this.order[column])}`;
  }

  name(item) {
    const label = this.set.labels[item];
    return `${item} “${cut(this.set.names[item], 90)}”${label ? ` (${label})` : ""}`;
  }

  #at(event) {
    if (!this.base) return null;
    const page = this.canvas.getBoundingClientRect();
    const cell = [event.clientY - page.top - this.top, event.clientX - page.left - this.margin].map((at) =>
      Math.floor(at / this.each),
    );
    return cell.every((at) => at >= 0 && at < this.side) ? cell : null;
  }

  #key(event) {
    const [row, column] = this.cell ?? [0, 0];
    if (event.key === "Enter" && this.cell) this.choose(this.order[row]);
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#point(
      this.cell ? [row + move[0], column + move[1]].map((at) => Math.max(0, Math.min(this.side - 1, at))) : [0, 0],
    );
  }
}

const HINT = "Point at a cell for its cosine; click it for the nearest neighbors of its row's item.";
