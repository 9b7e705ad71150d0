// The picture under its weights: patches to point at, prefix tokens beside it and never in it.

import { count, css, el, fit, number } from "../core/dom.js";
import { strongestOf, tintGradient, tintOf } from "./shading.js";
import { Words } from "./token_strip.js";

const LARGEST = 420;
const SCALE_WIDTH = 70; // of the color scale beside the picture
const TICKS = 5;
const NARROW = 420; // pixels, below which the prefix stands above the picture and the scale below

export class Picture {
  // `preview` and `choose` are told units: the prefix tokens, and then the patches row by row.
  constructor({ preview, choose }) {
    Object.assign(this, { preview, choose, pointed: null });
    this.prefix = new Words({
      label: "Prefix tokens, which stand for no patch",
      preview,
      choose,
      beyond: () => this.canvas.focus(),
    });
    this.canvas = el("canvas", {
      class: "viz-picture",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "picture of patches",
      onclick: (event) => this.#at(event) !== null && choose(this.#at(event)),
      onpointermove: (event) => event.pointerType !== "touch" && preview(this.#at(event)),
      onpointerleave: (event) => event.pointerType !== "touch" && preview(null),
      onkeydown: (event) => this.#key(event),
    });
    this.bar = el("i", { class: "viz-tint-bar" });
    this.ticks = el("span", { class: "viz-tint-ticks" });
    this.scaleNode = el("div", { class: "viz-tint", role: "img" }, this.bar, this.ticks);
    this.beside = el("div", { class: "viz-prefix" }, el("span", { class: "viz-caption" }, "Prefix"), this.prefix.text);
    this.opacity = this.#slider("viz-opacity", "Opacity", 80, "%");
    this.keep = this.#slider("viz-keep", "Keep up to", 100, "% of the sum");
    this.unit = el("p", { class: "viz-caption viz-tint-unit" });
    this.kept = el("p", { class: "viz-caption viz-held", role: "status" });
    this.node = el(
      "div",
      {},
      el("div", { class: "viz-picture-stage" }, this.beside, this.canvas, this.scaleNode),
      this.unit,
      el("div", { class: "viz-picture-controls" }, this.opacity.node, this.keep.node),
      this.kept,
    );
  }

  show(run, image, units) {
    Object.assign(this, { run, image, units });
    this.first = units.findIndex(({ tokens }) => tokens[0] >= run.grid.prefix); // unit of the first patch
    this.beside.hidden = this.first === 0;
    this.prefix.show(units.slice(0, this.first), run.segments, 0);
    this.layout();
  }

  layout() {
    if (!this.run) return;
    const { rows, cols } = this.run.grid;
    this.narrow = this.node.clientWidth < NARROW;
    this.node.classList.toggle("viz-narrow", this.narrow);
    const besides = this.narrow ? 0 : SCALE_WIDTH + (this.first ? this.beside.offsetWidth + 12 : 0) + 16;
    const room = this.node.clientWidth - besides;
    this.patch = Math.max(3, Math.min(room / cols, LARGEST / cols, LARGEST / rows));
    [this.width, this.height] = [this.patch * cols, this.patch * rows];
    this.context = fit(this.canvas, this.width, this.height);
    this.scaleNode.style.height = this.narrow ? "auto" : `${Math.max(90, this.height)}px`;
    this.beside.style.maxHeight = this.narrow ? "none" : `${Math.max(120, this.height)}px`;
  }

  // Everything again from values: the prefix tokens by the scale of words, up to the largest of all;
  // the patches by a tint up to the largest patch. `titles` comes with a choice, and not while pointing.
  paint(values, scales, what, titles) {
    if (!values) return this.#blank();
    Object.assign(this, { values, scales, what });
    this.prefix.paint(values.subarray(0, this.first), scales.chips, titles);
    this.prefix.chips.forEach((chip, at) => {
      chip.dataset.number = number(values[at]);
    });
    const patches = values.subarray(this.first);
    const share = this.keep.input.value / 100;
    const found = strongestOf(patches, share, what.own);
    this.#tell(found, share);
    this.#drawScale();
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.imageSmoothingEnabled = false;
    if (this.image) this.context.drawImage(this.image, 0, 0, this.width, this.height);
    const tinted = overlay(
      patches,
      this.run.grid,
      scales.tints,
      this.opacity.input.value / 100,
      share < 1 ? found.kept : null,
    );
    this.context.drawImage(tinted, 0, 0, this.width, this.height);
    this.#outlines();
  }

  // The units of the chosen query and key, and the one under the pointer.
  mark(query, key, chosen) {
    Object.assign(this, { query, key });
    this.prefix.mark(chosen < this.first ? chosen : -1);
    this.canvas.setAttribute(
      "aria-label",
      `Picture of ${this.run.grid.rows} rows × ${this.run.grid.cols} columns of patches. Chosen: ${this.units[chosen]?.name ?? "none"}. Arrow keys choose a patch${this.first ? "; up from the first row are the prefix tokens" : ""}.`,
    );
    this.chosen = chosen;
  }

  point(unit) {
    this.pointed = unit;
    this.prefix.point(unit !== null && unit < this.first ? unit : null);
  }

  // The middle of a unit's patch on the screen, for tests and tools.
  box(unit) {
    const page = this.canvas.getBoundingClientRect();
    const [x, y, side] = this.#place(unit);
    return [page.left + x + side / 2, page.top + y + side / 2];
  }

  #blank() {
    this.values = null;
    this.prefix.paint(null, null, () => "");
    for (const chip of this.prefix.chips) delete chip.dataset.number;
    this.unit.textContent = "";
    this.context.clearRect(0, 0, this.width, this.height);
    if (this.image) this.context.drawImage(this.image, 0, 0, this.width, this.height);
    this.kept.textContent = "";
  }

  #place(unit) {
    const at = unit - this.first;
    return [(at % this.run.grid.cols) * this.patch, Math.floor(at / this.run.grid.cols) * this.patch, this.patch];
  }

  #outlines() {
    const stroke = ([x, y, side], color, width, from) => {
      this.context.strokeStyle = color;
      this.context.lineWidth = width;
      this.context.strokeRect(
        x + from + width / 2,
        y + from + width / 2,
        side - 2 * from - width,
        side - 2 * from - width,
      );
    };
    // Black around the color, so that it is seen on dark and on light pictures.
    const outline = (unit, color, width) => {
      if (unit === null || !(unit >= this.first)) return;
      stroke(this.#place(unit), "#000000", 1, 0);
      stroke(this.#place(unit), color, width, 1);
    };
    outline(this.key, css("--viz-mark-key", this.canvas), 2);
    outline(this.query, css("--viz-mark", this.canvas), 3);
    outline(this.pointed, "#ffffff", 2);
  }

  // How many patches are tinted, what they hold, and what lies on the prefix tokens.
  #tell({ count: many, held: sum, whole }, share) {
    const apart = this.what.own >= 0;
    const total = this.values.length - this.first - (apart ? 1 : 0);
    const prefix = this.values.subarray(0, this.first).reduce((sum, value) => sum + (value > 0 ? value : 0), 0);
    const own = apart ? ", its own part left aside" : "";
    const held =
      share < 1
        ? `The strongest ${count(many)} of ${count(total)} patches ${many === 1 ? "holds" : "hold"} ${percent(sum / whole)} of the ${this.what.sum} on patches${own}`
        : `All ${count(this.values.length - this.first)} patches are tinted`;
    const all = prefix + whole + (apart ? Math.max(0, this.values[this.first + this.what.own]) : 0);
    const beside = this.first
      ? ` The prefix tokens hold ${percent(prefix / all)} of the whole ${this.what.of}, and are not counted.`
      : "";
    this.kept.textContent = `${held}.${beside}`;
  }

  #drawScale() {
    const scale = this.scales.tints;
    const { top, unit } = this.what;
    const [along, across, from] = this.narrow ? ["right", "bottom", "left"] : ["top", "right", "bottom"];
    this.bar.style.backgroundImage = `${tintGradient(along, scale, this.opacity.input.value / 100)}, linear-gradient(to ${across}, #222222 50%, #dddddd 50%)`;
    this.unit.textContent = `Tint, beside it on dark and on light: ${number(scale.low)} to ${number(scale.high)}${top ? ` (${top})` : ""}, ${unit}.${this.first ? " Each prefix token has its own number." : ""}`;
    this.ticks.replaceChildren(
      ...Array.from({ length: TICKS }, (_, at) => {
        const share = at / (TICKS - 1);
        return el("span", { style: `${from}:${100 * share}%` }, short(scale.at(share)));
      }),
    );
    this.scaleNode.setAttribute(
      "aria-label",
      `Color scale from ${number(scale.low)} to ${number(scale.high)}, ${unit}`,
    );
  }

  #slider(id, label, value, unit) {
    const said = el("output", { for: id }, `${value} ${unit}`);
    const input = el("input", {
      type: "range",
      class: "viz-slider",
      id,
      min: 1,
      max: 100,
      value,
      oninput: () => {
        said.textContent = `${input.value} ${unit}`;
        if (this.values) this.paint(this.values, this.scales, this.what);
      },
    });
    return { input, node: el("label", { class: "viz-control" }, label, input, said) };
  }

  #at(event) {
    const { rows, cols } = this.run.grid;
    const page = this.canvas.getBoundingClientRect();
    const col = Math.floor((event.clientX - page.left) / this.patch);
    const row = Math.floor((event.clientY - page.top) / this.patch);
    return col >= 0 && row >= 0 && col < cols && row < rows ? this.first + row * cols + col : null;
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const to = moved(event.key, this.chosen - this.first, this.run.grid);
    if (to === null) return;
    event.preventDefault();
    if (to >= 0) this.choose(this.first + to);
    else if (this.first) this.prefix.focus(this.first - 1);
  }
}

// The patch that a key leads to: none leaves its row or column at an edge, but up from the first row
// gives -1. From outside the picture, where `at` is negative, every key leads to the first patch.
export function moved(key, at, { rows, cols }) {
  const [row, col] = [Math.floor(at / cols), at % cols];
  const to = {
    ArrowLeft: [row, col - 1],
    ArrowRight: [row, col + 1],
    ArrowUp: [row - 1, col],
    ArrowDown: [row + 1, col],
    Home: [row, 0],
    End: [row, cols - 1],
    PageUp: [0, col],
    PageDown: [rows - 1, col],
    Enter: [row, col],
    " ": [row, col],
  }[key];
  if (!to) return null;
  if (at < 0) return 0;
  const inside = (value, many) => Math.max(0, Math.min(many - 1, value));
  return to[0] < 0 ? -1 : inside(to[0], rows) * cols + inside(to[1], cols);
}

// One pixel a patch, as see-through as its value is small; those not kept are clear.
export function overlay(patches, grid, scale, opacity, kept = null) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [grid.cols, grid.rows];
  const pixels = new ImageData(grid.cols, grid.rows);
  patches.forEach((value, at) => {
    if (kept && !kept[at]) return;
    pixels.data.set(tintOf(value, scale, opacity), 4 * at);
  });
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

const percent = (share) => `${(100 * (share || 0)).toFixed(1)} %`;
const short = (value) => (value === 0 ? "0" : value >= 0.1 ? value.toFixed(2) : value.toPrecision(2));
