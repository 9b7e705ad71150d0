// The big map of one head: rows are queries, columns are keys; zoom to single cells with their value.

import { el, fit, css, number } from "./dom.js";
import { inkOn, largest, makeScale, picture, shade } from "./colors.js";
import { Legend } from "./legend.js";
import { Viewport } from "./viewport.js";
import { Gestures } from "./gestures.js";
import { drawLabels, labelRoom } from "./labels.js";

const MAX_SIDE = 860;
const MIN_SIDE = 420;
const MAX_CELL = 60;
const RIGHT = 30; // room for the last key's tilted name
const WHOLE = 512; // up to so many tokens a whole map comes in one exact piece
const PRINTED = 34; // cells at least so wide show their value

export class AttentionMap {
  constructor(selection, say) {
    this.selection = selection;
    this.say = say;
    this.canvas = el("canvas", { class: "viz-map-canvas", tabindex: "0", role: "img" });
    this.over = el("canvas", { class: "viz-map-over", "aria-hidden": "true" });
    this.stage = el("div", { class: "viz-stage" }, this.canvas, this.over);
    this.title = el("h3", {});
    this.legend = new Legend();
    this.node = el("section", { class: "viz-map", "aria-label": "Map of one head" },
      el("div", { class: "viz-map-head" }, this.title, this.#zoomButtons()), this.stage, this.legend.node);
    this.gestures = new Gestures(this);
    selection.on((changed) => this.#changed(changed));
    new ResizeObserver(() => this.run && this.layout()).observe(this.node);
  }

  show(run) {
    this.run = run;
    this.#list();
    return this.load();
  }

  // Fetch what is in sight: the whole map when small, else coarse at first and then exact.
  async load() {
    const { run, selection, view } = this;
    const asked = `${run.key}:${selection.name}:${selection.hide}`;
    if (this.asked !== asked) this.tiles = [];
    this.asked = asked;
    if (!view.n) return this.layout();
    const whole = [0, view.n];
    if (!this.tiles.length) await this.#fetch(asked, whole, whole);
    if (view.n > WHOLE && view.zoomed) await this.#fetch(asked, ...this.#wanted());
    if (this.asked === asked) this.node.dataset.painted = asked;
  }

  layout() {
    const { run, view } = this;
    if (!run) return;
    const room = labelRoom(run, this.index);
    const width = Math.max(120, this.node.clientWidth - 2);
    const left = Math.min(room.left, Math.floor(width * 0.34));
    const tall = Math.max(MIN_SIDE, window.innerHeight - room.top - 150);
    this.side = Math.max(60, Math.min(MAX_SIDE, tall, width - left - RIGHT, MAX_CELL * Math.max(1, view.n)));
    Object.assign(this, { left, top: room.top, width: left + this.side + RIGHT, height: room.top + this.side + 4 });
    this.context = fit(this.canvas, this.width, this.height);
    this.overContext = fit(this.over, this.width, this.height);
    this.draw();
  }

  draw() {
    const { context, view, selection } = this;
    if (!context) return;
    context.clearRect(0, 0, this.width, this.height);
    const found = this.tiles?.[0];
    this.title.textContent = this.#heading();
    if (!found) return this.#drawOver();
    this.scale = makeScale(selection.scale, largest(found.values));
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.side, this.side);
    context.clip();
    context.imageSmoothingEnabled = false;
    for (const tile of this.tiles) this.#drawTile(tile);
    this.#printValues();
    context.restore();
    drawLabels(this);
    this.legend.draw(this.scale, found.values.some(Number.isNaN));
    this.canvas.setAttribute("aria-label", `${this.#heading()}. Arrow keys move the query and the key.`);
    this.canvas.style.touchAction = view.zoomed ? "none" : "pan-y";
    this.#drawOver();
  }

  // The place of a pixel as [row, column] among the shown tokens, or null outside the map.
  place(x, y) {
    const row = this.view.row + ((y - this.top) / this.side) * this.view.span;
    const col = this.view.col + ((x - this.left) / this.side) * this.view.span;
    const inside = x >= this.left && y >= this.top && x < this.left + this.side && y < this.top + this.side;
    return inside && row < this.view.n && col < this.view.n ? [row, col] : null;
  }

  // The middle of a cell on the screen, for tests and tools.
  box(row, col) {
    const cell = this.side / this.view.span;
    const page = this.canvas.getBoundingClientRect();
    return [page.left + this.left + (col - this.view.col + 0.5) * cell, page.top + this.top + (row - this.view.row + 0.5) * cell];
  }

  hover(place) {
    this.hovered = place && place.map(Math.floor);
    this.#drawOver();
    if (this.hovered) this.say(this.sentence(...this.hovered));
    else this.tellSelected();
  }

  choose([row, col]) {
    this.selection.set({ query: this.index[Math.floor(row)], key: this.index[Math.floor(col)] });
  }

  moved() {
    this.draw();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.load().catch((fault) => this.say(fault.message)), 60);
  }

  // The weight of a cell if an exact piece holds it, else the pooled one, with how many it stands for.
  weight(row, col) {
    for (let i = this.tiles.length - 1; i >= 0; i--) {
      const { rows, keys, step, shape, values } = this.tiles[i];
      if (row < rows[0] || row >= rows[1] || col < keys[0] || col >= keys[1]) continue;
      const at = Math.floor((row - rows[0]) / step[0]) * shape[1] + Math.floor((col - keys[0]) / step[1]);
      return { value: values[at], step };
    }
    return { value: NaN, step: [1, 1] };
  }

  sentence(row, col) {
    const { value, step } = this.weight(row, col);
    const [query, key] = [this.index[row], this.index[col]];
    const pair = `query ${query} “${this.run.tokens[query]}” → key ${key} “${this.run.tokens[key]}”`;
    if (step[0] * step[1] === 1) return `${this.selection.name}  ${pair}: ${number(value)}`;
    return `${this.selection.name}  around ${pair}: at most ${number(value)} in ${step[0]} × ${step[1]} cells; zoom in for each`;
  }

  tellSelected() {
    const { query, key } = this.selection;
    const [row, col] = [this.index.indexOf(query), this.index.indexOf(key)];
    if (row >= 0 && col >= 0 && this.tiles.length) this.say(this.sentence(row, col));
  }

  #changed(changed) {
    if (!this.run) return;
    if (changed.has("hide")) this.#list();
    const reload = ["layer", "head", "hide"].some((name) => changed.has(name));
    if (reload) this.load().catch((fault) => this.say(fault.message));
    else {
      if (changed.has("query") || changed.has("key")) this.#reveal();
      this.draw();
      this.tellSelected();
    }
  }

  #reveal() {
    const [row, col] = [this.index.indexOf(this.selection.query), this.index.indexOf(this.selection.key)];
    if (row < 0 || col < 0) return;
    const before = [this.view.row, this.view.col].join();
    this.view.reveal(row, col);
    if ([this.view.row, this.view.col].join() !== before) this.moved();
  }

  #list() {
    this.index = this.run.visible(this.selection.hide);
    this.view = new Viewport(this.index.length);
  }

  async #fetch(asked, rows, keys) {
    const known = this.tiles.find((tile) => tile.rows.join() === rows.join() && tile.keys.join() === keys.join());
    if (known) return;
    const tile = await this.run.map(this.selection, rows, keys);
    if (this.asked !== asked) return;
    this.tiles = [this.tiles[0] ?? { ...tile, rows, keys }, ...(this.tiles.length ? [{ ...tile, rows, keys }] : [])];
    if (this.tiles.length === 1) this.layout();
    else this.draw();
    this.tellSelected();
  }

  // A window around what is seen, so that small moves need nothing new.
  #wanted() {
    return this.view.cells().map(([start, stop]) => {
      const room = Math.max(0, Math.floor((WHOLE - (stop - start)) / 2));
      return [Math.max(0, start - room), Math.min(this.view.n, stop + room)];
    });
  }

  #drawTile(tile) {
    const [height, width] = tile.shape;
    if (tile.painted !== this.scale.name + this.scale.high + css("--body-text-color")) {
      tile.picture = picture(tile.values, height, width, this.scale);
      tile.painted = this.scale.name + this.scale.high + css("--body-text-color");
    }
    const cell = this.side / this.view.span;
    this.context.drawImage(tile.picture,
      this.left + (tile.keys[0] - this.view.col) * cell, this.top + (tile.rows[0] - this.view.row) * cell,
      width * tile.step[1] * cell, height * tile.step[0] * cell);
  }

  #printValues() {
    const { context, view } = this;
    const cell = this.side / view.span;
    if (cell < PRINTED) return;
    context.font = "11px ui-monospace, monospace";
    context.textAlign = "center";
    context.textBaseline = "middle";
    const [rows, cols] = view.cells();
    for (let row = rows[0]; row < rows[1]; row++) {
      for (let col = cols[0]; col < cols[1]; col++) {
        const { value, step } = this.weight(row, col);
        if (step[0] * step[1] > 1 || Number.isNaN(value)) continue;
        context.fillStyle = inkOn(shade(value, this.scale));
        const text = value >= 0.995 ? "1.0" : value.toFixed(2).slice(1);
        context.fillText(text, this.left + (col - view.col + 0.5) * cell, this.top + (row - view.row + 0.5) * cell);
      }
    }
  }

  // The selected query's row and key's column, and the cell under the pointer.
  #drawOver() {
    const context = this.overContext;
    if (!context || !this.view.n) return;
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(this.left - 1, this.top - 1, this.side + 2, this.side + 2);
    context.clip();
    const cell = this.side / this.view.span;
    const band = (row, col, style, width) => {
      context.strokeStyle = style;
      context.lineWidth = width;
      const thick = Math.max(cell, 3);
      if (row >= 0) context.strokeRect(this.left, this.top + (row - this.view.row) * cell, this.side, thick);
      if (col >= 0) context.strokeRect(this.left + (col - this.view.col) * cell, this.top, thick, this.side);
    };
    band(this.index.indexOf(this.selection.query), -1, css("--viz-mark", this.node), 2);
    band(-1, this.index.indexOf(this.selection.key), css("--viz-mark-key", this.node), 1);
    if (this.hovered) band(...this.hovered, css("--body-text-color-subdued"), 1);
    context.restore();
    if (this.hovered) drawLabels(this, this.hovered);
  }

  #heading() {
    const { layer, head, hide } = this.selection;
    const which = typeof head === "number" ? `head ${head} (${layer}.${head})` : `${head} over all heads`;
    const hidden = hide ? ", special tokens hidden, weights not renormalized" : "";
    const step = this.tiles?.at(-1)?.step ?? [1, 1];
    const pooled = step[0] * step[1] > 1 ? `; each cell is the largest of ${step[0]} × ${step[1]}, zoom in for each` : "";
    return `Layer ${layer}, ${which}${hidden}${pooled}`;
  }

  #zoomButtons() {
    const button = (text, label, act) => el("button", { type: "button", class: "viz-small", "aria-label": label, title: label, onclick: act }, text);
    // Around the chosen cell where it is in sight, else around the middle.
    const center = () => [[this.selection.query, this.view.row], [this.selection.key, this.view.col]].map(([token, start]) => {
      const at = this.index.indexOf(token) + 0.5;
      return at >= start && at <= start + this.view.span ? at : start + this.view.span / 2;
    });
    const zoom = (factor) => { this.view.zoom(factor, ...center()); this.moved(); };
    return el("span", { class: "viz-zoom" },
      button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
      button("Fit", "Show the whole map", () => { this.view.fit(); this.moved(); }));
  }
}
