// The words of a run, shaded by where one of them looks, with its lines; another sequence's words below them.

import { makeScale } from "../core/colors.js";
import { el, number } from "../core/dom.js";
import { Words } from "../views/token_strip.js";
import { drawArcs, isSingle, ROOM } from "../core/arcs.js";

/** @import { Reading } from "./row_reading.js" */
/** @typedef {{ preview: (row: number | null) => unknown, choose: (row: number) => unknown,
 *   pointKey: (key: number | null) => unknown }} StripActs */

const STRONG = 0.2; // the least weight of another word's line
const ROOM_WRAPPED = 18; // pixels above several lines of words
const MOST_FAINT = 200;

export class WordStrip {
  /** @type {KeptMap | null} */
  map = null;
  values = /** @type {Float32Array} */ (new Float32Array());
  lines = el("canvas", { class: "arcs", "aria-hidden": "true" });
  row = 0;
  /** @type {Reading | null} */
  reading = null;

  /** @param {StripFacts} facts @param {StripActs} acts */
  constructor(facts, { preview, choose, pointKey }) {
    this.facts = facts;
    this.queries = new Words({ label: "Query (who looks): choose a token", preview, choose });
    this.keys = new Words({ label: "Key (who is looked at)", preview: pointKey, choose: pointKey });
    this.keysName = el("h2", {}, "Key (who is looked at)");
    this.queriesName = el("h2", {}, "Query (who looks)");
    this.box = el("div", { class: "words" }, this.queries.text, this.lines);
    this.keysBox = el("div", { class: "words" }, this.keys.text);
    const queries = [this.queriesName, this.box, this.queries.parts];
    this.node = el("div", {}, ...queries, this.keysName, this.keysBox, this.keys.parts);
    // The words may come in parts, and the box may scroll: lines are drawn where the chips are.
    new MutationObserver(() => this.layout()).observe(this.queries.text, { childList: true });
  }

  /** @type {(map: KeptMap, values: Float32Array) => void} */
  show(map, values) {
    const other = !this.map || [0, 1].some((axis) => map.about.shape[axis] !== this.map?.about.shape[axis]);
    Object.assign(this, { map, values });
    for (const part of [this.queriesName, this.keysName, this.keysBox]) part.hidden = !map.about.cross;
    this.keys.parts.hidden ||= !map.about.cross;
    if (!other) return;
    this.queries.show(unitsOf(map, 0), map.about.segments ?? this.facts.segments, this.row);
    if (map.about.cross) this.keys.show(unitsOf(map, 1), [], 0);
    this.layout();
  }

  mark(/** @type {number} */ row) {
    this.queries.mark(row);
  }

  /** Shade by one query's weights and draw its lines. @type {(row: number, weights: Float32Array, reading: Reading) => void} */
  paint(row, weights, reading) {
    const { map } = this;
    if (!map) return;
    Object.assign(this, { row, reading });
    const scale = makeScale("sqrt", 1);
    const shaded = map.about.cross ? this.keys : this.queries;
    shaded.paint(weights, scale, (unit) => `${map.label(1, unit)}: ${number(weights[unit])}`);
    this.queries.point(row);
    this.#draw();
  }

  // Room for arcs, where the words are one line.
  layout() {
    this.box.style.paddingTop = "";
    const { map } = this;
    const single = isSingle(this.queries.chips);
    this.box.style.paddingTop = map?.about.cross || map?.pooled ? "" : `${single ? ROOM : ROOM_WRAPPED}px`;
    this.#draw();
  }

  #draw() {
    const { map, reading, row, queries, lines, box } = this;
    if (!map || !reading) return;
    lines.hidden = map.about.cross || map.pooled;
    if (lines.hidden) return;
    const here = (/** @type {number} */ at) => at - queries.start;
    const links = reading.strongest
      .map(({ at, weight }) => ({ at: here(at), weight }))
      .filter(({ weight }) => weight >= 0.03);
    drawArcs(lines, box, queries.chips, { query: here(row), links, faint: this.#faint() });
  }

  #faint() {
    const { map, values } = this;
    const found = [];
    if (!map || map.pooled) return [];
    for (let at = 0; at < values.length && found.length < MOST_FAINT; at++) {
      const [query, key] = [Math.floor(at / map.cols), at % map.cols];
      if (values[at] >= STRONG && query !== key) found.push({ query, at: key, weight: values[at] });
    }
    return found;
  }
}

/** @type {(map: KeptMap, axis: 0 | 1) => { name: string, tokens: number[] }[]} */
const unitsOf = (map, axis) =>
  Array.from({ length: map.about.shape[axis] }, (_, at) => ({
    name: map.names(axis, at).join(" "),
    tokens: [at * map.steps[axis]],
  }));
