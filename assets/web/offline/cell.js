// A notebook's cell: the words, the map and the heads of one run; every number is in the document itself.

import { anyMasked, makeScale, picture, rgbText, shrink, theme } from "../core/colors.js";
import { el, fit, onTheme, onWidth, options, query } from "../core/dom.js";
import { followNotebook } from "../core/frame.js";
import { walked } from "../views/cells.js";
import { Atlas } from "./atlas.js";
import { MapCanvas } from "./map_canvas.js";
import { digits, plain, readHeads, unpack } from "./maps.js";
import { RowReading } from "./row_reading.js";

/** @import { KeptMap } from "./maps.js" */

const CELLS = { least: 1, most: 28 };
const WIDEST = 800; // pixels of the map with its names
const LARGE = 40; // cells a side, from which the map takes the width
const LEGEND = 140;
const HINT = "Point at a cell to read its weight; click it to choose its query.";

/** @type {<Kind extends HTMLElement = HTMLElement>(id: string) => Kind} */
const at = (id) => query(document, `#${id}`);

class NotebookCell {
  values = /** @type {Float32Array} */ (new Float32Array());
  row = 0;
  layers = /** @type {HTMLSelectElement} */ (at("layer"));
  heads = /** @type {HTMLSelectElement} */ (at("head"));

  /** @param {CellFacts} facts @param {KeptMap[]} maps the first is the one to open on */
  constructor(facts, maps) {
    this.facts = facts;
    this.maps = facts.heads.map((count, layer) =>
      Array.from(
        { length: count },
        (_, head) => maps.find(({ about }) => about.layer === layer && about.head === head) ?? null,
      ),
    );
    this.map = maps[0];
    this.drawn = new MapCanvas(at("map"), this.map, (cell) => this.#read(cell));
    this.atlas = new Atlas(at("atlas"), this.maps, (map) => this.show(map));
    this.reading = new RowReading(facts, maps, {
      choose: (row) => this.choose(row),
      pointKey: (key) => this.#point(key === null ? null : [this.row, key]),
    });
    document.body.classList.toggle("pictured", this.reading.pictured);
    this.#tell();
    this.#listen();
    this.row = Math.floor(facts.opening.query / this.map.steps[0]);
    this.redraw();
  }

  // Redraw everything in light or dark colors.
  redraw() {
    this.atlas.draw((map, most) => this.#picture(map, map.values(), most));
    this.show(this.map);
  }

  show(/** @type {KeptMap} */ map) {
    const { layer, head } = map.about;
    this.map = map;
    this.values = map.values();
    this.row = Math.min(this.row, map.rows - 1);
    this.atlas.mark(layer, head);
    this.layers.value = String(layer);
    this.heads.replaceChildren(...options(this.maps[layer].flatMap((here, at) => (here ? [[at, String(at)]] : []))));
    this.heads.value = String(head);
    this.drawn.show(map, this.#picture(map, this.values), this.row);
    this.reading.show(map, this.values);
    document.body.classList.toggle("large", Boolean(this.facts.picture) || Math.max(map.rows, map.cols) > LARGE);
    at("near").textContent = nearness(map);
    at("readout").textContent = HINT;
    this.#drawLegend();
    this.choose(this.row);
    this.layout();
  }

  choose(/** @type {number} */ row) {
    this.row = row;
    this.drawn.mark(row);
    this.reading.choose(row);
    const { layer, head } = this.map.about;
    at("code").textContent = `trace.attention(${layer}, ${head})[${row * this.map.steps[0]}]`;
  }

  layout() {
    this.reading.layout();
    this.drawn.layout(Math.min(WIDEST, at("frame").clientWidth), CELLS);
  }

  #tell() {
    const { facts } = this;
    at("title").textContent = plain(facts.title);
    query(at("proof"), "summary").textContent = facts.passed ? "✓ Verified" : "Not checked";
    query(at("proof"), "p").textContent = facts.proof;
    at("proof").classList.toggle("passed", facts.passed);
    at("notes").append(...facts.notes.map((note) => el("li", {}, plain(note))));
    at("left-out").textContent = facts.left_out;
    at("atlas-part").hidden = this.maps.flat().filter(Boolean).length < 2;
    const here = this.maps.flatMap((heads, layer) => (heads.some(Boolean) ? [layer] : []));
    this.layers.replaceChildren(...options(here.map((layer) => [layer, String(layer)])));
  }

  #listen() {
    this.layers.addEventListener("change", () => {
      const heads = this.maps[Number(this.layers.value)];
      this.show(heads[Number(this.heads.value)] ?? /** @type {KeptMap} */ (heads.find(Boolean)));
    });
    this.heads.addEventListener("change", () => {
      this.show(/** @type {KeptMap} */ (this.maps[this.map.about.layer][Number(this.heads.value)]));
    });
    at("atlas").addEventListener("keydown", (event) => this.atlas.walk(event, this.map));
    this.drawn.canvas.addEventListener("click", (event) => {
      const cell = this.drawn.at(event);
      if (cell) this.choose(cell[0]);
      this.#point(cell);
    });
    this.drawn.canvas.addEventListener("pointerleave", () => this.#point(null));
    this.drawn.canvas.addEventListener("keydown", (event) => this.#walk(event));
  }

  // Arrows move over the map, Enter chooses the query there.
  #walk(/** @type {KeyboardEvent} */ event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = this.drawn.pointed ?? /** @type {Cell} */ ([this.row, 0]);
    if (event.key === "Enter") this.choose(from[0]);
    const to = event.key === "Enter" ? from : walked(event.key, from, Math.max(this.map.rows, this.map.cols));
    if (!to) return;
    event.preventDefault();
    this.#point([Math.min(to[0], this.map.rows - 1), Math.min(to[1], this.map.cols - 1)]);
  }

  #point(/** @type {Cell | null} */ cell) {
    this.drawn.point(cell);
    this.#read(cell);
  }

  #read(/** @type {Cell | null} */ cell) {
    const { map, values } = this;
    at("readout").textContent = cell ? map.sentence(...cell, values[cell[0] * map.cols + cell[1]]) : HINT;
  }

  /** One pixel per cell; above `most` per side, the maximum of each block.
   * @type {(map: KeptMap, values: Float32Array, most?: number) => HTMLCanvasElement} */
  #picture(map, values, most = Infinity) {
    const small = shrink(values, map.rows, map.cols, most, most);
    return picture(small.values, small.height, small.width, makeScale("head", map.top));
  }

  #drawLegend() {
    const { ramp, masked } = theme();
    const context = fit(at("scale"), LEGEND, 10);
    for (let x = 0; x < LEGEND; x++) {
      context.fillStyle = rgbText(ramp[Math.round((x / (LEGEND - 1)) * (ramp.length - 1))]);
      context.fillRect(x, 0, 1, 10);
    }
    at("up-to").textContent = digits(this.map.top, 3);
    at("scale").setAttribute("aria-label", `Color scale from 0 to ${digits(this.map.top, 3)}`);
    at("blank").hidden = !anyMasked(this.values);
    query(at("blank"), "i").style.background = rgbText(masked);
  }
}

/** How close a map's weights are to those that ran. @type {(map: KeptMap) => string} */
function nearness({ off, pooled, steps }) {
  const block = pooled ? ` Each cell is the largest weight of ${steps[0]} × ${steps[1]} tokens.` : "";
  const step = 10 ** Math.floor(Math.log10(off || 1));
  return `Weights here are within ${digits(Math.ceil(off / step) * step, 1)} of those that ran.${block}`;
}

async function start() {
  const read = async (/** @type {string} */ id) => unpack(at(id).textContent);
  /** @type {CellFacts} */
  const facts = JSON.parse(new TextDecoder().decode(await read("data-facts")));
  followNotebook();
  const cell = new NotebookCell(facts, readHeads(facts, await read("data-maps")));
  window.vizCell = cell;
  onTheme(() => cell.redraw());
  onWidth(document.body, () => cell.layout());
  document.body.dataset.painted = "yes";
}
start();
