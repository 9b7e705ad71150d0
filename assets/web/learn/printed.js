// Numbers as they are printed in the lesson: with their sign, and so that printed sums add up.

import { count, el, number } from "../core/dom.js";
import { isolated } from "../core/token_names.js";

const MINUS = "\u2212";
const [SHORT, FEW] = [40, 8]; // tokens that all have a row; that have one of more
let marks = { decimal: ".", thousands: ",", quotes: ["“", "”"] }; // of the language of the texts

/** Print the lesson as its language does. @param {typeof marks} texts */
export const writeWith = (texts) => {
  marks = texts;
};

/** A token, a word or a label in a sentence. @type {(text: string) => string} */
export const quoted = (text) => marks.quotes.join(isolated(text));

const marked = (/** @type {string} */ text) => text.replace(".", marks.decimal);

/** A number as it is printed. @type {(value: number, decimals: number) => number} */
export const rounded = (value, decimals) =>
  (Math.sign(value) * Math.round(Math.abs(value) * 10 ** decimals)) / 10 ** decimals + 0; // no −0

/** @type {(value: number, decimals: number) => string} */
export function fixed(value, decimals) {
  const printed = rounded(value, decimals);
  return (printed < 0 ? MINUS : "") + marked(Math.abs(printed).toFixed(decimals));
}

/** A share, as small as it may be. @type {(value: number) => string} */
export const shareText = (value) => marked(number(value));

/** A whole number with its thousands. @type {(value: number) => string} */
export const countText = (value) => count(value).replaceAll(",", marks.thousands);

/** A rounding error, such as 3e-7. @type {(value: number, decimals?: number) => string} */
export const errorText = (value, decimals = 0) => marked(value.toExponential(decimals));

/** Always with its sign, as an addend. @type {(value: number, decimals: number) => string} */
export const signedText = (value, decimals) => (rounded(value, decimals) < 0 ? "" : "+") + fixed(value, decimals);

/** Addends rounded such that they add up to their sum as it is printed: each to one of the two numbers it lies
 * between, those with the largest remainders upwards.
 * @type {(addends: ArrayLike<number>, decimals: number, sum?: number) => number[]} */
export function addingUp(addends, decimals, sum = total(Array.from(addends))) {
  const unit = 10 ** decimals;
  const given = Array.from(addends, (value) => value * unit);
  const found = given.map(Math.floor);
  let left = Math.round(rounded(sum, decimals) * unit) - total(found);
  const order = given.map((value, at) => [value - found[at], at]).sort(([a], [b]) => b - a);
  if (left < 0) order.reverse();
  for (const [, at] of order) {
    if (!left) break;
    found[at] += Math.sign(left);
    left -= Math.sign(left);
  }
  return found.map((value) => value / unit + 0);
}

const total = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0);

/** Tokens that have a row: all of a short text, of others the largest few and those that are named, in their order.
 * @type {(sizes: number[], named?: number[], short?: number) => number[]} */
export function listed(sizes, named = [], short = SHORT) {
  const all = sizes.map((_, at) => at);
  if (all.length <= short) return all;
  const largest = [...all].sort((a, b) => sizes[b] - sizes[a]).slice(0, FEW);
  return [...new Set([...largest, ...named])].sort((a, b) => a - b);
}

/** So many decimals that a number up to the largest fits in its column. @type {(decimals: number, largest: number) => number} */
export const fitting = (decimals, largest) => Math.min(decimals, largest < 10 ? 3 : largest < 100 ? 2 : 1);

/** Start of the printed window of a long vector: `wide` numbers around one.
 * @type {(around: number, n: number, wide: number) => number} */
export const windowStart = (around, n, wide) => Math.max(0, Math.min(n - wide, around - Math.floor(wide / 2)));

/** What scrolls by itself where it is wider than its place. @type {(node: HTMLElement) => HTMLElement} */
export const scrolled = (node) => el("div", { class: "viz-learn-scroll", tabindex: 0 }, node);

/** A name in a table, which chooses what it names. @type {(name: string, onclick: () => unknown) => HTMLElement} */
export const choosing = (name, onclick) =>
  el("button", { type: "button", class: "viz-learn-name", dir: "auto", onclick }, isolated(name));
