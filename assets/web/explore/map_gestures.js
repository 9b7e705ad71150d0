// Mouse, touch and keys of the big map: hover, choose, zoom, drag, pinch and arrows.

import { zoomBy } from "../views/cell_canvas.js";
import { walked } from "../views/cells.js";

/** @typedef {[x: number, y: number]} Point */

const DRAG = 4; // pixels that tell a drag from a click
const TWICE = 500; // milliseconds between the halves of a double click

export class Gestures {
  /** @type {Map<number, Point>} */ #points = new Map();
  /** @type {Point} */ #start = [0, 0];
  #dragged = false;
  #chose = -Infinity; // when
  /** @type {{ query: number, key: number } | null} */ #before = null;

  constructor(/** @type {AttentionMap} */ map) {
    this.map = map;
    const { canvas } = map;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#points.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => map.hover(null));
    canvas.addEventListener("dblclick", () => this.#fit());
    canvas.addEventListener("wheel", (event) => map.run && map.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #place(/** @type {Point} */ [x, y]) {
    return this.map.view.place(x, y, this.map);
  }

  #down(/** @type {PointerEvent} */ event) {
    if (!this.map.run) return;
    this.map.canvas.setPointerCapture(event.pointerId);
    this.#start = this.map.pixel(event);
    this.#points.set(event.pointerId, this.#start);
    this.#dragged = false;
  }

  #move(/** @type {PointerEvent} */ event) {
    const { map } = this;
    if (!map.run) return;
    const to = this.map.pixel(event);
    const from = this.#points.get(event.pointerId);
    if (!from) return map.hover(this.#place(to));
    if (this.#points.size === 2) this.#pinch(event.pointerId, from, to);
    else if (this.#dragged || apart(to, this.#start) > DRAG) {
      this.#dragged = true;
      const cell = map.side / map.view.span;
      map.view.pan((from[1] - to[1]) / cell, (from[0] - to[0]) / cell);
      map.moved();
    }
    this.#points.set(event.pointerId, to);
  }

  #pinch(/** @type {number} */ id, /** @type {Point} */ from, /** @type {Point} */ to) {
    const { map } = this;
    const other = [...this.#points].find(([key]) => key !== id)?.[1] ?? to;
    const middle = this.#place([(to[0] + other[0]) / 2, (to[1] + other[1]) / 2]);
    if (middle) map.view.zoom((apart(from, other) || 1) / (apart(to, other) || 1), ...middle);
    this.#dragged = true;
    map.moved();
  }

  #up(/** @type {PointerEvent} */ event) {
    const { map } = this;
    const place = map.run && this.#place(this.map.pixel(event));
    if (place && !this.#dragged && this.#points.has(event.pointerId)) {
      const { query, key } = map.selection;
      if (event.timeStamp - this.#chose >= TWICE) this.#before = { query, key };
      this.#chose = event.timeStamp;
      map.choose(place);
    }
    this.#points.delete(event.pointerId);
  }

  // A double click is not meant to choose: what was chosen before its first half comes back.
  #fit() {
    const { map } = this;
    if (this.#before) map.selection.set(this.#before);
    map.view.fit();
    map.moved();
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const { map } = this;
    if (!map.run || event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, col] = map.chosen.map((place) => Math.max(0, place));
    const next = moved(event.key, [row, col], map.view);
    if (next) map.choose(next);
    else if (!zoomBy(map, event.key)) return;
    event.preventDefault();
  }
}

/** @type {(a: Point, b: Point) => number} */ const apart = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** The cell that a key leads to, within the map; a page is half of what is in sight.
 * @type {(key: string, from: Cell, view: { n: number, span: number }) => Cell | null} */
export function moved(key, [row, col], { n, span }) {
  const page = Math.max(1, Math.floor(span / 2));
  if (key === "PageUp") return [Math.max(0, row - page), col];
  return key === "PageDown" ? [Math.min(n - 1, row + page), col] : walked(key, [row, col], n);
}
