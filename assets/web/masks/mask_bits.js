// A mask in the browser: one byte a cell, 1 = may attend; packed to bits on its way to the server.

import { count } from "../core/dom.js";
import { numbered } from "../core/token_names.js";

/** @import { Cell } from "../views/mask_grid.js" */

const MOST_NAMED = 5;
const MOST_UNDONE = 100;

export class Mask {
  /** @type {ReturnType<Mask["summary"]> | null} */
  #summary = null;
  /** @type {boolean | null} */
  #byKey = null;

  constructor(/** @type {number} */ n, cells = new Uint8Array(n * n).fill(1)) {
    this.n = n;
    this.cells = cells;
  }

  /** From bits, row by row, the first cell in the highest bit; `from` counts cells that are passed over.
   * @type {(n: number, bits: Uint8Array, from?: number) => Mask} */
  static unpack(n, bits, from = 0) {
    const cells = new Uint8Array(n * n); // in a loop: a call a cell took half a second for 2,048 tokens
    for (let at = 0, bit = from; at < cells.length; at++, bit++) cells[at] = (bits[bit >> 3] >> (7 - (bit & 7))) & 1;
    return new Mask(n, cells);
  }

  pack() {
    const bits = new Uint8Array(Math.ceil(this.cells.length / 8));
    for (let at = 0; at < this.cells.length; at++) if (this.cells[at]) bits[at >> 3] |= 128 >> (at & 7);
    return bits;
  }

  /** @type {(row: number, col: number) => number} */
  at(row, col) {
    return this.cells[row * this.n + col];
  }

  /** A mask with other values in some cells; this one stays as it is. With `symmetric`, across the diagonal too.
   * @type {(places: Cell[], value: number, symmetric?: boolean) => Mask} */
  with(places, value, symmetric = false) {
    const cells = this.cells.slice();
    for (const [row, col] of places) {
      cells[row * this.n + col] = value;
      if (symmetric) cells[col * this.n + row] = value;
    }
    return new Mask(this.n, cells);
  }

  inverted() {
    const cells = this.cells.map((cell) => 1 - cell);
    return new Mask(this.n, cells);
  }

  equals(/** @type {Mask} */ other) {
    if (other === this) return true;
    if (other.n !== this.n) return false;
    for (let at = 0; at < this.cells.length; at++) if (this.cells[at] !== other.cells[at]) return false;
    return true;
  }

  // Whether it is one row for all queries, as a key_padding_mask is.
  get byKey() {
    this.#byKey ??= this.#rowsAlike();
    return this.#byKey;
  }

  #rowsAlike() {
    const { n, cells } = this;
    for (let at = n; at < cells.length; at++) if (cells[at] !== cells[at - n]) return false;
    return true;
  }

  // How many pairs are forbidden, and the queries that have no key at all.
  /** @returns {{ forbidden: number, empty: number[] }} */
  summary() {
    this.#summary ??= this.#counted();
    return this.#summary;
  }

  #counted() {
    const { n, cells } = this;
    let forbidden = 0;
    const empty = [];
    for (let row = 0, at = 0; row < n; row++) {
      let allowed = 0;
      for (let col = 0; col < n; col++, at++) allowed += cells[at];
      forbidden += n - allowed;
      if (!allowed) empty.push(row);
    }
    return { forbidden, empty };
  }

  // A large mask as blocks, at most so many a side: their names, and what share of each may attend.
  blocks(/** @type {number} */ most) {
    const { n, cells } = this;
    const m = Math.min(n, most);
    const edges = Array.from({ length: m + 1 }, (_, at) => Math.round((at * n) / m));
    const sums = new Float32Array(m * m);
    const block = new Uint16Array(n);
    for (let at = 0; at < m; at++) block.fill(at, edges[at], edges[at + 1]);
    for (let row = 0, at = 0; row < n; row++)
      for (let col = 0, first = block[row] * m; col < n; col++, at++) sums[first + block[col]] += cells[at];
    const size = (/** @type {number} */ at) => edges[at + 1] - edges[at];
    return {
      names: edges.slice(0, -1).map((start, at) => `${start}–${edges[at + 1] - 1}`),
      share: (/** @type {number} */ at) => sums[at] / (size(Math.floor(at / m)) * size(at % m)),
    };
  }
}

// Masks that were there before, to go back to and forth again.
export class History {
  #at = 0;
  #masks;

  constructor(/** @type {Mask} */ first) {
    this.#masks = [first];
  }

  get now() {
    return this.#masks[this.#at];
  }

  push(/** @type {Mask} */ next) {
    this.#masks = [...this.#masks.slice(0, this.#at + 1), next].slice(-MOST_UNDONE - 1);
    this.#at = this.#masks.length - 1;
  }

  // Whether there is a mask so many steps away, and going there: −1 is undo, 1 is redo.
  has(/** @type {number} */ steps) {
    return this.#masks[this.#at + steps] !== undefined;
  }

  go(/** @type {number} */ steps) {
    if (this.has(steps)) this.#at += steps;
  }
}

/** Tokens by number and name, the first of them. @type {(places: number[], tokens: string[]) => string} */
export function listed(places, tokens) {
  const named = places.slice(0, MOST_NAMED).map((at) => numbered(at, tokens[at]));
  const more = places.length - named.length;
  return `${named.join(", ")}${more ? `, and ${count(more)} more` : ""}`;
}
