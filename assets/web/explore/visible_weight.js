// Weight in view, or in a part marked with Shift: its total, and the mean per query.

import { count, el, number } from "../core/dom.js";
import { Latest } from "../core/latest.js";

/** @import { AttentionMap, Part, Range } from "./types.d.ts" */

const PAUSE = 80; // milliseconds that a marked part stays the same, before the server sums it
const HINT = "Shift + drag, or Shift + arrows, marks a part of the map and sums its weight.";
const SUMMING = "Summing …";

export class VisibleWeight {
  #latest = new Latest((sentence) => this.told.replaceChildren(sentence));
  #of = ""; // which map
  seen = el("p", { class: "viz-caption viz-sight" });
  told = el("p", { class: "viz-caption viz-marked", role: "status" }, HINT);
  node = el("div", {}, this.seen, this.told);
  /** @type {[Range, Range] | null} */ marked = null;
  /** @type {Cell | null} */ anchor = null;
  /** @type {Cell | null} */ end = null;

  constructor(/** @type {AttentionMap} */ map) {
    this.map = map;
  }

  clear() {
    this.#latest.stop();
    this.marked = this.anchor = this.end = null;
    this.told.textContent = HINT;
  }

  // Show the visible weight, once its exact cells or their sum arrive; another map clears it.
  draw() {
    const { selection, view, tiles, parts } = this.map;
    const [rows, keys] = view.cells();
    const total = weightOf(tiles, rows, keys);
    const other = this.#of !== parts.asked;
    const whole = rows[0] === 0 && rows[1] === view.n && keys[0] === 0 && keys[1] === view.n;
    if (whole && !selection.hide) this.seen.textContent = "";
    else if (total !== null) this.seen.textContent = weightSentence("Visible part", rows, keys, total, selection);
    else if (other) this.seen.textContent = "Summing the visible part …";
    if (other && this.marked && weightOf(tiles, ...this.marked) === null) this.told.textContent = SUMMING;
    this.#of = parts.asked;
  }

  /** Mark the cells between two corners, both with it. @type {(anchor: Cell, end: Cell) => void} */
  mark(anchor, end) {
    const { run, selection, tiles } = this.map;
    const side = (/** @type {0 | 1} */ axis) =>
      /** @type {Range} */ ([Math.min(anchor[axis], end[axis]), Math.max(anchor[axis], end[axis]) + 1]);
    const [rows, keys] = [side(0), side(1)];
    [this.anchor, this.end, this.marked] = [anchor, end, [rows, keys]];
    const tell = (/** @type {number} */ total) => {
      this.told.textContent = `${weightSentence("Marked", rows, keys, total, selection)} Press Esc to clear.`;
    };
    this.#latest.stop();
    const known = weightOf(tiles, rows, keys);
    if (known !== null) return tell(known);
    this.told.textContent = SUMMING;
    if (!run) return;
    const ask = () => run.map(selection, rows, keys, "&size=1");
    this.#latest.run(async (fresh) => tell((await fresh(ask())).total), { pause: PAUSE });
  }

  // Update the marked part for the current map.
  again() {
    if (this.anchor && this.end) this.mark(this.anchor, this.end);
  }
}

/** The exact weight of a part, by the cells at hand or by the server's own sum; else null.
 * @type {(tiles: Part[], rows: Range, keys: Range) => number | null} */
export function weightOf(tiles, rows, keys) {
  const within = (/** @type {Range} */ [start, stop], /** @type {Range} */ [from, to]) => start >= from && stop <= to;
  for (const tile of tiles.toReversed()) {
    if (`${tile.rows}:${tile.keys}` === `${rows}:${keys}`) return tile.total;
    const covered = within(rows, tile.rows) && within(keys, tile.keys);
    if (covered && tile.step[0] * tile.step[1] === 1) return sum(tile, rows, keys);
  }
  return null;
}

/** @type {(tile: Part, rows: Range, keys: Range) => number} */
function sum({ rows: [top], keys: [left], shape: [, width], values }, rows, keys) {
  let total = 0;
  for (let row = rows[0]; row < rows[1]; row++) {
    for (let key = keys[0]; key < keys[1]; key++) {
      const value = values[(row - top) * width + key - left];
      if (value > 0) total += value; // NaN is masked
    }
  }
  return total;
}

/** @type {(what: string, rows: Range, keys: Range, total: number, view: MapView) => string} */
export function weightSentence(what, rows, keys, total, { head, renorm, words }) {
  const queries = rows[1] - rows[0];
  const sides = words ? ["query word", "query words", "key word", "key words"] : ["query", "queries", "key", "keys"];
  const part = `${what}: ${many(queries, sides[0], sides[1])} × ${many(keys[1] - keys[0], sides[2], sides[3])}`;
  const hold = queries * (keys[1] - keys[0]) === 1 ? "holds" : "hold";
  const [each, all] = [total / queries, amount(total)];
  if (head === "max" && !renorm) {
    return `${part} ${hold} a weight of ${all}, ${number(each)} per query (with the maximum over heads, rows need not sum to 1).`;
  }
  const whose = `${queries === 1 ? "this query's" : "these queries'"} ${renorm ? "renormalized weight" : "weight"}`;
  return `${part} ${hold} ${percent(each)} of ${whose} (${all} in total, ${number(each)} per query).`;
}

/** @type {(n: number, one: string, several: string) => string} */
const many = (n, one, several) => `${count(n)} ${n === 1 ? one : several}`;
const amount = (/** @type {number} */ total) => (total >= 100 ? count(Math.round(total * 10) / 10) : number(total));
const percent = (/** @type {number} */ share) =>
  share > 0 && share < 0.0005 ? "less than 0.1%" : `${(share * 100).toFixed(1)}%`;
