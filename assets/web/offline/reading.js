// Describes one query's weights: the strongest key, the strongest word, and the rest's share.

import { number } from "../core/dom.js";
import { descending } from "../views/shading.js";

/** @import { Link } from "../core/arcs.js" */
/** @typedef {{ strongest: Link[], word: Link | null, rest: number, others: number }} Reading the strongest keys; the
 *   strongest that is a word, where the very first is none; what the others hold together, and how many they are */

const LISTED = 6;

/** @type {(weights: Float32Array, special: (key: number) => boolean) => Reading} */
export function readRow(weights, special) {
  const order = descending(weights);
  const link = (/** @type {number} */ at) => ({ at, weight: weights[at] });
  const word = order.length && special(order[0]) ? order.find((at) => !special(at)) : undefined;
  const allowed = weights.reduce((count, value) => count + (Number.isNaN(value) ? 0 : 1), 0);
  return {
    strongest: order.slice(0, LISTED).map(link),
    word: word === undefined ? null : link(word),
    rest: order.slice(LISTED).reduce((sum, at) => sum + weights[at], 0),
    others: allowed - Math.min(LISTED, order.length),
  };
}

/** The reading as parts of a sentence; tokens come in pairs of their kind and their name.
 * @type {(map: KeptMap, row: number, found: Reading) => (string | { kind: "query" | "key", name: string })[]} */
export function sentenceOf(map, row, { strongest, word }) {
  /** @type {(axis: 0 | 1, at: number) => { kind: "query" | "key", name: string }} */
  const token = (axis, at) => ({ kind: axis ? "key" : "query", name: shortName(map, axis, at) });
  const [first] = strongest;
  const { name } = map.about;
  const head = map.about.head === null ? `${name[0].toUpperCase()}${name.slice(1)}: ` : `Head ${name}: `;
  const query = token(0, row);
  if (!first) return [head, query, " looks at nothing: all its weights are 0 or masked."];
  const itself = !map.about.cross && first.at === row;
  const share = weight(first.weight);
  if (map.pooled) return [head, "the largest weight of ", query, " goes to ", token(1, first.at), `: ${share}.`];
  const said = [head, query, " looks most at ", itself ? "itself" : token(1, first.at), `: ${share} of its attention.`];
  return word ? [...said, " Among the words, at ", token(1, word.at), `: ${weight(word.weight)}.`] : said;
}

/** A weight as a sentence needs it: two decimals, more where these would be 0. @type {(value: number) => string} */
export const weight = (value) => (value >= 0.005 ? value.toFixed(2) : number(value));

/** A token's name, or of a block its numbers. @type {(map: KeptMap, axis: 0 | 1, at: number) => string} */
export function shortName(map, axis, at) {
  const names = map.names(axis, at);
  return map.steps[axis] > 1 ? `tokens ${map.label(axis, at)}` : names[0];
}
