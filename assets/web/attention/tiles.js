// The parts of one head's map that are here: the atlas's coarse one at once, then the finer, then exact cells.

import { anyMasked, largest, topsOf } from "../core/colors.js";

const WHOLE = 512; // up to so many tokens a whole map comes in one exact piece
const THUMBNAIL = 64; // most cells a side of a thumbnail, as the server makes them

export class Tiles {
  // The map is told of each part that comes (`arrived`).
  constructor(map) {
    Object.assign(this, { map, list: [], asked: null });
  }

  // Fetch what is in sight: the whole map when small, else the exact cells before the finer whole.
  // Whether all came; false where there is nothing to show, or another map is wanted by now.
  async load() {
    const {
      map,
      map: { run, selection, view },
    } = this;
    const asked = `${run.key}:${selection.name}:${selection.kept}`;
    if (this.asked !== asked) this.list = [];
    this.asked = asked;
    if (!view.n) {
      map.layout();
      return false;
    }
    const whole = [0, view.n];
    if (!this.list.length) this.#sketch(asked, whole);
    const near = view.n > WHOLE && view.zoomed;
    if (!this.list.length || (this.list[0].sketch && !near)) await this.#fetch(asked, whole, whole);
    if (near) await this.#fetch(asked, ...this.#wanted());
    if (this.asked !== asked) return false;
    map.node.dataset.painted = asked;
    if (this.list[0].sketch) await this.#fetch(asked, whole, whole);
    return this.asked === asked;
  }

  // Ask for a head's whole map ahead of the click that will choose it; the answer is remembered.
  expect(layer, head) {
    const {
      run,
      view,
      selection: { hide, renorm, words },
    } = this.map;
    if (view.n && view.n <= WHOLE)
      run.map({ layer, head, hide, renorm, words }, [0, view.n], [0, view.n]).catch(() => {});
  }

  // The weight of a cell if an exact piece holds it, else the pooled one, with how many it stands for.
  at(row, col) {
    for (const tile of this.list.toReversed()) {
      const { rows, keys, step, shape, values } = tile;
      if (row < rows[0] || row >= rows[1] || col < keys[0] || col >= keys[1]) continue;
      const at = Math.floor((row - rows[0]) / step[0]) * shape[1] + Math.floor((col - keys[0]) / step[1]);
      return { value: values[at], step, tile };
    }
    return { value: NaN, step: [1, 1] };
  }

  // The head's thumbnail, where the atlas has it: the true largest of each block, at no cost.
  #sketch(asked, whole) {
    const {
      map,
      map: { run, selection, view },
    } = this;
    const thumbnail = view.n > WHOLE && view.n === run.n && run.thumbnail(selection);
    if (!thumbnail) return;
    const { values, shape } = thumbnail;
    const step = shape.map(() => Math.ceil(view.n / THUMBNAIL));
    this.list = [surveyed({ values, shape, step, rows: whole, keys: whole, total: null, sketch: true })];
    map.arrived();
    map.node.dataset.coarse = asked;
  }

  async #fetch(asked, rows, keys) {
    const { map } = this;
    const known = this.list.some(
      (tile) => !tile.sketch && tile.rows.join() === rows.join() && tile.keys.join() === keys.join(),
    );
    if (known) return;
    const found = await map.run.map(map.selection, rows, keys, map.view.n > WHOLE ? "&tops=true" : "");
    if (this.asked !== asked) return;
    const tile = surveyed({ ...found, rows, keys });
    // The whole lies below the window that was zoomed into, whichever comes first.
    const whole = rows[1] - rows[0] === map.view.n;
    this.list = whole ? [tile, ...this.list.slice(1)] : [...this.list.slice(0, 1), tile];
    map.arrived();
  }

  // A window around what is seen, so that small moves need nothing new.
  #wanted() {
    const { view } = this.map;
    return view.cells().map(([start, stop]) => {
      const room = Math.max(0, Math.floor((WHOLE - (stop - start)) / 2));
      return [Math.max(0, start - room), Math.min(view.n, stop + room)];
    });
  }
}

// A part with its largest weight, that of each of its rows, and whether any cell is masked.
function surveyed(tile) {
  const { values, shape } = tile;
  const tops = tile.tops ?? topsOf(values, shape[1]);
  return { ...tile, tops, most: largest(tile.tops ? values : tops), masked: anyMasked(values) };
}
