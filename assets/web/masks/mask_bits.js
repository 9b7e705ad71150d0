// A mask in the browser: one byte a cell, 1 = may attend; packed to bits on its way to the server.

export class Mask {
  constructor(n, cells = new Uint8Array(n * n).fill(1)) {
    this.n = n;
    this.cells = cells;
  }

  // From bits, row by row, the first cell in the highest bit; `from` counts cells that are passed over.
  static unpack(n, bits, from = 0) {
    const cells = new Uint8Array(n * n);
    for (let at = 0; at < cells.length; at++) cells[at] = (bits[(from + at) >> 3] >> (7 - ((from + at) & 7))) & 1;
    return new Mask(n, cells);
  }

  pack() {
    const bits = new Uint8Array(Math.ceil(this.cells.length / 8));
    this.cells.forEach((cell, at) => {
      if (cell) bits[at >> 3] |= 128 >> (at & 7);
    });
    return bits;
  }

  at(row, col) {
    return this.cells[row * this.n + col];
  }

  // A mask with other values in some cells; this one stays as it is. With `symmetric`, across the diagonal too.
  with(places, value, symmetric = false) {
    const cells = this.cells.slice();
    for (const [row, col] of places) {
      cells[row * this.n + col] = value;
      if (symmetric) cells[col * this.n + row] = value;
    }
    return new Mask(this.n, cells);
  }

  inverted() {
    return new Mask(
      this.n,
      this.cells.map((cell) => 1 - cell),
    );
  }

  equals(other) {
    return other?.n === this.n && this.cells.every((cell, at) => cell === other.cells[at]);
  }

  // How many pairs are forbidden, and the queries that have no key at all.
  summary() {
    let forbidden = 0;
    const empty = [];
    for (let row = 0; row < this.n; row++) {
      let allowed = 0;
      for (let col = 0; col < this.n; col++) allowed += this.cells[row * this.n + col];
      forbidden += this.n - allowed;
      if (!allowed) empty.push(row);
    }
    return { forbidden, empty };
  }
}

// Masks that were there before, to go back to and forth again.
export class History {
  #past = [];
  #future = [];

  static MOST = 100;

  constructor(first) {
    this.now = first;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  get canRedo() {
    return this.#future.length > 0;
  }

  push(next) {
    this.#past.push(this.now);
    if (this.#past.length > History.MOST) this.#past.shift();
    this.#future = [];
    this.now = next;
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.now);
    this.now = this.#past.pop();
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.now);
    this.now = this.#future.pop();
  }
}
