// The atlas: every layer and head at once, one small exact map each; click or arrows choose a head.

import { amount, css, el, fit } from "../core/dom.js";
import { byRow, largest, makeScale, picture, shrink, topsOf } from "../core/colors.js";
import { MAP_CHANGE, measure, STATISTICS } from "./head_statistics.js";
import { headFrom, headsOf, mapName } from "../core/selection.js";

const GAP = 2;
const LEFT = 34;
const TOP = 30;
const MAX_CELL = 64;
const LABEL = 12; // room for "3.5" under a cell, where the order is not by layer and head
const LABEL_FONT = "9px system-ui, sans-serif";

export class Atlas {
  // `expect` is told which head is being pressed, before the click that chooses it.
  constructor(selection, measures, order, expect) {
    Object.assign(this, { selection, measures, order, expect });
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.grid = el("div", {
      class: "viz-atlas-grid",
      role: "grid",
      "aria-label": "Layers and heads",
      "aria-multiselectable": "true",
    });
    this.caption = el("p", { class: "viz-caption viz-atlas-caption" });
    this.stage = el("div", { class: "viz-stage" }, this.canvas, this.grid);
    this.node = el(
      "section",
      { class: "viz-atlas", "aria-label": "Atlas of all heads" },
      el("h3", {}, "All layers and heads"),
      order.node,
      this.stage,
      this.caption,
    );
    this.grid.addEventListener("keydown", (event) => this.#key(event));
    this.grid.addEventListener("pointerdown", (event) => this.#press(event));
    this.grid.addEventListener("click", (event) => this.#click(event));
    this.grid.addEventListener("pointerleave", () => this.#tell(null));
    selection.on((changed) => {
      if (changed.has("scale")) this.draw();
      else if (changed.has("layer") || changed.has("head")) this.#mark();
    });
    order.on(() => this.run && this.cells && this.#arrange());
    new ResizeObserver(() => this.run && this.layout()).observe(this.node);
  }

  // A new run: empty cells hold the place, so that nothing below moves as layers come.
  enter(run) {
    this.run = run;
    this.heads = new Map();
    this.cells = null;
    this.measures.enter(run);
    this.#build();
  }

  // Each layer is painted as soon as the server has swept it, which sweeps the next meanwhile.
  async show(run) {
    let swept = sweep(run, 0);
    for (let layer = 0; layer < run.nLayers; layer++) {
      const [{ shape, values }, statistics] = await swept;
      if (this.run !== run) return;
      swept = sweep(run, layer + 1);
      const [n, height, width] = shape;
      for (let head = 0; head < n; head++) {
        const weights = values.subarray(head * height * width, (head + 1) * height * width);
        this.heads.set(`${layer}.${head}`, { weights, height, width, largest: largest(weights) });
      }
      this.draw(layer);
      this.measures.add(statistics);
      this.#tell(null);
    }
    if (this.selection.scale === "all") this.draw(); // the largest of all is known only now
    this.node.dataset.painted = run.key;
    this.#label();
  }

  layout() {
    const { nLayers, nHeads } = this.run;
    const room = this.node.clientWidth - LEFT - 4;
    const cell = Math.max(8, Math.min(MAX_CELL, Math.floor(room / nHeads)));
    const label = this.order.asked && cell >= this.#labelWidth() + 3 ? LABEL : 0;
    if (cell === this.cell && label === this.label && this.canvas.width > 1) return;
    Object.assign(this, { cell, label, pitch: cell + label });
    this.width = LEFT + nHeads * cell;
    this.height = TOP + nLayers * this.pitch;
    this.context = fit(this.canvas, this.width, this.height);
    Object.assign(this.grid.style, {
      left: `${LEFT}px`,
      top: `${TOP}px`,
      gridTemplateRows: `repeat(${nLayers}, ${this.pitch}px)`,
    });
    this.grid.style.setProperty("--viz-label", `${label}px`);
    for (const row of this.grid.children) row.style.gridTemplateColumns = `repeat(${nHeads}, ${cell}px)`;
    this.draw();
  }

  draw(only) {
    if (!this.run || !this.context) return;
    if (only === undefined) this.#axes();
    const all = only === undefined;
    for (const [at, { name, layer }] of this.places.entries())
      if (all || layer === only) this.#drawHead(name, layer, at);
  }

  #drawHead(name, layer, at) {
    const { context, cell } = this;
    const found = this.heads.get(name);
    const x = LEFT + (at % this.run.nHeads) * cell;
    const y = TOP + Math.floor(at / this.run.nHeads) * this.pitch;
    const side = cell - GAP;
    if (this.label) this.#write(name, x + side / 2, y + side + LABEL / 2 + 1, LABEL_FONT);
    if (!found) {
      context.fillStyle = css("--border-color-primary");
      context.fillRect(x, y, side, side);
      return;
    }
    const pixels = Math.max(1, Math.round(side * (window.devicePixelRatio || 1)));
    const small = shrink(found.weights, found.height, found.width, pixels, pixels);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#picture(small, found.largest, layer), x, y, side, side);
  }

  #picture({ values, height, width }, top, layer) {
    const { scale } = this.selection;
    if (scale === "row")
      return picture(byRow(values, width, topsOf(values, width)), height, width, makeScale(scale, 1));
    return picture(values, height, width, makeScale(scale, top, this.run.largest(scale, layer)));
  }

  // The axes: layers and heads, or ranks where the heads stand in the order of a statistic.
  #axes() {
    const { cell, pitch } = this;
    const { nLayers, nHeads } = this.run;
    const { ranked } = this.order;
    this.context.clearRect(0, 0, this.width, this.height);
    this.#write(ranked ? `By ${this.order.words} →` : "Head", LEFT + (nHeads * cell) / 2, ranked ? 18 : 8);
    const across = Math.ceil(16 / cell);
    for (let head = 0; head < nHeads && !ranked; head += across)
      this.#write(head, LEFT + head * cell + (cell - GAP) / 2, 22);
    const down = Math.ceil(16 / pitch);
    for (let row = 0; row < nLayers; row += down)
      this.#write(ranked ? row * nHeads + 1 : row, LEFT - 11, TOP + row * pitch + (cell - GAP) / 2);
    this.context.save();
    this.context.translate(6, TOP + (nLayers * pitch) / 2);
    this.context.rotate(-Math.PI / 2);
    this.#write(ranked ? "Rank" : "Layer", 0, 0);
    this.context.restore();
  }

  #write(text, x, y, font = "11px system-ui, sans-serif") {
    Object.assign(this.context, {
      fillStyle: css("--body-text-color-subdued"),
      font,
      textAlign: "center",
      textBaseline: "middle",
    });
    this.context.fillText(text, x, y);
  }

  #labelWidth() {
    const context = this.canvas.getContext("2d");
    context.font = LABEL_FONT;
    return context.measureText(`${this.run.nLayers - 1}.${this.run.nHeads - 1}`).width;
  }

  #build() {
    const { nLayers, nHeads } = this.run;
    const names = Array.from({ length: nLayers * nHeads }, (_, at) => `${Math.floor(at / nHeads)}.${at % nHeads}`);
    this.cells = new Map(names.map((name) => [name, this.#cell(name)]));
    this.grid.replaceChildren(
      ...Array.from({ length: nLayers }, () => el("div", { role: "row", class: "viz-atlas-row" })),
    );
    Object.assign(this, { cell: 0, standing: null, matched: null, marked: [] });
    this.#arrange();
    this.#mark();
  }

  #cell(name) {
    return el("div", {
      role: "gridcell",
      class: "viz-atlas-cell",
      tabindex: "-1",
      "aria-selected": "false",
      "aria-label": this.measures.sentence(name),
      "data-head": name,
      onpointerenter: () => this.#tell(name),
      onfocus: () => this.#tell(name),
    });
  }

  // Put the cells where the order has them, and dim those that a search leaves out.
  #arrange() {
    const { nHeads } = this.run;
    const places = this.order.heads();
    const standing = `${places.map(({ name }) => name)} ${this.order.ranked && this.order.words}`;
    this.places = places;
    if (standing !== this.standing) {
      const focused = document.activeElement;
      this.standing = standing;
      this.at = new Map(places.map(({ name }, at) => [name, at]));
      for (const [row, node] of [...this.grid.children].entries()) {
        node.replaceChildren(...places.slice(row * nHeads, (row + 1) * nHeads).map(({ name }) => this.cells.get(name)));
      }
      if (focused !== document.activeElement && this.grid.contains(focused)) focused.focus({ preventScroll: true });
      this.#label();
      this.cell = 0;
    }
    this.layout();
    const { matched } = this.order;
    if (matched !== this.matched)
      for (const [name, cell] of this.cells) cell.classList.toggle("viz-out", matched !== null && !matched.has(name));
    this.matched = matched;
    this.#tell(null);
  }

  #mark() {
    if (!this.cells) return;
    const { layer, head } = this.selection;
    const heads = headsOf(head);
    for (const cell of this.marked) {
      cell.setAttribute("aria-selected", "false");
      cell.tabIndex = -1;
    }
    this.marked = (heads.length ? heads : [...Array(this.run.nHeads).keys()])
      .map((one) => this.cells.get(`${layer}.${one}`))
      .filter(Boolean);
    for (const cell of this.marked) cell.setAttribute("aria-selected", "true");
    if (this.marked.length) this.marked[0].tabIndex = 0;
    this.#tell(null);
  }

  // A finger that goes down may be about to scroll.
  #press({ target, pointerType, ctrlKey, metaKey }) {
    const { head: name } = target.dataset;
    if (name && pointerType !== "touch" && !ctrlKey && !metaKey) this.expect(...name.split(".").map(Number));
  }

  #click(event) {
    const name = event.target.dataset.head;
    if (!name) return;
    if (event.ctrlKey || event.metaKey) this.#toggle(name);
    else this.#select(name);
  }

  #select(name) {
    const [layer, head] = name.split(".").map(Number);
    this.selection.set({ layer, head });
  }

  // Add a head to the set of its layer, or take it out; the last one stays.
  #toggle(name) {
    const [layer, head] = name.split(".").map(Number);
    const before = this.selection.layer === layer ? headsOf(this.selection.head) : [];
    const heads = before.includes(head) ? before.filter((one) => one !== head) : [...before, head];
    if (heads.length) this.selection.set({ layer, head: headFrom(heads) });
  }

  // Arrows select as they move; with Shift or Ctrl they only move, so that a set can be chosen.
  #key(event) {
    const name = event.target.dataset.head;
    if (!name) return;
    const modified = event.shiftKey || event.ctrlKey || event.metaKey;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return; // runs the form
    const at =
      event.key === "Enter" || event.key === " " ? this.at.get(name) : this.#moved(event.key, this.at.get(name));
    if (at === undefined) return;
    event.preventDefault();
    const to = this.places[at].name;
    if (to === name && event.shiftKey && (event.key === "Enter" || event.key === " ")) this.#toggle(name);
    else if (!modified) this.#select(to);
    this.cells.get(to).focus({ preventScroll: true });
  }

  // Where a key leads; a row ends where its layer does, but ranks go on in the next.
  #moved(key, at) {
    const { nHeads } = this.run;
    const last = this.places.length - 1;
    const [start, column] = [at - (at % nHeads), at % nHeads];
    const [left, right] = this.order.ranked ? [0, last] : [start, start + nHeads - 1];
    return {
      ArrowUp: at < nHeads ? at : at - nHeads,
      ArrowDown: at + nHeads > last ? at : at + nHeads,
      ArrowLeft: Math.max(left, at - 1),
      ArrowRight: Math.min(right, at + 1),
      Home: start,
      End: start + nHeads - 1,
      PageUp: column,
      PageDown: last - (nHeads - 1) + column,
    }[key];
  }

  #label() {
    for (const [name, cell] of this.cells) cell.setAttribute("aria-label", this.#sentence(name));
  }

  #tell(name) {
    if (!this.run || !this.at) return;
    const { layers } = this.measures;
    const waiting = !name && layers.length < this.run.nLayers;
    this.caption.textContent = waiting
      ? `Computing all heads: layer ${layers.length} of ${this.run.nLayers} …`
      : this.#sentence(name ?? this.selection.name);
  }

  // What is known of a head, its rank first; of several heads, which they are.
  #sentence(name) {
    if (!this.at.has(name)) return mapName(this.selection.layer, this.selection.head).replace("l", "L");
    const said = this.measures.sentence(name);
    if (!this.order.ranked) return said;
    const at = this.at.get(name);
    const { statistic } = this.order;
    const { title, unit } = measure(statistic);
    const value =
      statistic in STATISTICS || statistic === MAP_CHANGE
        ? ""
        : ` · ${title.toLowerCase()} ${amount(this.places[at].value, 3)} ${unit}`;
    return `${said}${value} · number ${at + 1} of ${this.places.length}`;
  }
}

// A layer's maps and statistics; a fault is told to who waits for them.
function sweep(run, layer) {
  const swept = layer < run.nLayers ? Promise.all([run.thumbnails(layer), run.statistics(layer)]) : Promise.resolve();
  swept.catch(() => {});
  return swept;
}
