// The big map of one head: rows are queries, columns are keys; zoom to single cells with their value.

import { el, fit, number } from "../core/dom.js";
import { makeScale } from "../core/colors.js";
import { Legend } from "./legend.js";
import { Viewport } from "../core/viewport.js";
import { Gestures } from "./map_gestures.js";
import { drawLabels, labelRoom } from "../core/labels.js";
import { drawOver, drawTiles } from "./map_drawing.js";
import { Search } from "./token_search.js";
import { heading } from "./map_heading.js";
import { mapName } from "../core/selection.js";
import { Sight } from "./visible_weight.js";
import { SubWords } from "./subwords.js";
import { Tiles } from "./tiles.js";

const MAX_SIDE = 860;
const MIN_SIDE = 420;
const MAX_CELL = 60;
const RIGHT = 30; // room for the last key's tilted name
const READABLE = 20; // pixels a cell needs for its token's name to be read

export class AttentionMap {
  constructor(selection, say) {
    this.selection = selection;
    this.say = say;
    this.canvas = el("canvas", { class: "viz-map-canvas", tabindex: "0", role: "img" });
    this.over = el("canvas", { class: "viz-map-over", "aria-hidden": "true" });
    this.stage = el("div", { class: "viz-stage" }, this.canvas, this.over);
    this.title = el("h3", {});
    this.parts = new Tiles(this);
    this.legend = new Legend();
    this.sight = new Sight(this);
    this.subWords = new SubWords(this);
    this.search = new Search(this);
    this.node = el(
      "section",
      { class: "viz-map", "aria-label": "Map of one head" },
      el("div", { class: "viz-map-head" }, this.title, this.#zoomButtons()),
      this.search.node,
      this.stage,
      this.sight.node,
      this.legend.node,
      this.subWords.node,
    );
    this.gestures = new Gestures(this);
    selection.on((changed) => this.#changed(changed));
    new ResizeObserver(() => this.run && this.layout()).observe(this.node);
  }

  show(run) {
    this.run = run;
    this.#list();
    this.search.show();
    return this.load();
  }

  // Fetch what is in sight, and what its colors and its sums need.
  async load() {
    const { run, sight } = this;
    if (!(await this.parts.load())) return;
    if (sight.marked) sight.mark(sight.anchor, sight.end);
    await this.#share(run);
  }

  // A part has come. Another map of the same tokens needs no new room: to measure it would lay out
  // the whole page.
  arrived() {
    if (this.laid === this.shown) this.draw();
    else this.layout();
    this.tellSelected();
  }

  get tiles() {
    return this.parts.list;
  }

  layout() {
    const { run, view } = this;
    if (!run) return;
    this.laid = this.shown;
    const room = labelRoom(this.shown);
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
    const found = this.tiles[0];
    this.title.textContent = heading(this.selection, this.tiles);
    if (!found) return this.#drawOver();
    this.scale = this.#scale(found.most);
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.side, this.side);
    context.clip();
    drawTiles(this);
    context.restore();
    drawLabels(this);
    this.legend.draw(this.scale, found.masked, this.scale.name === "row" ? 1 : found.most);
    this.sight.draw();
    this.canvas.setAttribute(
      "aria-label",
      `${heading(this.selection, this.tiles)}. ${this.sight.seen.textContent} Arrow keys move the query and the key.`,
    );
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
    return [
      page.left + this.left + (col - this.view.col + 0.5) * cell,
      page.top + this.top + (row - this.view.row + 0.5) * cell,
    ];
  }

  hover(place) {
    this.hovered = place && place.map(Math.floor);
    this.#drawOver();
    if (this.hovered) this.tell(...this.hovered);
    else this.tellSelected();
  }

  choose([row, col]) {
    this.selection.set({ query: this.#token(row, "query"), key: this.#token(col, "key") });
  }

  // Mark a part of the map, from the chosen or the given cell on.
  mark(anchor, end) {
    this.sight.mark(anchor.map(Math.floor), end.map(Math.floor));
    this.#drawOver();
  }

  unmark() {
    this.sight.clear();
    this.#drawOver();
  }

  // Bring the chosen cell to the middle, large enough for names to be read.
  lookAt() {
    const [row, col] = this.chosen.map((place) => Math.max(0, place));
    this.view.center(row, col, this.side / READABLE);
    this.moved();
  }

  // The places of the chosen query and key among the shown tokens, -1 where they are hidden.
  get chosen() {
    return [this.shown.places[this.selection.query], this.shown.places[this.selection.key]];
  }

  moved() {
    this.draw();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.load().catch((fault) => this.say(fault.message)), 60);
  }

  sentence(row, col) {
    const { value, step } = this.parts.at(row, col);
    const name = (place) => `${numbers(this.shown[place].tokens)} “${this.shown[place].name}”`;
    const pair = `query ${name(row)} → key ${name(col)}`;
    const which = mapName(this.selection.layer, this.selection.head);
    if (step[0] * step[1] === 1) return `${which}  ${pair}: ${number(value)}`;
    if (Number.isNaN(value)) return `${which}  around ${pair}: masked, all ${step[0]} × ${step[1]} cells`;
    return `${which}  around ${pair}: at most ${number(value)} in ${step[0]} × ${step[1]} cells; zoom in for each`;
  }

  tell(row, col) {
    this.say(this.sentence(row, col));
    this.subWords.tell(row, col);
  }

  tellSelected() {
    const [row, col] = this.chosen;
    if (!this.tiles.length) return;
    if (row >= 0 && col >= 0) return this.tell(row, col);
    const [side, token] = row < 0 ? ["query", this.selection.query] : ["key", this.selection.key];
    this.say(`The chosen ${side} ${token} “${this.run.tokens[token]}” is hidden.`);
    this.subWords.clear();
  }

  #changed(changed) {
    if (!this.run) return;
    if (changed.has("hide") || changed.has("words")) this.#list(this.view);
    const reload = ["layer", "head", "hide", "renorm", "words", "scale"].some((name) => changed.has(name));
    if (changed.has("scale")) this.draw();
    if (reload) this.load().catch((fault) => this.say(fault.message));
    else {
      if (changed.has("query") || changed.has("key")) this.#reveal();
      this.draw();
      this.tellSelected();
    }
  }

  #reveal() {
    const [row, col] = this.chosen;
    if (row < 0 || col < 0) return;
    const before = [this.view.row, this.view.col].join();
    this.view.reveal(row, col);
    if ([this.view.row, this.view.col].join() !== before) this.moved();
  }

  // What stands along the sides. Where that alone changes, what was in the middle of the view stays.
  #list(before = null) {
    const middle =
      before?.zoomed &&
      [before.row, before.col].map((start) => this.shown[Math.floor(start + before.span / 2)].tokens[0]);
    this.shown = this.run.shown(this.selection);
    this.view = new Viewport(this.shown.length);
    const places = middle ? middle.map((token) => this.shown.places[token]) : [-1];
    if (Math.min(...places) >= 0) this.view.center(...places, before.span);
    this.sight.clear();
    this.subWords.node.hidden = !this.selection.words;
  }

  // A word's own token stays chosen when its cell is chosen again.
  #token(place, side) {
    const { tokens } = this.shown[Math.floor(place)];
    return tokens.includes(this.selection[side]) ? this.selection[side] : tokens[0];
  }

  // Colors shared by heads need the statistics of all of them, which come after the map.
  async #share(run) {
    const { scale, layer } = this.selection;
    if (!(scale === "layer" || scale === "all") || run.largest(scale, layer) !== null) return;
    const layers = scale === "all" ? Array.from({ length: run.nLayers }, (_, at) => at) : [layer];
    for (const each of layers) await run.statistics(each);
    if (this.run === run) this.draw();
  }

  #scale(most) {
    const { scale, layer } = this.selection;
    return makeScale(scale, scale === "row" ? 1 : most, this.run.largest(scale, layer));
  }

  #drawOver() {
    if (!this.overContext || !this.view.n) return;
    drawOver(this);
    if (this.hovered) drawLabels(this, this.hovered);
  }

  #zoomButtons() {
    const button = (text, label, act) =>
      el("button", { type: "button", class: "viz-small", "aria-label": label, title: label, onclick: act }, text);
    // Around the chosen cell where it is in sight, else around the middle.
    const center = () =>
      [this.view.row, this.view.col].map((start, axis) => {
        const at = this.chosen[axis] + 0.5;
        return at >= start && at <= start + this.view.span ? at : start + this.view.span / 2;
      });
    const zoom = (factor) => {
      this.view.zoom(factor, ...center());
      this.moved();
    };
    return el(
      "span",
      { class: "viz-zoom" },
      button("+", "Zoom in", () => zoom(0.5)),
      button("−", "Zoom out", () => zoom(2)),
      button("Fit", "Show the whole map", () => {
        this.view.fit();
        this.moved();
      }),
    );
  }
}

// A token's number, or the first and last of a word's.
const numbers = (tokens) => (tokens.length > 1 ? `${tokens[0]}–${tokens.at(-1)}` : String(tokens[0]));
