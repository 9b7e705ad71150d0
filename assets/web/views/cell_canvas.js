// A canvas with a square of cells: where it lies, which cell is under the pointer, and where a cell is on the screen.

import { Viewport } from "../core/viewport.js";
import { View } from "../core/view.js";

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
}
