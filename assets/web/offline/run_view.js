// A run in a document of its own: its words or picture, its heads and one map; every number is in the document.

import { anyMasked, byRow, makeScale, picture, rgbText, shrink, theme, topsOf } from "../core/colors.js";
import { el, fit, query } from "../core/dom.js";
import { Atlas } from "./atlas.js";
import { MapCanvas } from "./map_canvas.js";
import { plain } from "./maps.js";
import { at, RowReading } from "./row_reading.js";

/** @import { KeptMap } from "./maps.js" */
/** @import { CellSizes } from "./map_canvas.js" */
/** @typedef {{ cells: CellSizes, widest: number, legend: [width: number, height: number], hint: string }} Look `widest`: pixels
 *   of the map with its names; `hint`: said while no cell is pointed at */
/** @typedef {StripFacts & { notes: string[], passed: boolean }} Facts */

/** @template {Facts} Given */
export class RunView {
  values = /** @type {Float32Array} */ (new Float32Array());

  /** @param {Given} facts @param {(KeptMap | null)[][]} layers null where a head is not in the document
   * @param {KeptMap} map to open on @param {number} token whose row is chosen, also in another map @param {Look} look */
  constructor(facts, layers, map, token, look) {
    this.facts = facts;
    this.layers = layers;
    this.map = map;
    this.token = token;
    this.look = look;
    this.drawn = new MapCanvas(at("map"), map, (cell) => this.read(cell));
    this.atlas = new Atlas(at("atlas"), layers, (other) => this.show(other));
    this.reading = new RowReading(facts, [map, ...layers.flat().filter((each) => each !== null)], {
      choose: (row) => this.choose(row),
      pointKey: (key) => this.point(key === null ? null : [this.reading.row, key]),
    });
    at("map").addEventListener("click", (event) => {
      const cell = this.drawn.at(event);
      if (cell) this.choose(cell[0]);
    });
    at("proof").classList.toggle("passed", facts.passed);
    at("notes").append(...facts.notes.map((note) => el("li", {}, plain(note))));
  }

  // What a kind of document says: what it tells of another map and of another row of it, and a map's scale.
  told() {}
  marked(/** @type {number} */ _row) {}
  /** @type {(map: KeptMap, values: Float32Array) => Scale} */
  scale(map, _values) {
    return makeScale("head", map.top);
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
    this.told();
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
    this.drawn.layout(Math.min(this.look.widest, at("frame").clientWidth), this.look.cells);
  }

  point(/** @type {Cell | null} */ cell) {
    this.drawn.point(cell);
    this.read(cell);
  }

  read(/** @type {Cell | null} */ cell) {
    const { map, values, look } = this;
    at("readout").textContent = cell ? map.sentence(...cell, values[cell[0] * map.cols + cell[1]]) : look.hint;
  }

  /** Color scale between two colors, and the color of masked cells. @type {(from: string, to: string) => void} */
  drawLegend(from, to) {
    const { ramp, masked } = theme();
    const [width, height] = this.look.legend;
    const context = fit(at("scale"), width, height);
    for (let x = 0; x < width; x++) {
      context.fillStyle = rgbText(ramp[Math.round((x / (width - 1)) * (ramp.length - 1))]);
      context.fillRect(x, 0, 1, height);
    }
    at("scale").setAttribute("aria-label", `Color scale from ${from} to ${to}`);
    at("blank").hidden = !anyMasked(this.values);
    query(at("blank"), "i").style.background = rgbText(masked);
  }

  #mark(/** @type {number} */ row) {
    this.drawn.mark(row);
    this.reading.choose(row);
    this.marked(row);
  }

  /** One pixel per cell; above `most` per side, the maximum of each block.
   * @type {(map: KeptMap, values: Float32Array, most?: number) => HTMLCanvasElement} */
  #picture(map, values, most = Infinity) {
    const small = shrink(values, map.rows, map.cols, most, most);
    const { width, height } = small;
    const scale = this.scale(map, values);
    const shares = scale.name === "row" ? byRow(small.values, width, topsOf(small.values, width)) : small.values;
    return picture(shares, height, width, scale);
  }
}
