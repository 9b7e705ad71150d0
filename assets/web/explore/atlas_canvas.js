// The atlas's canvas: the thumbnails of all heads where the order has them, and the axes beside them.

import { byRow, CHANGE, largest, makeScale, picture, shrink, topsOf } from "../core/colors.js";
import { context2d, css, el, fit } from "../core/dom.js";

import { headNamed } from "./head_statistics.js";

/** @import { HeadOrder, HeadValue, MapChanges, Selection } from "./types.d.ts" */
/** @typedef {{ values: Float32Array, height: number, width: number }} Thumbnail */

const GAP = 2;
export const LEFT = 34;
export const TOP = 30;
const MAX_CELL = 64;
const LABEL = 12; // room for "3.5" under a cell, where the order is not by layer and head
const LABEL_FONT = "9px system-ui, sans-serif";
const AXIS_FONT = "11px system-ui, sans-serif";
const NUMBER = 16; // pixels that a number along an axis needs

export class AtlasCanvas {
  /** @type {Run | null} */ #run = null;
  /** @type {Map<string, Thumbnail>} */ #heads = new Map();
  node = el("canvas", { "aria-hidden": "true" });
  #context = context2d(this.node);
  cell = 0; // pixels a head
  label = 0; // pixels below it
  /** @type {MapChanges | null} */ changes = null; // shown in place of the maps, where they are asked for

  constructor(/** @type {Selection} */ selection, /** @type {HeadOrder} */ order) {
    this.selection = selection;
    this.order = order;
  }

  // A new run, of which no thumbnail is here.
  enter(/** @type {Run} */ run) {
    this.#run = run;
    this.#heads.clear();
    this.cell = 0;
  }

  /** The thumbnails of a layer. @type {(layer: number, thumbnails: Numbers) => void} */
  add(layer, { shape: [n, height, width], values: all }) {
    for (let head = 0; head < n; head++) {
      const values = all.subarray(head * height * width, (head + 1) * height * width);
      this.#heads.set(`${layer}.${head}`, { values, height, width });
    }
  }

  /** Fit the width, and the height if alone in the window; returns whether the size changed.
   * @type {(run: Run, room: number, height?: number) => boolean} */
  layout({ nLayers, nHeads }, room, height = 0) {
    const most = height ? Math.floor((height - TOP) / nLayers) - LABEL : MAX_CELL;
    const cell = Math.max(8, Math.min(most, Math.floor((room - LEFT - 4) / nHeads)));
    this.#context.font = LABEL_FONT;
    const widest = this.#context.measureText(`${nLayers - 1}.${nHeads - 1}`).width;
    const label = this.order.asked && cell >= widest + 3 ? LABEL : 0;
    if (cell === this.cell && label === this.label && this.node.width > 1) return false;
    [this.cell, this.label] = [cell, label];
    this.#context = fit(this.node, LEFT + nHeads * cell, TOP + nLayers * (cell + label));
    return true;
  }

  /**
   * Draw all heads at their places, or those of one layer only.
   * @type {(places: HeadValue[], only?: number) => void}
   */
  draw(places, only) {
    const run = this.#run;
    if (!run || !this.cell) return;
    if (only === undefined) this.#axes(run);
    for (const [at, { name, layer }] of places.entries())
      if (only === undefined || layer === only) this.#drawHead(run, name, layer, at);
  }

  #drawHead(/** @type {Run} */ run, /** @type {string} */ name, /** @type {number} */ layer, /** @type {number} */ at) {
    const context = this.#context;
    const changed = this.changes?.against ? this.changes : null;
    const found = changed ? changed.of(layer, headNamed(name).head) : this.#heads.get(name);
    const [x, y] = [LEFT + (at % run.nHeads) * this.cell, TOP + Math.floor(at / run.nHeads) * (this.cell + this.label)];
    const side = this.cell - GAP;
    if (this.label) this.#write(name, x + side / 2, y + side + LABEL / 2 + 1, LABEL_FONT);
    if (!found) {
      context.fillStyle = css("--border-color-primary");
      context.fillRect(x, y, side, side);
      return;
    }
    const pixels = Math.max(1, Math.round(side * (window.devicePixelRatio || 1)));
    context.imageSmoothingEnabled = false;
    const { values, height, width } = shrink(found.values, found.height, found.width, pixels, pixels);
    const scale = changed ? CHANGE : this.selection.scale;
    const shown = scale === "row" ? byRow(Float32Array.from(values), width, topsOf(values, width)) : values;
    const top = changed ? changed.largest : scale === "row" ? 1 : largest(values);
    const scaled = makeScale(scale, top, run.largest(scale, layer, this.selection), found.values);
    context.drawImage(picture(shown, height, width, scaled), x, y, side, side);
  }

  // The axes: layers and heads, or ranks where the heads stand in the order of a statistic.
  #axes(/** @type {Run} */ { nLayers, nHeads }) {
    const { cell, order } = this;
    const context = this.#context;
    const [pitch, middle, ranked] = [cell + this.label, (cell - GAP) / 2, order.ranked];
    context.clearRect(0, 0, LEFT + nHeads * cell, TOP + nLayers * pitch);
    this.#write(ranked ? `By ${order.words} →` : "Head", LEFT + (nHeads * cell) / 2, ranked ? 18 : 8);
    const across = Math.ceil(NUMBER / cell);
    for (let head = 0; head < nHeads && !ranked; head += across)
      this.#write(String(head), LEFT + head * cell + middle, 22);
    for (let row = 0; row < nLayers; row += Math.ceil(NUMBER / pitch))
      this.#write(String(ranked ? row * nHeads + 1 : row), LEFT - 11, TOP + row * pitch + middle);
    context.save();
    context.translate(6, TOP + (nLayers * pitch) / 2);
    context.rotate(-Math.PI / 2);
    this.#write(ranked ? "Rank" : "Layer", 0, 0);
    context.restore();
  }

  #write(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, font = AXIS_FONT) {
    const fillStyle = css("--body-text-color-subdued");
    Object.assign(this.#context, { fillStyle, font, textAlign: "center", textBaseline: "middle" });
    this.#context.fillText(text, x, y);
  }
}
