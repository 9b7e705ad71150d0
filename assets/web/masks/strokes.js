// Strokes on the mask: what a pointer or a key paints, by the tool that is chosen.

import { zoomBy } from "../views/cell_canvas.js";
import { lineOf, walked } from "../views/cells.js";

/** @import { Painter } from "./painter.js" */
/** @typedef {{ from: Cell, last: Cell, value: number, mask: Mask }} Stroke its mask is its own until it ends */

/** @type {Record<string, string>} */
const PAINTS = { " ": "cell", r: "row", c: "column" };

const STRIDES = 8; // by which Shift with an arrow crosses what is in sight

export class Strokes {
  /** @type {Stroke | null} */
  stroke = null;

  constructor(/** @type {Painter} */ painter) {
    this.painter = painter;
    const { canvas } = painter.grid;
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", () => this.#up());
    canvas.addEventListener("pointercancel", () => this.#drop());
    canvas.addEventListener("pointerleave", () => this.#hover(null));
    canvas.addEventListener("wheel", (event) => painter.grid.wheel(event), { passive: false });
    canvas.addEventListener("keydown", (event) => this.#key(event));
  }

  #down(/** @type {PointerEvent} */ event) {
    const { painter } = this;
    const { grid } = painter;
    const at = event.button === 0 ? grid.place(event) : null;
    if (!at) return;
    grid.chosen = at;
    grid.draw();
    painter.tell();
    if (!painter.editable) return;
    grid.canvas.setPointerCapture(event.pointerId);
    this.#extend({ from: at, last: at, value: 1 - painter.mask.at(...at), mask: painter.mask.with([], 0) }, at);
  }

  #move(/** @type {PointerEvent} */ event) {
    const { stroke } = this;
    const { grid } = this.painter;
    if (!stroke) return this.#hover(grid.place(event));
    const at = grid.nearest(event);
    if (at.join() !== stroke.last.join()) this.#extend(stroke, at);
  }

  // Paint up to here.
  #extend(/** @type {Stroke} */ stroke, /** @type {Cell} */ to) {
    const { painter } = this;
    const { grid, tool } = painter;
    const whole = tool === "rectangle"; // each step begins anew: it may have become smaller
    const areas = painted(tool, whole ? stroke.from : stroke.last, to, painter.mask.n);
    const both = painter.symmetric.checked;
    const mask = whole ? painter.mask.with(areas, stroke.value, both) : stroke.mask.cover(areas, stroke.value, both);
    this.stroke = { ...stroke, last: to, mask };
    grid.chosen = to;
    if (whole) grid.rectangle = [stroke.from, to];
    painter.preview(mask);
    painter.tell();
  }

  #up() {
    const { stroke } = this;
    this.#end();
    if (stroke) this.painter.put(stroke.mask);
  }

  #drop() {
    this.#end();
    this.painter.preview(null);
  }

  #end() {
    this.stroke = this.painter.grid.rectangle = null;
  }

  #hover(/** @type {Cell | null} */ at) {
    const { painter } = this;
    if (this.stroke) return;
    painter.grid.hovered = at;
    painter.grid.drawOver();
    painter.tell(at ?? undefined);
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const { painter } = this;
    const { grid, mask } = painter;
    const key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey) return; // undo and redo are the whole tab's
    const [row, col] = grid.chosen;
    const far = event.shiftKey ? Math.max(1, Math.floor(grid.view.span / STRIDES)) : 1;
    const to = walked(event.key, grid.chosen, mask.n, mask.n, far);
    if (to) {
      grid.chosen = to;
      grid.view.reveal(...to);
    } else if (painter.editable && PAINTS[key])
      painter.paint(painted(PAINTS[key], [row, col], [row, col], mask.n), 1 - mask.at(row, col));
    else if (!zoomBy(grid, event.key)) return;
    event.preventDefault();
    grid.draw();
    painter.tell();
  }
}

// A number beside a preset is part of the mask: there the keys undo the mask, and the number with it.
const KEYLESS = ["checkbox", "radio", "range", "file", "number"].map((type) => `[type=${type}]`).join(", ");
const TYPED = `textarea, [contenteditable=true], input:not(${KEYLESS})`;

/** Undo (−1) or redo (1) for a key, otherwise 0; text fields keep these keys.
 * @type {(event: KeyboardEvent) => -1 | 0 | 1} */
export function stepsOf({ key, ctrlKey, metaKey, shiftKey, target }) {
  if (!(ctrlKey || metaKey) || (target instanceof Element && target.closest(TYPED))) return 0;
  const letter = key.toLowerCase();
  if (letter === "y") return 1;
  return letter !== "z" ? 0 : shiftKey ? 1 : -1;
}

/** Areas a tool paints between two cells; fast strokes skip cells, which are filled in.
 * @type {(tool: string, from: Cell, to: Cell, n: number) => Area[]} */
export function painted(tool, from, to, n) {
  if (tool === "rectangle") return [[from, to]];
  return lineOf(from, to).map(([row, col]) => {
    if (tool === "row")
      return [
        [row, 0],
        [row, n - 1],
      ];
    if (tool === "column")
      return [
        [0, col],
        [n - 1, col],
      ];
    return [
      [row, col],
      [row, col],
    ];
  });
}
