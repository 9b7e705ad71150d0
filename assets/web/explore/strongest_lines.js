// Chooses the lines between tokens, each query's strongest up to a share of its weight, and says how many they are.

import { count, number } from "../core/dom.js";
import { mapName } from "../core/selection_address.js";
import { numbered } from "../core/token_names.js";
import { WHOLE } from "./tiles.js";

/** @typedef {{ query: number[], key: number[], weight: number[], faint: number, cells: number }} Lines their ends and
 *   weights, how many more are too faint, and how many cells there are */
/** @typedef {{ starts: Uint32Array, lines: Uint32Array }} ByToken */
/** @typedef {Lines & { head: Head, by: { query: ByToken, key: ByToken } }} LineSet of one head */
/** @typedef {{ side: "query" | "key", at: number }} Token one of the two columns' */

export const FAINT = 0.0004; // a weight below this makes a line that no screen shows

/** Ends of a pair filter such as "AB": from text A (0) to text B (1).
 * @type {Record<string, [number, number] | null>} */
export const PAIRS = { all: null, AA: [0, 0], AB: [0, 1], BA: [1, 0], BB: [1, 1] };

/** The lines of one map of rows × keys (row-major, NaN = masked). `sides` are the segments of rows and keys; a
 * filter picks from the lines and leaves the shares as they are.
 * @type {(values: Float32Array, share: number, pair: [number, number] | null,
 *   sides: { rows: number[], keys: number[] }) => Lines} */
export function strongest(values, share, pair, sides) {
  /** @type {Lines} */ const found = { query: [], key: [], weight: [], faint: 0, cells: 0 };
  const keys = sides.keys.length;
  for (let row = 0; row < sides.rows.length; row++) {
    if (pair && sides.rows[row] !== pair[0]) continue;
    const weights = values.subarray(row * keys, (row + 1) * keys);
    const least = cutoff(weights, share);
    for (let key = 0; key < keys; key++) {
      const weight = weights[key];
      if (Number.isNaN(weight) || (pair && sides.keys[key] !== pair[1])) continue;
      found.cells++;
      if (weight < least) continue;
      if (weight < FAINT) found.faint++;
      else {
        found.query.push(row);
        found.key.push(key);
        found.weight.push(weight);
      }
    }
  }
  return found;
}

// The smallest weight among the strongest that together reach the share; as strong ones come with it.
function cutoff(/** @type {Float32Array} */ weights, /** @type {number} */ share) {
  const sorted = weights.filter((weight) => weight > 0).sort();
  if (!sorted.length) return Infinity;
  if (share >= 1) return sorted[0];
  const whole = sorted.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  for (let at = sorted.length - 1; at >= 0; at--) {
    sum += sorted[at];
    if (sum >= share * whole) return sorted[at];
  }
  return sorted[0];
}

/** The lines in the order of the tokens at one of their ends, and where each token's begin there: pointing at
 * a token must not cost a look at every line. @type {(ends: number[], tokens: number) => ByToken} */
export function byToken(ends, tokens) {
  const starts = new Uint32Array(tokens + 1);
  for (const end of ends) starts[end + 1]++;
  for (let at = 0; at < tokens; at++) starts[at + 1] += starts[at];
  const next = starts.slice();
  const lines = new Uint32Array(ends.length);
  for (let line = 0; line < ends.length; line++) lines[next[ends[line]]++] = line;
  return { starts, lines };
}

/** The lines of one head that begin (side "query") or end (side "key") at one token.
 * @type {(set: Pick<LineSet, "by">, token: Token, visit: (line: number) => unknown) => void} */
export function eachAt({ by }, { side, at }, visit) {
  const { starts, lines } = by[side];
  for (let i = starts[at]; i < starts[at + 1]; i++) visit(lines[i]);
}

// The least weight among so many of one token's strongest lines; 0 where it has no more than that.
export function leastOf(/** @type {LineSet[]} */ sets, /** @type {Token} */ only, /** @type {number} */ most) {
  /** @type {number[]} */ const weights = [];
  for (const set of sets) eachAt(set, only, (i) => weights.push(set.weight[i]));
  return weights.length > most ? (Float32Array.from(weights).sort().at(-most) ?? 0) : 0;
}

/** The tokens that the lines of one token join, itself among them. @param {LineSet[]} sets @param {Token} only */
export function linked(sets, only) {
  const joined = { query: /** @type {Set<number>} */ (new Set()), key: /** @type {Set<number>} */ (new Set()) };
  joined[only.side].add(only.at);
  for (const set of sets) {
    eachAt(set, only, (i) => joined.query.add(set.query[i]) && joined.key.add(set.key[i]));
  }
  return joined;
}

/** @type {(sets: LineSet[], view: MapView, long: boolean) => string} */
export function countSentence(sets, { hide, renorm, words }, long) {
  const sum = (/** @type {(set: LineSet) => number} */ measure) => sets.reduce((all, set) => all + measure(set), 0);
  const [drawn, faint, cells] = [sum((set) => set.weight.length), sum((set) => set.faint), sum((set) => set.cells)];
  const shares = "Special tokens are hidden; shares are of the weight on the tokens shown";
  const said = [
    `${count(drawn)} ${drawn === 1 ? "line" : "lines"} drawn of ${count(cells)}.`,
    faint && `${count(faint)} more ${faint === 1 ? "is" : "are"} too faint to be seen (weight below ${FAINT}).`,
    long && `With more than ${WHOLE} tokens, lines are drawn for the chosen query only.`,
    hide && `${shares}${renorm ? ", renormalized to sum to 1" : ""}.`,
    words && "Sub-words are merged: the mean over a word's queries, the sum over its keys.",
    !sets.length && "Choose a head to see its lines.",
  ];
  return said.filter(Boolean).join(" ");
}

/** Number of lines of one token, and the strongest.
 * @type {(sets: LineSet[], only: Token, layer: number, index: Unit[]) => string} */
export function tokenSentence(sets, only, layer, index) {
  const name = (/** @type {number} */ at) => numbered(index[at].tokens[0], index[at].name);
  const far = only.side === "query" ? "key" : "query";
  let [lines, best, most] = [0, 0, ""];
  for (const set of sets)
    eachAt(set, only, (i) => {
      lines++;
      if (set.weight[i] <= best) return;
      best = set.weight[i];
      const map = `${typeof set.head === "number" ? "head " : ""}${mapName(layer, set.head)}`;
      most = `, the strongest ${far === "key" ? "to" : "from"} ${far} ${name(set[far][i])} (${map}: ${number(best)})`;
    });
  const side = only.side === "query" ? "Query" : "Key";
  return `${side} ${name(only.at)}: ${lines} ${lines === 1 ? "line" : "lines"}${most}.`;
}
