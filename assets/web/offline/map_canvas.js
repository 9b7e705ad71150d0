// A map on a canvas: its cells in color, the names along both sides, and the cell that is pointed at.

import { drawBorders, FOOT } from "../core/border.js";
import { css, fit } from "../core/dom.js";
import { drawLabels, labelRoom } from "../core/labels.js";
import { CellCanvas } from "../views/cell_canvas.js";

const [LEAST, MOST] = [1, 28]; // pixels a side of a cell
const EVEN = 6; // pixels, from which cells of unequal size would be seen
const OVERHANG = 60; // pixels, of the last column's name

export class MapCanvas extends CellCanvas {
  cell = 0;
  /** @type {{ name: string }[]} */
  shown = [];
  /** @type {{ name: string }[]} */
  columns = [];
  /** @type {number[]} */
  chosen = [-1, -1];
  /** @type {Borders} */
  borders = [-1, -1];
  /** @type {Cell | null} */
  pointed = null;

  /** @param {HTMLCanvasElement} canvas @param {KeptMap} map @param {(cell: Cell | null) => unknown} tell which
   * cell is pointed at */
  constructor(canvas, map, tell) {
    super();
    this.canvas = canvas;
    this.map = map;
    this.picture = canvas;
    this.context = fit(canvas, 1, 1);
    this.overContext = this.context;
    for (const moved of /** @type {const} */ (["pointermove", "pointerdown"])) {
      canvas.addEventListener(moved, (event) => {
        this.point(this.at(event));
        tell(this.pointed);
      });
    }
  }

  /** Another map, as a picture of one pixel a cell, with one of its rows marked, or -1.
   * @type {(map: KeptMap, picture: HTMLCanvasElement, row: number) => void} */
  show(map, picture, row) {
    Object.assign(this, { map, picture, pointed: null, chosen: [row, -1] });
    this.renew(Math.max(map.rows, map.cols));
    this.borders = map.borders;
    [this.shown, this.columns] = [map.rows, map.cols].map((cells, axis) =>
      Array.from({ length: cells }, (_, at) => ({ name: map.label(axis ? 1 : 0, at, false) })),
    );
    this.canvas.setAttribute("aria-label", `Attention ${map.about.name}: rows are queries, columns are keys`);
  }

  /** Cells as large as so many pixels of width have room for. @type {(width: number) => void} */
  layout(width) {
    const { map } = this;
    const { left, top } = labelRoom([...this.shown, ...this.columns]);
    const room = Math.max(200, width - left - OVERHANG);
    const fits = room / this.view.n;
    this.cell = Math.max(LEAST, Math.min(MOST, fits < EVEN ? fits : Math.floor(fits)));
    Object.assign(this, { left, top, side: this.view.n * this.cell });
    const [across, down] = [
      Math.max(240, map.cols * this.cell + OVERHANG),
      Math.max(150, map.rows * this.cell + 4 + (this.borders[0] > 0 ? FOOT : 0)),
    ];
    fit(this.canvas, left + across, top + down);
    this.draw();
  }

  draw() {
    const { map, context, cell, left, top, pointed } = this;
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, left, top, map.cols * cell, map.rows * cell);
    drawBorders(this);
    drawLabels(this);
    if (this.chosen[0] >= 0) this.#frame(this.chosen[0], 0, map.cols);
    if (!pointed) return;
    this.#frame(...pointed, 1);
    drawLabels(this, pointed);
  }

  mark(/** @type {number} */ row) {
    this.chosen = [row, -1];
    this.draw();
  }

  point(/** @type {Cell | null} */ cell) {
    this.pointed = cell;
    this.draw();
  }

  /** The cell under the pointer. @type {(event: MouseEvent) => Cell | null} */
  at(event) {
    const [row, col] = this.place(event) ?? [NaN, NaN];
    return row < this.map.rows && col < this.map.cols ? [row, col] : null;
  }

  /** @type {(row: number, col: number, wide: number) => void} */
  #frame(row, col, wide) {
    const { context, cell, left, top } = this;
    context.strokeStyle = css("--viz-mark");
    context.lineWidth = 2;
    context.strokeRect(left + col * cell - 1, top + row * cell - 1, wide * cell + 2, cell + 2);
  }
}
