// An exported page: its atlas, its map, and what moves them; every number is in the file itself.

import { anyMasked, byRow, makeScale, picture, rgbText, shrink, theme, topsOf } from "../core/colors.js";
import { css, el, fit, query } from "../core/dom.js";
import { drawLabels, labelRoom } from "../core/labels.js";
import { Viewport } from "../core/viewport.js";
import { digits, plain, readMaps, unpack } from "./maps.js";

/** @import { PageFacts } from "../core/payloads.d.ts" */
/** @import { KeptMap } from "./maps.js" */

const [MIN_CELL, MAX_CELL, THUMBNAIL, LEGEND] = [2, 40, 64, 230];
const HINT = "Point at a cell to read its weight.";
/** @type {Record<string, [layers: number, heads: number]>} */
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @type {<Kind extends HTMLElement = HTMLElement>(id: string) => Kind} */
const at = (id) => query(document, `#${id}`);
const inside = (/** @type {number} */ place, /** @type {unknown[]} */ all) =>
  Math.max(0, Math.min(all.length - 1, place));

class Page {
  /** @type {HTMLCanvasElement} */
  canvas = at("map");
  context = fit(this.canvas, 1, 1);
  overContext = this.context;
  left = 0;
  top = 0;
  cell = 0;
  side = 0;
  view = new Viewport(1);
  values = /** @type {Float32Array} */ (new Float32Array());
  picture = this.canvas;
  /** @type {{ name: string }[]} */
  shown = [];
  /** @type {{ name: string }[]} */
  columns = [];
  /** @type {number[]} */
  chosen = [];
  /** @type {[row: number, col: number] | null} */
  pointed = null;

  /** @param {PageFacts} facts @param {{ layers: KeptMap[][], chosen: KeptMap }} maps */
  constructor(facts, { layers, chosen }) {
    this.facts = facts;
    this.layers = layers;
    this.exact = this.map = chosen;
    this.#tell();
    this.redraw();
    at("back").addEventListener("click", () => this.show(chosen));
    for (const moved of /** @type {const} */ (["pointermove", "pointerdown"])) {
      this.canvas.addEventListener(moved, (event) => this.#point(event));
    }
    addEventListener("keydown", (event) => this.#move(event));
    addEventListener("resize", () => this.#layout());
    dark.addEventListener("change", () => this.redraw());
  }

  // All anew, in the colors of the system's scheme.
  redraw() {
    document.documentElement.classList.toggle("dark", dark.matches);
    this.#drawAtlas();
    this.show(this.map);
  }

  show(/** @type {KeptMap} */ map) {
    const { layer, head, name, query } = map.about;
    this.map = map;
    this.values = map.values();
    this.picture = this.#picture(map, this.values);
    this.view = new Viewport(Math.max(map.rows, map.cols));
    this.pointed = null;
    this.chosen = [query == null ? -1 : Math.floor(query / map.steps[0]), -1];
    [this.shown, this.columns] = [map.rows, map.cols].map((cells, axis) =>
      Array.from({ length: cells }, (_, at) => ({ name: map.label(axis ? 1 : 0, at, false) })),
    );
    const title = head === null ? name : `layer ${layer}, head ${head}`;
    at("name").textContent = title[0].toUpperCase() + title.slice(1);
    at("kept").textContent = map.kept;
    at("back").hidden = map === this.exact;
    at("readout").textContent = HINT;
    this.canvas.setAttribute("aria-label", `Attention ${name}: rows are queries, columns are keys`);
    for (const button of at("atlas").querySelectorAll("button")) {
      const same = button.dataset.name === `${layer}.${head}`;
      button.setAttribute("aria-pressed", String(same));
      button.tabIndex = same || (head === null && button.dataset.name === "0.0") ? 0 : -1;
    }
    this.#layout();
    this.#drawLegend();
  }

  #tell() {
    const { facts } = this;
    const entries = Object.entries(facts.facts);
    at("facts").append(
      ...entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, plain(value)))),
    );
    at("colors").textContent = `Colors are ${facts.scale.says}.`;
    at("proof").textContent = facts.proof;
    at("proof").classList.toggle("passed", facts.passed);
    at("notes").append(...facts.notes.map((note) => el("li", {}, plain(note))));
    at("back").textContent = `Back to ${facts.chosen.name}, exact`;
    at("code").hidden = !facts.snippet;
    query(at("code"), "pre").textContent = facts.snippet;
  }

  #drawAtlas() {
    const heads = Array.from({ length: Math.max(...this.layers.map(({ length }) => length)) }, (_, head) => head);
    at("atlas").style.gridTemplateColumns = `auto repeat(${heads.length}, 46px)`;
    at("atlas").replaceChildren(
      el("span"),
      ...heads.map((head) => el("span", {}, String(head))),
      ...this.layers.flatMap((maps, layer) => [
        el("span", {}, String(layer)),
        ...heads.map((head) => (maps[head] ? this.#thumbnail(maps[head], layer, head) : el("span"))),
      ]),
    );
  }

  /** @type {(map: KeptMap, layer: number, head: number) => HTMLButtonElement} */
  #thumbnail(map, layer, head) {
    const named = { "aria-label": `Layer ${layer}, head ${head}`, "data-name": `${layer}.${head}`, tabindex: -1 };
    const onclick = () => this.show(map);
    return el("button", { ...named, onclick }, this.#picture(map, map.values(), THUMBNAIL));
  }

  #scale(/** @type {KeptMap} */ { about, top }) {
    const { name } = this.facts.scale;
    const together = name === "layer" ? this.layers[about.layer] : this.layers.flat();
    return makeScale(name, name === "row" ? 1 : top, Math.max(...together.map((map) => map.top)));
  }

  /** One pixel a cell; with more than `most` a side, each is the largest of its block.
   * @type {(map: KeptMap, values: Float32Array, most?: number) => HTMLCanvasElement} */
  #picture(map, values, most = Infinity) {
    const small = shrink(values, map.rows, map.cols, most, most);
    const { width, height } = small;
    const scale = this.#scale(map);
    const shares = scale.name === "row" ? byRow(small.values, width, topsOf(small.values, width)) : small.values;
    return picture(shares, height, width, scale);
  }

  #layout() {
    const { map } = this;
    const { left, top } = labelRoom([...this.shown, ...this.columns]);
    const room = Math.max(200, at("frame").clientWidth - left - 10);
    this.cell = Math.max(MIN_CELL, Math.min(MAX_CELL, Math.floor(room / this.view.n)));
    Object.assign(this, { left, top, side: this.view.n * this.cell });
    const [width, height] = [Math.max(240, map.cols * this.cell + 60), Math.max(150, map.rows * this.cell + 4)];
    fit(this.canvas, left + width, top + height);
    this.#draw();
  }

  #draw() {
    const { map, context, cell, left, top, pointed } = this;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, left, top, map.cols * cell, map.rows * cell);
    drawLabels(this);
    if (this.chosen[0] >= 0) this.#frame(this.chosen[0], 0, map.cols);
    if (!pointed) return;
    this.#frame(...pointed, 1);
    drawLabels(this, pointed);
  }

  /** @type {(row: number, col: number, wide: number) => void} */
  #frame(row, col, wide) {
    const { context, cell, left, top } = this;
    context.strokeStyle = css("--viz-mark");
    context.lineWidth = 2;
    context.strokeRect(left + col * cell - 1, top + row * cell - 1, wide * cell + 2, cell + 2);
  }

  #point(/** @type {PointerEvent} */ event) {
    const { map } = this;
    const page = this.canvas.getBoundingClientRect();
    const place = this.view.place(event.clientX - page.left, event.clientY - page.top, this);
    const [row, col] = place ? place.map(Math.floor) : [NaN, NaN];
    this.pointed = row < map.rows && col < map.cols ? [row, col] : null;
    if (this.pointed) at("readout").textContent = map.sentence(row, col, this.values[row * map.cols + col]);
    this.#draw();
  }

  #move(/** @type {KeyboardEvent} */ event) {
    const by = MOVES[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { layer, head } = this.map.about;
    const maps = this.layers[inside(layer + by[0], this.layers)];
    this.show(maps[inside(head === null ? 0 : head + by[1], maps)]);
    query(at("atlas"), '[aria-pressed="true"]').focus();
  }

  #drawLegend() {
    const { says, measures } = this.facts.scale;
    const { ramp, masked } = theme();
    const scale = this.#scale(this.map);
    const context = fit(at("scale"), LEGEND, 12);
    for (let x = 0; x < LEGEND; x++) {
      context.fillStyle = rgbText(ramp[Math.round((x / (LEGEND - 1)) * (ramp.length - 1))]);
      context.fillRect(x, 0, 1, 12);
    }
    const log = scale.name === "log";
    const [from, to] = [log ? `${scale.low} and below` : "0", digits(scale.high, 4)];
    at("what").textContent = measures;
    at("up-to").textContent = says;
    at("ticks").textContent = `${from} … ${log ? `${digits(scale.at(0.5), 4)} … ` : ""}${to}`;
    at("scale").setAttribute("aria-label", `Color scale from ${from} to ${to}`);
    at("blank").hidden = !anyMasked(this.values);
    query(at("blank"), "i").style.background = rgbText(masked);
  }
}

async function start() {
  const read = async (/** @type {string} */ id) => unpack(at(id).textContent);
  /** @type {PageFacts} */
  const facts = JSON.parse(at("data-facts").textContent);
  const maps = readMaps(facts, new Uint8Array(await read("data-maps")), new Float32Array(await read("data-exact")));
  window.vizPage = new Page(facts, maps);
  document.body.dataset.painted = "yes";
}
start();
