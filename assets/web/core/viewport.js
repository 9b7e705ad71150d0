// Visible part of a map: a square window over the shown tokens, zoomed and panned.

/** @typedef {[number, number]} Span the first, and the one after the last */
/** @typedef {{ left: number, top: number, side: number }} Frame where the square lies, in pixels */

export class Viewport {
  row = 0;
  col = 0;

  constructor(/** @type {number} */ n) {
    this.n = n;
    this.span = n;
  }

  fit() {
    Object.assign(this, { row: 0, col: 0, span: this.n });
  }

  get zoomed() {
    return this.span < this.n;
  }

  /** Zoom by a factor around a point given in cells; never past 4 cells or the whole map.
   * @type {(factor: number, row: number, col: number) => void} */
  zoom(factor, row, col) {
    const span = Math.min(this.n, Math.max(Math.min(4, this.n), this.span * factor));
    const kept = span / this.span;
    this.row = row - (row - this.row) * kept;
    this.col = col - (col - this.col) * kept;
    this.span = span;
    this.#stay();
  }

  /** @type {(rows: number, cols: number) => void} */
  pan(rows, cols) {
    this.row += rows;
    this.col += cols;
    this.#stay();
  }

  // Move just enough that the cell is seen.
  reveal(/** @type {number} */ row, /** @type {number} */ col) {
    const inside = (/** @type {number} */ at, /** @type {number} */ start) =>
      Math.max(at + 1 - this.span, Math.min(at, start));
    this.row = inside(row, this.row);
    this.col = inside(col, this.col);
    this.#stay();
  }

  /** Show a cell in the middle, with no more than so many cells a side.
   * @type {(row: number, col: number, most: number) => void} */
  center(row, col, most) {
    this.span = Math.min(this.span, Math.max(Math.min(4, this.n), most));
    this.row = row + 0.5 - this.span / 2;
    this.col = col + 0.5 - this.span / 2;
    this.#stay();
  }

  /** Link form; "" if everything is in view. */
  get written() {
    const rounded = [this.row, this.col, this.span].map((value) => Math.round(value * 100) / 100);
    return this.zoomed ? rounded.join(",") : "";
  }

  // Parts that do not fit stay unchanged.
  read(/** @type {string} */ written) {
    const [row, col, span] = written.split(",").map(Number);
    if (![row, col, span].every(Number.isFinite) || span < Math.min(4, this.n) || span > this.n) return;
    Object.assign(this, { row, col, span });
    this.#stay();
  }

  /** The whole cells in sight, as [first, last + 1] of rows and of columns. @returns {[Span, Span]} */
  cells() {
    const range = (/** @type {number} */ start) =>
      /** @type {Span} */ ([Math.floor(start), Math.min(this.n, Math.ceil(start + this.span))]);
    return [range(this.row), range(this.col)];
  }

  /** The place under a pixel, in cells and parts of them: [row, column]; null outside the square.
   * @type {(x: number, y: number, frame: Frame) => [number, number] | null} */
  place(x, y, { left, top, side }) {
    const [down, right] = [(y - top) / side, (x - left) / side];
    const [row, col] = [this.row + down * this.span, this.col + right * this.span];
    const inside = down >= 0 && right >= 0 && down < 1 && right < 1;
    return inside && row < this.n && col < this.n ? [row, col] : null;
  }

  /** The pixel in the middle of a cell: [x, y]. @type {(row: number, col: number, frame: Frame) => [number, number]} */
  middle(row, col, { left, top, side }) {
    const cell = side / this.span;
    return [left + (col - this.col + 0.5) * cell, top + (row - this.row + 0.5) * cell];
  }

  #stay() {
    this.row = Math.min(this.n - this.span, Math.max(0, this.row));
    this.col = Math.min(this.n - this.span, Math.max(0, this.col));
  }
}
