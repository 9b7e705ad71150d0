// Layout of a map: the tokens along its sides, the visible part, and its size on the page.

import { borderAt, FOOT } from "../core/border.js";
import { context2d, el, fit } from "../core/dom.js";
import { labelRoom } from "../core/labels.js";
import { Viewport } from "../core/viewport.js";
import { CellCanvas } from "../views/cell_canvas.js";
import { fullHeight } from "../views/full_screen.js";

/** @typedef {{ labels: { left: number, top: number }, width: number, window: number, full: number, n: number }} Room
 *   pixels: what the longest names need, how wide the page is there and how high its window, the height where the
 *   map is alone in the window (else 0); and how many tokens stand along a side */

const MAX_SIDE = 860;
const MIN_SIDE = 420;
const MAX_CELL = 60;
const FULL_CELL = 120; // where the map is alone in the window
const RIGHT = 30; // room for the last key's tilted name

export class MapSheet extends CellCanvas {
  /** @type {Shown} */ shown = Object.assign([], { places: new Int32Array() });
  /** @type {Borders} */ borders = [-1, -1];
  width = 0;
  height = 0;
  canvas = el("canvas", { class: "viz-map-canvas", tabindex: "0", role: "img" });
  over = el("canvas", { class: "viz-map-over", "aria-hidden": "true" });
  context = context2d(this.canvas);
  overContext = context2d(this.over);
  stage = el("div", { class: "viz-stage" }, this.canvas, this.over);

  /** List the shown tokens along the sides; if `stays`, the view's center is kept, otherwise
   * everything is in view.
   * @type {(run: Run, kept: MapView, stays: boolean) => void} */
  list(run, kept, stays) {
    const [before, shown] = [this.shown, run.shown(kept)];
    const border = borderAt(shown.map(({ tokens }) => run.segments[tokens[0]]));
    const view = stays ? keptInView(this.view, before, shown) : new Viewport(shown.length);
    Object.assign(this, { shown, view, borders: [border, border] });
  }

  // Take the room that the names and the cells need, of so many pixels.
  measure(/** @type {number} */ wide) {
    const full = fullHeight(this.stage);
    const width = Math.max(120, (full ? this.stage.clientWidth : wide) - 2);
    const room = { labels: labelRoom(this.shown), width, window: window.innerHeight, full, n: this.view.n };
    Object.assign(this, laidOut(room));
    [this.width, this.height] = [this.left + this.side + RIGHT, this.top + this.side + 4];
    if (this.borders[0] > 0) this.height += FOOT;
    this.context = fit(this.canvas, this.width, this.height);
    this.overContext = fit(this.over, this.width, this.height);
  }
}

/** Origin and side length of the cells, in pixels.
 * @type {(room: Room) => { left: number, top: number, side: number }} */
export function laidOut({ labels, width, window, full, n }) {
  const [left, top] = [Math.min(labels.left, Math.floor(width * 0.34)), labels.top];
  const tall = Math.max(MIN_SIDE, window - top - 150);
  const all = (full ? FULL_CELL : MAX_CELL) * Math.max(1, n);
  const most = full ? full - top - 4 : Math.min(MAX_SIDE, tall);
  return { left, top, side: Math.max(60, Math.min(most, width - left - RIGHT, all)) };
}

/** A view of other tokens with the same one in its middle, where that is still shown; else of all of them.
 * @type {(view: Viewport, before: Shown, shown: Shown) => Viewport} */
export function keptInView(view, before, shown) {
  const found = new Viewport(shown.length);
  if (!view.zoomed) return found;
  const middle = (/** @type {number} */ start) => before[Math.floor(start + view.span / 2)].tokens[0];
  const [row, col] = [middle(view.row), middle(view.col)].map((token) => shown.places[token]);
  if (row >= 0 && col >= 0) found.center(row, col, view.span);
  return found;
}
