// An exported page: its atlas, its map, and what moves them; every number is in the file itself.

import { anyMasked, byRow, makeScale, picture, rgbText, shrink, theme, topsOf } from "../core/colors.js";
import { el, fit, query } from "../core/dom.js";
import { Atlas } from "./atlas.js";
import { MapCanvas } from "./map_canvas.js";
import { digits, plain, readMaps, unpack } from "./maps.js";
import { RowReading } from "./row_reading.js";

/** @import { KeptMap } from "./maps.js" */

const CELLS = { least: 2, most: 40 };
const LEGEND = 230;
const HINT = "Point at a cell to read its weight.";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @type {<Kind extends HTMLElement = HTMLElement>(id: string) => Kind} */
const at = (id) => query(document, `#${id}`);

class Page {
  values = /** @type {Float32Array} */ (new Float32Array());

  /** @param {PageFacts} facts @param {{ layers: KeptMap[][], chosen: KeptMap }} maps */
  constructor(facts, { layers, chosen }) {
    this.facts = facts;
    this.layers = layers;
    this.exact = this.map = chosen;
    this.drawn = new MapCanvas(at("map"), chosen, (cell) => this.#read(cell));
    this.atlas = new Atlas(at("atlas"), layers, (map) => this.show(map));
    this.reading = new RowReading(facts, [chosen, ...layers.flat()], {
      choose: (row) => this.choose(row),
      pointKey: (key) => this.#point(key === null ? null : [this.reading.row, key]),
    });
    this.token = chosen.tokenAt(Math.floor((chosen.about.query ?? 0) / chosen.steps[0]));
    at("map").addEventListener("click", (event) => {
      const cell = this.drawn.at(event);
      if (cell) this.choose(cell[0]);
    });
    this.#tell();
    this.redraw();
    at("back").addEventListener("click", () => this.show(chosen));
    addEventListener("keydown", (event) => this.atlas.walk(event, this.map));
    addEventListener("resize", () => this.#layout());
    dark.addEventListener("change", () => this.redraw());
  }

  // Redraw everything in the system's color scheme.
  redraw() {
    document.documentElement.classList.toggle("dark", dark.matches);
    this.atlas.draw((map, most) => this.#picture(map, map.values(), most));
    this.show(this.map);
  }

  show(/** @type {KeptMap} */ map) {
    const { layer, head, name } = map.about;
    this.map = map;
    this.values = map.values();
    this.drawn.show(map, this.#picture(map, this.values), -1);
    this.reading.show(map, this.values);
    const title = head === null ? name : `layer ${layer}, head ${head}`;
    at("name").textContent = title[0].toUpperCase() + title.slice(1);
    at("kept").textContent = map.kept;
    at("back").hidden = map === this.exact;
    at("readout").textContent = HINT;
    this.atlas.mark(layer, head);
    this.#mark(map.rowOf(this.token));
    this.#layout();
    this.#drawLegend();
  }

  // A row of the map that is shown; another map shows that of the same token.
  choose(/** @type {number} */ row) {
    this.token = this.map.tokenAt(row);
    this.#mark(row);
  }

  #mark(/** @type {number} */ row) {
    this.drawn.mark(row);
    this.reading.choose(row);
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
    if (facts.changed) this.#tellChanged(facts.changed);
    at("back").textContent = `Back to ${facts.chosen.name}, exact`;
    at("code").hidden = !facts.snippet;
    query(at("code"), "pre").textContent = facts.snippet;
  }

  // Show the run's changes, and its top answers with and without them.
  #tellChanged(/** @type {NonNullable<PageFacts["changed"]>} */ { made, sentence, answers }) {
    const share = (/** @type {number} */ value) => (value > 0 && value < 0.0005 ? "< 0.001" : value.toFixed(3));
    at("changed").hidden = false;
    at("made").append(...made.map((words) => el("li", {}, plain(words))));
    at("outcome").textContent = plain(sentence);
    at("answers").hidden = !answers.length;
    query(at("answers"), "tbody").append(
      ...answers.map(([label, ...shares]) =>
        el("tr", {}, el("th", { scope: "row" }, plain(label)), ...shares.map((value) => el("td", {}, share(value)))),
      ),
    );
  }

  /** @type {(map: KeptMap, values: Float32Array) => Scale} */
  #scale({ about, top }, values) {
    const { name } = this.facts.scale;
    const together = name === "layer" ? this.layers[about.layer] : this.layers.flat();
    return makeScale(name, name === "row" ? 1 : top, Math.max(...together.map((map) => map.top)), values);
  }

  /** One pixel per cell; above `most` per side, the maximum of each block.
   * @type {(map: KeptMap, values: Float32Array, most?: number) => HTMLCanvasElement} */
  #picture(map, values, most = Infinity) {
    const small = shrink(values, map.rows, map.cols, most, most);
    const { width, height } = small;
    const scale = this.#scale(map, values);
    const shares = scale.name === "row" ? byRow(small.values, width, topsOf(small.values, width)) : small.values;
    return picture(shares, height, width, scale);
  }

  #layout() {
    this.reading.layout();
    this.drawn.layout(at("frame").clientWidth, CELLS);
  }

  #point(/** @type {Cell | null} */ cell) {
    this.drawn.point(cell);
    this.#read(cell);
  }

  #read(/** @type {Cell | null} */ cell) {
    if (cell) at("readout").textContent = this.map.sentence(...cell, this.values[cell[0] * this.map.cols + cell[1]]);
  }

  #drawLegend() {
    const { says, measures } = this.facts.scale;
    const { ramp, masked } = theme();
    const scale = this.#scale(this.map, this.values);
    const context = fit(at("scale"), LEGEND, 12);
    for (let x = 0; x < LEGEND; x++) {
      context.fillStyle = rgbText(ramp[Math.round((x / (LEGEND - 1)) * (ramp.length - 1))]);
      context.fillRect(x, 0, 1, 12);
    }
    const curved = scale.name === "log" || scale.name === "sqrt"; // its middle is not half of its end
    const over = this.map.top > scale.high * 1.0001 && scale.name !== "row" ? " and above" : "";
    const from = scale.low ? `${digits(scale.low, 4)} and below` : "0";
    const to = `${digits(scale.high, 4)}${over}`;
    at("what").textContent = measures;
    at("up-to").textContent = says;
    at("ticks").textContent = `${from} … ${curved ? `${digits(scale.at(0.5), 4)} … ` : ""}${to}`;
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
