// Which part of a map is seen: a square window over the shown tokens, zoomed and moved.

export class Viewport {
  constructor(n) {
    this.n = n;
    this.fit();
  }

  fit() {
    Object.assign(this, { row: 0, col: 0, span: this.n });
  }

  get zoomed() {
    return this.span < this.n;
  }

  // Zoom by a factor around a point given in cells; never past 4 cells or the whole map.
  zoom(factor, row, col) {
    const span = Math.min(this.n, Math.max(Math.min(4, this.n), this.span * factor));
    const kept = span / this.span;
    this.row = row - (row - this.row) * kept;
    this.col = col - (col - this.col) * kept;
    this.span = span;
    this.#stay();
  }

  pan(rows, cols) {
    this.row += rows;
    this.col += cols;
    this.#stay();
  }

  // Move just enough that the cell is seen.
  reveal(row, col) {
    const inside = (at, start) => Math.max(at + 1 - this.span, Math.min(at, start));
    this.row = inside(row, this.row);
    this.col = inside(col, this.col);
    this.#stay();
  }

  // Show a cell in the middle, with no more than so many cells a side.
  center(row, col, most) {
    this.span = Math.min(this.span, Math.max(Math.min(4, this.n), most));
    this.row = row + 0.5 - this.span / 2;
    this.col = col + 0.5 - this.span / 2;
    this.#stay();
  }

  // The whole cells in sight, as [first, last + 1] of rows and of columns.
  cells() {
    const range = (start) => [Math.floor(start), Math.min(this.n, Math.ceil(start + this.span))];
    return [range(this.row), range(this.col)];
  }

  #stay() {
    this.row = Math.min(this.n - this.span, Math.max(0, this.row));
    this.col = Math.min(this.n - this.span, Math.max(0, this.col));
  }
}
