// A run in a document of its own, an exported page or a notebook's cell: its words or picture, its heads and one map.

import { anyMasked, byRow, makeScale, picture, rgbText, shrink, theme, topsOf } from "../core/colors.js";
import { el, onTheme, onWidth, options, query, tableRow } from "../core/dom.js";
import { followNotebook } from "../core/frame.js";
import { markPainted } from "../core/view.js";
import { walked } from "../views/cells.js";
import { Atlas } from "./atlas.js";
import { explain } from "./explained.js";
import { MapCanvas } from "./map_canvas.js";
import { digits, plain, readMaps, unpack } from "./maps.js";
import { at, RowReading } from "./row_reading.js";

const HINT = "Point at a cell to read its weight; click it to choose its query.";
const LARGE = 40; // cells a side, from which the map takes the width
const WIDEST = 800; // pixels of the map with its names

class RunDocument {
  layerField = /** @type {HTMLSelectElement} */ (at("layer"));
  headField = /** @type {HTMLSelectElement} */ (at("head"));
  values = /** @type {Float32Array} */ (new Float32Array());

  /** @param {RunFacts} facts @param {{ layers: (KeptMap | null)[][], opened: KeptMap }} maps null where a head is not
   * in the document */
  constructor(facts, { layers, opened }) {
    this.facts = facts;
    this.layers = layers;
    this.map = this.opened = opened;
    this.token = facts.opening.query; // whose row is chosen, also in another map
    this.drawn = new MapCanvas(at("map"), opened, (cell) => this.read(cell));
    this.atlas = new Atlas(at("atlas"), layers, (other) => this.show(other));
    this.reading = new RowReading(facts, [opened, ...layers.flat().filter((each) => each !== null)], {
      choose: (row) => this.choose(row),
      pointKey: (key) => this.point(key === null ? null : [this.reading.row, key]),
    });
    this.explain = explain(facts, {
      token: (token) => this.choose(this.map.rowOf(token)),
      link: (edge) => this.#follow(edge),
    });
    document.body.classList.toggle("pictured", this.reading.pictured);
    this.#tell();
    this.#listen();
    this.redraw();
    const { key = -1 } = facts.opening;
    const { names, cross } = opened.about;
    if (key >= 0 && !names && !cross) this.point([opened.rowOf(this.token), opened.rowOf(key)]);
  }

  // The cell of the head that has most of a link.
  #follow(/** @type {RouteEdge} */ { layer, head, query, key }) {
    const map = this.layers[layer][head] ?? this.map;
    this.token = query;
    if (map !== this.map) this.show(map);
    this.choose(map.rowOf(query));
    if (map.about.layer === layer && !map.about.names) this.point([map.rowOf(query), map.rowOf(key)]);
  }

  // Everything in the colors of the theme that is on.
  redraw() {
    this.atlas.draw((map, most) => this.#picture(map, map.values(), most));
    this.show(this.map);
  }

  show(/** @type {KeptMap} */ map) {
    this.map = map;
    this.values = map.values();
    this.drawn.show(map, this.#picture(map, this.values), -1);
    this.reading.show(map, this.values);
    this.atlas.mark(map.about.layer, map.about.head);
    this.read(null);
    this.#tellMap();
    this.#tellScale();
    this.#mark(map.rowOf(this.token));
    this.layout();
  }

  // A row of the map that is shown; another map shows that of the same token.
  choose(/** @type {number} */ row) {
    this.token = this.map.tokenAt(row);
    this.#mark(row);
  }

  layout() {
    this.reading.layout();
    this.drawn.layout(Math.min(WIDEST, at("frame").clientWidth));
  }

  point(/** @type {Cell | null} */ cell) {
    this.drawn.point(cell);
    this.read(cell);
  }

  read(/** @type {Cell | null} */ cell) {
    const { map, values } = this;
    at("readout").textContent = cell ? map.sentence(...cell, values[cell[0] * map.cols + cell[1]]) : HINT;
  }

  /** @type {(map: KeptMap, values: Float32Array) => Scale} */
  #scale({ about, top }, values) {
    const { name } = this.facts.scale;
    const together = (name === "layer" ? this.layers[about.layer] : this.layers.flat()).map((map) => map?.top ?? 0);
    return makeScale(name, name === "row" ? 1 : top, Math.max(...together), values);
  }

  #tell() {
    const { facts, layers } = this;
    at("title").textContent = plain(facts.title);
    at("about").textContent = plain(facts.about);
    at("proof").classList.toggle("passed", facts.passed);
    query(at("proof"), "summary").textContent = facts.passed ? "✓ Verified" : "Not checked";
    query(at("proof"), "p").textContent = facts.proof;
    at("heading").textContent = document.title;
    at("heading").hidden = !facts.chosen;
    at("proof").toggleAttribute("open", Boolean(facts.chosen));
    at("notes").append(...facts.notes.map((note) => el("li", {}, plain(note))));
    at("left-out").textContent = facts.left_out;
    at("atlas-part").hidden = layers.flat().filter(Boolean).length < 2;
    at("back").textContent = `Back to ${this.opened.about.name}, exact`;
    at("code").hidden = !facts.snippet;
    query(at("code"), "pre").textContent = facts.snippet;
    const here = layers.flatMap((heads, layer) => (heads.some(Boolean) ? [layer] : []));
    this.layerField.replaceChildren(...options(here.map((layer) => [layer, String(layer)])));
    if (facts.changed) this.#tellChanged(facts.changed);
  }

  // Show the run's changes, and its top answers with and without them.
  #tellChanged(/** @type {NonNullable<RunFacts["changed"]>} */ { made, sentence, answers }) {
    const share = (/** @type {number} */ value) => (value > 0 && value < 0.0005 ? "< 0.001" : value.toFixed(3));
    at("changed").hidden = false;
    at("made").append(...made.map((words) => el("li", {}, plain(words))));
    at("outcome").textContent = plain(sentence);
    at("answers").hidden = !answers.length;
    const rows = answers.map(([label, ...shares]) => tableRow(plain(label), ...shares.map(share)));
    query(at("answers"), "tbody").append(...rows);
  }

  #tellMap() {
    const { map, layers, facts } = this;
    const { layer, head, name } = map.about;
    const heads = layers[layer].flatMap((here, number) => (here ? [number] : []));
    this.layerField.value = String(layer);
    this.headField.replaceChildren(...options(heads.map((number) => [number, String(number)])));
    this.headField.value = head === null ? "" : String(head);
    document.body.classList.toggle("large", Boolean(facts.picture) || Math.max(map.rows, map.cols) > LARGE);
    const title = head === null ? name : `layer ${layer}, head ${head}`;
    at("name").textContent = title[0].toUpperCase() + title.slice(1);
    at("kept").textContent = map.kept;
    at("exact").hidden = !map.levels;
    at("back").hidden = !facts.chosen || map === this.opened;
  }

  /** The color scale between two weights, and the color of masked cells. */
  #tellScale() {
    const { says, measures } = this.facts.scale;
    const scale = this.#scale(this.map, this.values);
    const curved = scale.name === "log" || scale.name === "sqrt"; // its middle is not half of its end
    const over = this.map.top > scale.high * 1.0001 && scale.name !== "row" ? " and above" : "";
    const from = scale.low ? `${digits(scale.low, 4)} and below` : "0";
    const to = `${digits(scale.high, 4)}${over}`;
    at("what").textContent = measures;
    at("up-to").textContent = says;
    at("ticks").textContent = `${from} … ${curved ? `${digits(scale.at(0.5), 4)} … ` : ""}${to}`;
    const { ramp, masked } = theme();
    at("scale").style.background = `linear-gradient(to right, ${ramp.map(rgbText).join(", ")})`;
    at("scale").setAttribute("aria-label", `Color scale from ${from} to ${to}`);
    at("blank").hidden = !anyMasked(this.values);
    query(at("blank"), "i").style.background = rgbText(masked);
  }

  #listen() {
    const choose = () => {
      const heads = this.layers[Number(this.layerField.value)];
      const head = this.headField.value; // none of a map of several heads
      this.show(/** @type {KeptMap} */ ((head && heads[Number(head)]) || heads.find(Boolean)));
    };
    for (const field of [this.layerField, this.headField]) field.addEventListener("change", choose);
    at("back").addEventListener("click", () => this.show(this.opened));
    at("atlas").addEventListener("keydown", (event) => this.atlas.walk(event, this.map));
    at("map").addEventListener("click", (event) => {
      const cell = this.drawn.at(event);
      if (cell) this.choose(cell[0]);
      this.point(cell);
    });
    at("map").addEventListener("pointerleave", () => this.point(null));
    at("map").addEventListener("keydown", (event) => this.#walk(event));
  }

  // Arrows move over the map, Enter chooses the query there.
  #walk(/** @type {KeyboardEvent} */ event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const from = this.drawn.pointed ?? /** @type {Cell} */ ([this.reading.row, 0]);
    if (event.key === "Enter") this.choose(from[0]);
    const to = event.key === "Enter" ? from : walked(event.key, from, this.map.rows, this.map.cols);
    if (!to) return;
    event.preventDefault();
    this.point(to);
  }

  #mark(/** @type {number} */ row) {
    const { layer, head, numbers } = this.map.about;
    this.drawn.mark(row);
    this.reading.choose(row);
    this.explain(this.token);
    const of = `trace.attention(${layer}, ${head})`;
    const merged = numbers?.[0].some((number) => number.includes("–"));
    query(at("exact"), "code").textContent = merged ? of : `${of}[${this.map.tokenAt(row)}]`;
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
}

async function start() {
  const read = (/** @type {string} */ id) => unpack(at(id).textContent);
  /** @type {RunFacts} */
  const facts = JSON.parse(new TextDecoder().decode(await read("data-facts")));
  followNotebook();
  const run = new RunDocument(facts, readMaps(facts, await read("data-maps"), await read("data-exact")));
  window.vizRun = run;
  onTheme(() => run.redraw());
  onWidth(document.body, () => run.layout());
  markPainted(document.body, "yes");
}
start();
