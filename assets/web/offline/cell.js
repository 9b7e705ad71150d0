// A notebook's cell: the words, the map and the heads of one run.

import { onTheme, onWidth, options, query } from "../core/dom.js";
import { followNotebook } from "../core/frame.js";
import { walked } from "../views/cells.js";
import { digits, plain, readHeads, unpack } from "./maps.js";
import { at } from "./row_reading.js";
import { RunView } from "./run_view.js";

/** @import { KeptMap } from "./maps.js" */
/** @import { Look } from "./run_view.js" */

/** @type {Look} */
const LOOK = {
  cells: { least: 1, most: 28 },
  widest: 800,
  legend: [140, 10],
  hint: "Point at a cell to read its weight; click it to choose its query.",
};
const LARGE = 40; // cells a side, from which the map takes the width

/** @extends {RunView<CellFacts>} */
class NotebookCell extends RunView {
  layerField = /** @type {HTMLSelectElement} */ (at("layer"));
  headField = /** @type {HTMLSelectElement} */ (at("head"));

  /** @param {CellFacts} facts @param {KeptMap[]} maps the first is the one to open on */
  constructor(facts, maps) {
    const found = (/** @type {number} */ layer, /** @type {number} */ head) =>
      maps.find(({ about }) => about.layer === layer && about.head === head) ?? null;
    const layers = facts.heads.map((count, layer) => Array.from({ length: count }, (_, head) => found(layer, head)));
    super(facts, layers, maps[0], facts.opening.query, LOOK);
    document.body.classList.toggle("pictured", this.reading.pictured);
    this.#tell();
    this.#listen();
    this.redraw();
  }

  /** @override */
  told() {
    const { map, facts } = this;
    const { layer, head } = map.about;
    const heads = this.layers[layer].flatMap((here, number) => (here ? [number] : []));
    this.layerField.value = String(layer);
    this.headField.replaceChildren(...options(heads.map((number) => [number, String(number)])));
    this.headField.value = String(head);
    document.body.classList.toggle("large", Boolean(facts.picture) || Math.max(map.rows, map.cols) > LARGE);
    at("near").textContent = nearness(map);
    at("up-to").textContent = digits(map.top, 3);
    this.drawLegend("0", digits(map.top, 3));
  }

  /** @override @param {number} row */
  marked(row) {
    const { layer, head } = this.map.about;
    const [of, token] = [`trace.attention(${layer}, ${head})`, this.map.tokenAt(row)];
    const merged = this.map.about.numbers?.[0].some((number) => number.includes("–"));
    at("code").textContent = merged ? of : `${of}[${token}]`;
  }

  #tell() {
    const { facts, layers } = this;
    at("title").textContent = plain(facts.title);
    query(at("proof"), "summary").textContent = facts.passed ? "✓ Verified" : "Not checked";
    query(at("proof"), "p").textContent = facts.proof;
    at("left-out").textContent = facts.left_out;
    at("atlas-part").hidden = layers.flat().filter(Boolean).length < 2;
    const here = layers.flatMap((heads, layer) => (heads.some(Boolean) ? [layer] : []));
    this.layerField.replaceChildren(...options(here.map((layer) => [layer, String(layer)])));
  }

  #listen() {
    this.layerField.addEventListener("change", () => {
      const heads = this.layers[Number(this.layerField.value)];
      this.show(heads[Number(this.headField.value)] ?? /** @type {KeptMap} */ (heads.find(Boolean)));
    });
    this.headField.addEventListener("change", () => {
      this.show(/** @type {KeptMap} */ (this.layers[this.map.about.layer][Number(this.headField.value)]));
    });
    at("atlas").addEventListener("keydown", (event) => this.atlas.walk(event, this.map));
    at("map").addEventListener("click", (event) => this.point(this.drawn.at(event)));
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
