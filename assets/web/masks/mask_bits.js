// A mask in the browser: one byte a cell, 1 = may attend; packed to bits on its way to the server, and while
// it waits to be brought back.

import { count } from "../core/dom.js";
import { numbered } from "../core/token_names.js";

const MOST_NAMED = 5;
const MOST_UNDONE = 100;

export class Mask {
  /** @type {Uint8Array | null} */
  #cells;
  /** @type {Uint8Array<ArrayBuffer> | null} */
  #bits = null;
  /** @type {ReturnType<Mask["summary"]> | null} */
  #summary = null;
  /** @type {boolean | null} */
  #byKey = null;

  /** Everything allowed, where no cells are given. @param {number} n @param {Uint8Array | null} [cells] */
  constructor(n, cells = new Uint8Array(n * n).fill(1)) {
    this.n = n;
    this.#cells = cells;
  }

  /**
   * Unpack bits, row by row, most significant bit first.
   * @type {(n: number, bits: Uint8Array<ArrayBuffer>) => Mask}
   */
  static unpack(n, bits) {
    const mask = new Mask(n, null);
    mask.#bits = bits;
    return mask;
  }

  get cells() {
    this.#cells ??= unpacked(this.n, /** @type {Uint8Array} */ (this.#bits));
    return this.#cells;
  }

  pack() {
    this.#bits ??= packed(this.cells);
    return this.#bits;
  }

  // Keep its bits alone until it is looked at again: a hundred masks of 2,048 tokens are 50 MB, not 400.
  rest() {
    this.pack();
    this.#cells = null;
  }

  /** @type {(row: number, col: number) => number} */
  at(row, col) {
    return this.cells[row * this.n + col];
  }

  /** A mask with another value in some areas; this one stays as it is. With `symmetric`, across the diagonal too.
   * @type {(areas: Area[], value: number, symmetric?: boolean) => Mask} */
  with(areas, value, symmetric = false) {
    return new Mask(this.n, this.cells.slice()).cover(areas, value, symmetric);
  }

  /** Paint in place; only for the mask's creator, before it is shared.
   * @type {(areas: Area[], value: number, symmetric?: boolean) => Mask} */
  cover(areas, value, symmetric = false) {
    const { n, cells } = this;
    const fill = (/** @type {number[]} */ [top, bottom], /** @type {number[]} */ [left, right]) => {
      for (let row = top; row <= bottom; row++) cells.fill(value, row * n + left, row * n + right + 1);
    };
    for (const [[r0, c0], [r1, c1]] of areas) {
      const rows = [Math.min(r0, r1), Math.max(r0, r1)];
      const cols = [Math.min(c0, c1), Math.max(c0, c1)];
      fill(rows, cols);
      if (symmetric) fill(cols, rows);
    }
    this.#bits = this.#summary = this.#byKey = null;
    return this;
  }

  inverted() {
    const cells = this.cells.map((cell) => 1 - cell);
    return new Mask(this.n, cells);
  }

  equals(/** @type {Mask} */ other) {
    if (other === this) return true;
    if (other.n !== this.n) return false;
    const [ours, theirs] = [this.pack(), other.pack()];
    for (let at = 0; at < ours.length; at++) if (ours[at] !== theirs[at]) return false;
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

  // Number of forbidden pairs, and the queries without any key.
  /** @returns {{ forbidden: number, empty: number[] }} */
  summary() {
    this.#summary ??= this.#counted();
    return this.#summary;
  }

  #counted() {
    const { n, cells } = this;
    const empty = Array.from({ length: n }, (_, row) => row).filter(
      (row) => !cells.subarray(row * n, (row + 1) * n).includes(1),
    );
    let forbidden = n * n;
    for (let at = 0; at < cells.length; at++) forbidden -= cells[at];
    return { forbidden, empty };
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
    this.now.rest();
    this.#masks = [...this.#masks.slice(0, this.#at + 1), next].slice(-MOST_UNDONE - 1);
    this.#at = this.#masks.length - 1;
  }

  // Whether there is a mask so many steps away, and going there: −1 is undo, 1 is redo.
  has(/** @type {number} */ steps) {
    return this.#masks[this.#at + steps] !== undefined;
  }

  go(/** @type {number} */ steps) {
    if (!this.has(steps)) return;
    this.now.rest();
    this.#at += steps;
  }
}

/** Tokens by number and name, the first of them. @type {(places: number[], tokens: string[]) => string} */
export function listed(places, tokens) {
  const named = places.slice(0, MOST_NAMED).map((at) => numbered(at, tokens[at]));
  const more = places.length - named.length;
  return `${named.join(", ")}${more ? `, and ${count(more)} more` : ""}`;
}

/** @type {(n: number, bits: Uint8Array) => Uint8Array} */
function unpacked(n, bits) {
  const cells = new Uint8Array(n * n);
  for (let at = 0; at < cells.length; at++) cells[at] = (bits[at >> 3] >> (7 - (at & 7))) & 1;
  return cells;
}

/** @type {(cells: Uint8Array) => Uint8Array<ArrayBuffer>} */
function packed(cells) {
  const bits = new Uint8Array(Math.ceil(cells.length / 8));
  for (let at = 0; at < cells.length; at++) bits[at >> 3] |= cells[at] << (7 - (at & 7));
  return bits;
}
