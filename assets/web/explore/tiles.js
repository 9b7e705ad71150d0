// The parts of one head's map that are here: the atlas's coarse one at once, then the finer, then exact cells.

import { anyMasked, largest, largestAmount, topsOf } from "../core/colors.js";
import { Latest } from "../core/latest.js";

/** @typedef {{ values: Float32Array, shape: number[], step: number[], rows: Span, keys: Span, empty: number,
 *   tops?: Float32Array | null, sketch?: boolean, now?: Float32Array, about?: Alone | null
 *   }} Part a block of a map as it came; of a signed one also the weights now, and what has no counterpart */
/** @typedef {Part & { tops: Float32Array, most: number, masked: boolean, painted?: string,
 *   picture?: HTMLCanvasElement }} Tile */

export const WHOLE = 512; // up to so many tokens a whole map comes in one exact piece
const AHEAD = 1024; // and up to so many the map of a head that is aimed at is asked for
const SHORT = 64; // of more tokens, no more than two steps of what comes in several are taken ahead
const KNOWN = 24; // maps that are kept as they were drawn
const THUMBNAIL = 64; // most cells a side of a thumbnail, as the server makes them

/** A part of a map, by itself the whole; pooled where it is large, and of a long map with its rows' largest.
 * @type {(run: Run, view: MapView, rows?: Span, keys?: Span) => Promise<Numbers>} */
export function mapPart(run, view, rows, keys) {
  const { length } = run.shown(view);
  return run.map(view, rows ?? [0, length], keys ?? [0, length], length > WHOLE ? "&tops=true" : "");
}

export class Tiles {
  /** @type {Tile[]} */ list = [];
  asked = ""; // of which map
  /** @type {Map<string, Tile>} */ #known = new Map(); // the latest parts, by what was asked
  /** @type {Map<string, { part: Promise<Tile>, stop: AbortController, waits: number }>} */ #coming = new Map();
  #aiming = new Latest(() => {}); // whoever clicks is told
  #aim = ""; // the map that is aimed at
  /** @type {Promise<unknown>} */ #ahead = Promise.resolve(); // what was asked for last, one at a time

  /** @param {AttentionMap} map is told of each part that comes (`arrived`) */
  constructor(map) {
    this.map = map;
  }

  /** Fetch what is in sight: the whole map when small, else the exact cells before the finer whole.
   * Whether there is anything to show. @type {(run: Run, fresh: Fresh) => Promise<boolean>} */
  async load(run, fresh) {
    const { map } = this;
    const { selection, view } = map;
    const asked = this.#naming(run, selection);
    if (this.asked !== asked) this.list = [];
    this.asked = asked;
    if (!view.n) {
      map.layout();
      return false;
    }
    /** @type {Span} */ const whole = [0, view.n];
    const near = view.n > WHOLE && view.zoomed;
    const name = `${asked}:${whole}:${whole}`;
    const [few = 0] = map.signed?.steps ?? [];
    if (!this.list.length && !this.#known.has(name) && !this.#known.has(`${name}:${few}`)) this.#sketch(run);
    if (!this.list.length || (this.list[0].sketch && !near)) await this.#fetch(run, fresh, whole, whole);
    if (near) await this.#fetch(run, fresh, ...around(view));
    map.painted(asked);
    if (this.list[0].sketch) await this.#fetch(run, fresh, whole, whole);
    return true;
  }

  // Have a head's whole map here, painted, ahead of the click that may choose it; stop once that is aimed elsewhere.
  expect(/** @type {HeadPlace | null} */ place) {
    const { map } = this;
    const { run, view, selection, signed } = map;
    const asked = place && { ...selection, ...place, name: `${place.layer}.${place.head}`, kept: selection.kept };
    const aim = run && asked ? this.#naming(run, asked) : "";
    if (aim === this.#aim) return;
    this.#aim = aim;
    const whole = /** @type {Span} */ ([0, view.n]);
    return this.#aiming.run(async (fresh) => {
      if (!run || !asked || asked.layer >= run.nLayers || asked.head >= run.nHeads) return; // of the run before
      if (!view.n || view.n > AHEAD) return;
      await fresh(this.#ahead);
      for (const most of signed?.steps?.slice(0, run.n > SHORT ? 2 : undefined) ?? [0]) {
        const coming = this.#part(run, asked, whole, whole, fresh, most);
        this.#ahead = coming.catch(() => {});
        map.prepare(await fresh(coming));
      }
    });
  }

  /** @type {(run: Run, view: { name: string, kept: string }) => string} */
  #naming(run, { name, kept }) {
    const { signed } = this.map;
    return `${run.key}:${name}:${kept}${signed ? `:${signed.shows}` : ""}`;
  }

  /** A part, as it is known; `most` is a step of what comes in several.
   * @type {(run: Run, view: MapView & { name: string, kept: string }, rows: Span, keys: Span, fresh: Fresh, most?: number) => Promise<Tile>} */
  async #part(run, view, rows, keys, { signal }, most = 0) {
    const { signed } = this.map;
    const whole = `${this.#naming(run, view)}:${rows}:${keys}`;
    const name = most && !this.#known.has(whole) ? `${whole}:${most}` : whole;
    const ask = async (/** @type {AbortSignal} */ stop) =>
      signed
        ? inPlace(run, signed, view, rows, keys, stop, most)
        : surveyed({ ...(await mapPart(run, view, rows, keys)), rows, keys });
    const tile = this.#known.get(name) ?? (await this.#once(name, ask, signal));
    this.#known.delete(name);
    this.#known.set(name, tile);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN) this.#known.delete(oldest);
    return tile;
  }

  /** Asked for once, however many wait for it; none of whom wants it any more, it is stopped.
   * @type {(name: string, ask: (stop: AbortSignal) => Promise<Tile>, signal: AbortSignal) => Promise<Tile>} */
  #once(name, ask, signal) {
    let coming = this.#coming.get(name);
    if (!coming?.waits) {
      const stop = new AbortController();
      const asked = { part: ask(stop.signal), stop, waits: 0 };
      const end = () => this.#coming.get(name) === asked && this.#coming.delete(name);
      asked.part.then(end, end);
      this.#coming.set(name, asked);
      coming = asked;
    }
    const { part, stop } = coming;
    coming.waits++;
    signal.addEventListener("abort", () => --coming.waits || stop.abort(), { once: true });
    return part;
  }

  /** The weight of a cell if an exact piece holds it, else the pooled one, with how many it stands for; where
   * it is a change, `now` is the weight.
   * @type {(row: number, col: number) => { value: number, step: number[], tile?: Tile, now?: number }} */
  at(row, col) {
    for (const tile of this.list.toReversed()) {
      const { rows, keys, step, shape, values } = tile;
      if (row < rows[0] || row >= rows[1] || col < keys[0] || col >= keys[1]) continue;
      const at = Math.floor((row - rows[0]) / step[0]) * shape[1] + Math.floor((col - keys[0]) / step[1]);
      return { value: values[at], step, tile, ...(tile.now && { now: tile.now[at] }) };
    }
    return { value: NaN, step: [1, 1] };
  }

  // The head's thumbnail, where the atlas has it: the true largest of each block, at no cost; of what takes its time
  // to be measured, cells without a number.
  #sketch(/** @type {Run} */ run) {
    const { n } = this.map.view;
    const { signed, selection } = this.map;
    const slow = signed?.steps ? unmeasured(n) : null;
    const thumbnail = slow ?? (!signed && n > WHOLE && n === run.n ? run.thumbnail(selection) : null);
    if (!thumbnail) return;
    const step = thumbnail.shape.map((cells) => Math.ceil(n / (slow ? cells : THUMBNAIL)));
    this.list = [surveyed({ ...thumbnail, step, rows: [0, n], keys: [0, n], empty: 0, sketch: true })];
    this.map.arrived();
    this.map.node.dataset.coarse = this.asked;
  }

  /** @type {(run: Run, fresh: Fresh, rows: Span, keys: Span) => Promise<void>} */
  async #fetch(run, fresh, rows, keys) {
    const { map } = this;
    if (this.list.some((tile) => !tile.sketch && `${tile.rows}:${tile.keys}` === `${rows}:${keys}`)) return;
    const { selection } = map;
    for (const most of map.signed?.steps ?? [0]) {
      const tile = await fresh(this.#part(run, selection, rows, keys, fresh, most));
      // The whole lies below the window that was zoomed into, whichever comes first.
      const whole = rows[1] - rows[0] === map.view.n;
      this.list = whole ? [tile, ...this.list.slice(1)] : [...this.list.slice(0, 1), tile];
      map.arrived();
      if (!tile.sketch) return;
      map.node.dataset.begun = this.asked;
    }
  }
}

/** A window around what is seen, so that small moves need nothing new. @returns {[Span, Span]} */
function around(/** @type {Viewport} */ view) {
  const room = (/** @type {Span} */ [start, stop]) => {
    const more = Math.max(0, Math.floor((WHOLE - (stop - start)) / 2));
    return /** @type {Span} */ ([Math.max(0, start - more), Math.min(view.n, stop + more)]);
  };
  const [rows, cols] = view.cells();
  return [room(rows), room(cols)];
}

/** A part of a signed map; single cells come with their weights.
 * @type {(run: Run, signed: Signed, view: MapView, rows: Span, keys: Span, signal: AbortSignal, most: number) => Promise<Tile>} */
async function inPlace(run, signed, view, rows, keys, signal, most) {
  const exact = Math.max(rows[1] - rows[0], keys[1] - keys[0]) <= WHOLE;
  const asked = /** @type {const} */ ([
    signed.part(run, view, rows, keys, most, signal),
    exact && mapPart(run, view, rows, keys),
  ]);
  const [found, now] = await Promise.all(asked);
  const largest = largestAmount(found.values);
  const [none, weights] = [new Float32Array(), now ? { now: now.values } : {}];
  const { rows: alone = [], keys: others = [] } = found.about ?? {};
  const hatched = alone.length * found.shape[1] + others.length * (found.shape[0] - alone.length);
  const masked = countNaN(found.values) > hatched;
  return { ...found, rows, keys, tops: none, most: largest, masked, sketch: most > 0, ...weights };
}

/** So many tokens' map without a number yet. @type {(n: number) => Pick<Numbers, "values" | "shape">} */
function unmeasured(n) {
  const side = Math.min(n, WHOLE);
  return { values: new Float32Array(side * side).fill(NaN), shape: [side, side] };
}

function countNaN(/** @type {Float32Array} */ values) {
  let found = 0;
  for (let at = 0; at < values.length; at++) if (Number.isNaN(values[at])) found++;
  return found;
}

// A part with its largest weight, that of each of its rows, and whether any cell is masked.
function surveyed(/** @type {Part} */ part) {
  const tops = part.tops ?? topsOf(part.values, part.shape[1]);
  return { ...part, tops, most: largest(part.tops ? part.values : tops), masked: anyMasked(part.values) };
}
