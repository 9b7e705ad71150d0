// The maps that a file carries: unpacked from its text, with their cells and what is said of them.

import { borderAt } from "../core/border.js";
import { isolated, numbered } from "../core/token_names.js";

/** @typedef {Pick<RunFacts, "tokens" | "others" | "segments">} Names of the queries, of another sequence's keys, and
 *   which text of a pair each token is of */

/** Decode the file's text: zlib in base64. @type {(text: string) => Promise<ArrayBuffer>} */
export function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}

/** The maps of each layer's heads, null where one is not in the document, and the map to open on: the exact one, where
 * there is one, which is of no one head where it is of several.
 * @type {(facts: RunFacts, bytes: ArrayBuffer, exact: ArrayBuffer) => { layers: (KeptMap | null)[][], opened: KeptMap }} */
export function readMaps(facts, bytes, exact) {
  const steps = facts.levels > 255 ? new Uint16Array(bytes) : new Uint8Array(bytes);
  const layers = facts.heads.map((count) => Array(count).fill(null));
  let start = 0;
  for (const { top, ...sides } of facts.maps) {
    const { layer, head, cross, shape } = sides;
    const cells = steps.subarray(start, start + shape[0] * shape[1]);
    start += cells.length;
    const about = { ...facts.kept[Number(cross)], ...sides, name: `${layer}.${head}` };
    layers[layer][head] = keptMap(facts, about, cells, top, facts.levels);
  }
  const { chosen, opening } = facts;
  if (!chosen) return { layers, opened: layers[opening.layer][Number(opening.head)] };
  const values = new Float32Array(exact);
  const top = values.reduce((most, value) => (value > most ? value : most), 0);
  const opened = new KeptMap(facts, chosen, () => values, top);
  if (chosen.head !== null) layers[chosen.layer][chosen.head] = opened;
  return { layers, opened };
}

/** A map from the steps that its cells were kept in; the last number there is stands for a masked cell.
 * @type {(names: Names, about: PageMap, steps: Uint8Array | Uint16Array, top: number, levels: number) => KeptMap} */
function keptMap(names, about, steps, top, levels) {
  const blank = levels > 255 ? 65535 : 255;
  const values = () => {
    const found = new Float32Array(steps); // a loop takes a third of the time of Float32Array.from
    for (let at = 0; at < found.length; at++) found[at] = found[at] === blank ? NaN : (found[at] * top) / levels;
    return found;
  };
  return new KeptMap(names, about, values, top, levels);
}

export class KeptMap {
  /** @param {Names} facts @param {PageMap} about @param {() => Float32Array} values NaN = masked
   * @param {number} top its largest weight @param {number} levels steps up to it that were kept; 0 where it is exact */
  constructor(facts, about, values, top, levels = 0) {
    this.facts = facts;
    this.about = about;
    this.values = values;
    this.top = top;
    this.levels = levels;
    this.off = levels && top / (2 * levels);
    this.rows = about.shape[0];
    this.cols = about.shape[1];
    this.steps = about.shape.map((cells, axis) => Math.ceil(about.counts[axis] / cells)); // tokens a cell stands for
    this.pooled = this.steps.some((step) => step > 1);
  }

  /** The names of the tokens in a cell's row or column. @type {(axis: 0 | 1, cell: number) => string[]} */
  names(axis, cell) {
    const { about, facts, steps } = this;
    const names = about.names?.[axis] ?? (axis && about.cross ? facts.others : facts.tokens);
    return names.slice(cell * steps[axis], Math.min((cell + 1) * steps[axis], about.counts[axis])).map(plain);
  }

  /** A cell's place along a side: one token's number and name, or the numbers of a block.
   * @type {(axis: 0 | 1, cell: number, quoted?: boolean) => string} */
  label(axis, cell, quoted = true) {
    const { about, steps } = this;
    const first = cell * steps[axis];
    const last = Math.min(first + steps[axis], about.counts[axis]) - 1;
    const number = (/** @type {number} */ at) => about.numbers?.[axis][at] ?? String(at);
    if (first < last) return `${number(first).split("–")[0]}–${number(last).split("–").at(-1)}`;
    const [name = ""] = this.names(axis, cell);
    return quoted ? numbered(number(first), name) : `${number(first)} ${isolated(name)}`;
  }

  /** A cell in words. @type {(row: number, col: number, value: number) => string} */
  sentence(row, col, value) {
    const where = `query ${this.label(0, row)} → key ${this.label(1, col)}: `;
    if (Number.isNaN(value)) return `${where}masked, may not attend`;
    const near = this.off ? ` ± ${digits(this.off, 2)}` : "";
    return `${where}weight ${digits(value, this.off ? 4 : 8)}${near}${this.pooled ? ", the largest of the block" : ""}`;
  }

  /** The first token of a row, by its number in the run. @type {(row: number) => number} */
  tokenAt(row) {
    const first = row * this.steps[0];
    return this.about.queries?.[first] ?? first;
  }

  /** The row of a token, or where it is left out, that of the last before it. @type {(token: number) => number} */
  rowOf(token) {
    const place = this.about.queries ? this.about.queries.findLastIndex((each) => each <= token) : token;
    return Math.min(this.rows - 1, Math.max(0, Math.floor(place / this.steps[0])));
  }

  /** Start of a pair's text B along each side, in cells. @returns {Borders} */
  get borders() {
    const { about, facts, steps } = this;
    const begins = borderAt(about.segments ?? facts.segments);
    if (begins < 0) return [-1, -1];
    return [begins / steps[0], about.cross ? -1 : begins / steps[1]];
  }

  // How close the map's weights are to those that ran.
  get kept() {
    const { about, levels, steps } = this;
    const block = this.pooled ? ` Each cell is the largest weight of up to ${steps[0]} × ${steps[1]}.` : "";
    if (!levels) return `Exact, float32.${block}${about.note ? ` ${about.note}` : ""}`;
    return (
      `Stored in ${levels > 255 ? 16 : 8} bits: ${levels} steps from 0 to this map's largest weight, ` +
      `${digits(this.top, 4)}, so a weight is off by at most ${digits(this.off, 2)}.${block}`
    );
  }
}

/** @type {(value: number, count: number) => string} */
export const digits = (value, count) => (value === 0 ? "0" : Number(value.toPrecision(count)).toString());

// Escape characters that would hide or reorder others.
const HIDDEN = /(?![\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
export const plain = (/** @type {string} */ text) =>
  text.replace(HIDDEN, (letter) => `⟨U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}⟩`);
