// How much weight is in sight, or in a part marked with Shift: its total, and the mean of a query.

import { el, count, number } from "../core/dom.js";

export class Sight {
  constructor(map) {
    this.map = map;
    this.seen = el("p", { class: "viz-caption viz-sight" });
    this.told = el("p", { class: "viz-caption viz-marked", role: "status" });
    this.node = el("div", {}, this.seen, this.told);
    this.clear();
  }

  clear() {
    Object.assign(this, { marked: null, anchor: null, end: null });
    this.told.textContent = "Shift + drag, or Shift + arrows, marks a part of the map and sums its weight.";
  }

  // What is in sight, once its exact cells or their sum have come; of another map nothing stays.
  draw() {
    const { asked } = this.map.parts;
    const [rows, keys] = this.map.view.cells();
    const total = this.#known(rows, keys);
    if (total !== null) this.seen.textContent = this.#sentence("In sight", rows, keys, total);
    else if (this.of !== asked) this.seen.textContent = "Summing what is in sight …";
    if (this.of !== asked && this.marked && this.#known(...this.marked) === null) this.told.textContent = "Summing …";
    this.of = asked;
  }

  // Mark the cells between two corners, both with it.
  mark(anchor, end) {
    Object.assign(this, {
      anchor,
      end,
      marked: [0, 1].map((axis) => [Math.min(anchor[axis], end[axis]), Math.max(anchor[axis], end[axis]) + 1]),
    });
    const [rows, keys] = this.marked;
    const total = this.#known(rows, keys);
    if (total !== null) this.#tell(total);
    else this.#ask(this.marked);
  }

  async #ask(marked) {
    this.told.textContent = "Summing …";
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      const { map } = this;
      try {
        const { total } = await map.run.map(map.selection, ...marked, "&size=1");
        if (this.marked === marked) this.#tell(total);
      } catch (fault) {
        if (this.marked === marked) this.told.textContent = fault.message;
      }
    }, 80);
  }

  #tell(total) {
    this.told.textContent = `${this.#sentence("Marked", ...this.marked, total)} Escape lets go of it.`;
  }

  // The exact weight of a part, by the cells at hand or by the server's own sum; else null.
  #known(rows, keys) {
    for (const tile of this.map.tiles.toReversed()) {
      if (tile.rows.join() === rows.join() && tile.keys.join() === keys.join()) return tile.total;
      const covers =
        tile.rows[0] <= rows[0] && tile.rows[1] >= rows[1] && tile.keys[0] <= keys[0] && tile.keys[1] >= keys[1];
      if (covers && tile.step[0] * tile.step[1] === 1) return sum(tile, rows, keys);
    }
    return null;
  }

  #sentence(what, rows, keys, total) {
    const { selection } = this.map;
    const [queries, columns] = [rows[1] - rows[0], keys[1] - keys[0]];
    const part =
      `${what}: ${many(queries, selection.words ? ["query word", "query words"] : ["query", "queries"])} × ` +
      many(columns, selection.words ? ["key word", "key words"] : ["key", "keys"]);
    const each = total / queries;
    if (selection.head === "max" && !selection.renorm) {
      return `${part} hold a weight of ${amount(total)}, ${number(each)} per query (the rows of a maximum need not sum to 1).`;
    }
    const whole = selection.renorm ? "renormalized weight" : "weight";
    const whose = queries === 1 ? "this query's" : "these queries'";
    return `${part} hold ${percent(each)} of ${whose} ${whole} (${amount(total)} in total, ${number(each)} per query).`;
  }
}

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

const many = (n, [one, several]) => `${count(n)} ${n === 1 ? one : several}`;
const amount = (total) => (total >= 100 ? count(Math.round(total * 10) / 10) : number(total));
const percent = (share) => (share > 0 && share < 0.0005 ? "less than 0.1 %" : `${(share * 100).toFixed(1)} %`);
