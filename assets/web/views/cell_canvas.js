// A canvas with a square of cells: where it lies, which cell is under the pointer, where a cell is on the screen, and how
// it is zoomed.

import { labelled } from "../core/dom.js";
import { Viewport } from "../core/viewport.js";
import { View } from "../core/view.js";

const ZOOM_BUTTONS = /** @type {const} */ ([
  ["+", "Zoom in", 0.5],
  ["−", "Zoom out", 2],
  ["Fit", "Fit the whole map", 0],
]);
/** @type {Record<string, number>} */ const ZOOM_KEYS = { "+": 0.5, "=": 0.5, "-": 2, 0: 0, Escape: 0 };

/** @typedef {CellCanvas & { chosen: number[] }} Zoomed its row and column that are chosen are below 0 where they are hidden */

/** By a factor, around the chosen cell where it is in sight, else around the middle; 0 fits the whole.
 * @type {(map: Zoomed, factor: number) => void} */
function zoom(map, factor) {
  const { view, chosen } = map;
  const [row, col] = [view.row, view.col].map((start, axis) => {
    const at = chosen[axis] + 0.5;
    return at >= start && at <= start + view.span ? at : start + view.span / 2;
  });
  if (factor) view.zoom(factor, row, col);
  else view.fit();
  map.moved();
}

/** Whether a key zooms; then it is done. @type {(map: Zoomed, key: string) => boolean} */
export function zoomBy(map, key) {
  const known = Object.hasOwn(ZOOM_KEYS, key);
  if (known) zoom(map, ZOOM_KEYS[key]);
  return known;
}

/** @param {Zoomed} map */
export const zoomButtons = (map) =>
  ZOOM_BUTTONS.map(([text, title, factor]) => labelled(text, title, () => zoom(map, factor)));

export class CellCanvas extends View {
  canvas = document.createElement("canvas");
  view = new Viewport(0);
  left = 0; // pixels
  top = 0;
  side = 0;

  // All of so many cells a side.
  renew(/** @type {number} */ n) {
    this.view = new Viewport(n);
  }

  /** The middle of a cell on the screen. @type {(row: number, col: number) => [number, number]} */
  box(row, col) {
    const page = this.canvas.getBoundingClientRect();
    const [x, y] = this.view.middle(row, col, this);
    return [page.left + x, page.top + y];
  }

  /** The cell under the pointer; null outside of all. @type {(event: MouseEvent) => Cell | null} */
  place(event) {
    const at = this.view.place(...this.pixel(event), this);
    return at && /** @type {Cell} */ (at.map(Math.floor));
  }

  /** @type {(event: MouseEvent) => [x: number, y: number]} */
  pixel(event) {
    const page = this.canvas.getBoundingClientRect();
    return [event.clientX - page.left, event.clientY - page.top];
  }

  // Another part of it is in sight.
  moved() {
    this.draw();
  }

  // The wheel zooms where the canvas has the focus, or with Ctrl (a touchpad's pinch), and with Shift or sideways it pans; else
  // it scrolls the page.
  wheel(/** @type {WheelEvent} */ event) {
    const { ctrlKey, metaKey, shiftKey, deltaX, deltaY } = event;
    const meant = ctrlKey || metaKey || document.activeElement === this.canvas;
    const at = meant ? this.view.place(...this.pixel(event), this) : null;
    if (!at) return;
    event.preventDefault();
    const cell = this.side / this.view.span;
    if (shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) this.view.pan(deltaX ? 0 : deltaY / cell, deltaX / cell);
    else this.view.zoom(Math.exp(Math.max(-60, Math.min(60, deltaY)) * 0.008), ...at);
    this.moved();
  }

  /** Draw within the square, and so many pixels beyond it. @type {(context: CanvasRenderingContext2D, beyond: number, draw: () => void) => void} */
  clipped(context, beyond, draw) {
    context.save();
    context.beginPath();
    context.rect(this.left - beyond, this.top - beyond, this.side + 2 * beyond, this.side + 2 * beyond);
    context.clip();
    draw();
    context.restore();
  }
}
