// Effects in figures and words: their sign, their digits, and which color means what.

import { amount } from "../core/dom.js";
import { quoted } from "../core/token_names.js";

/** @import { Maybe } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */

const MOST_DIGITS = 5;
const NONE = "–";

/** The largest amount, whatever its sign. @type {(values: Iterable<Maybe>) => number} */
export const largestAmount = (values) => Array.from(values, Number).reduce((a, b) => Math.max(a, Math.abs(b) || 0), 0);

/** Decimals by which the largest of many has two digits, and one at least. */
export const digitsFor = (/** @type {number} */ largest) =>
  largest > 0 ? Math.min(MOST_DIGITS, Math.max(1, 1 - Math.floor(Math.log10(largest)))) : 1;

const minus = (/** @type {string} */ text) => text.replace("-", "−");

/** With its sign, for columns: "+1.3", "−6.2"; numbers that round to 0 have no sign.
 * @type {(value: Maybe | undefined, digits: number) => string} */
export function signedFixed(value, digits) {
  if (value == null) return NONE;
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : minus(value > 0 ? `+${text}` : text);
}

/**
 * With its sign, on its own; small numbers with three digits.
 * @type {(value: Maybe | undefined) => string}
 */
export const signedAmount = (value) =>
  value == null ? "not measured" : value === 0 ? "0" : minus(`${value > 0 ? "+" : ""}${amount(value, 3)}`);

/** A share of an answer: "0.995"; a tiny one never reads as nothing. @type {(value: Maybe | undefined) => string} */
export const share = (value) => (value == null ? NONE : value > 0 && value < 0.0005 ? "< 0.001" : value.toFixed(3));

export const namedAnswer = (/** @type {string} */ answer) => answer && quoted(answer);

/** Meaning of the colors. With an answer, red means a weaker answer; without one, an effect is a
 * distance.
 * @type {(answer: string) => { low: string, high: string, turned: boolean }} */
export const legendOf = (answer) =>
  answer
    ? { low: `weakens ${answer}`, high: `strengthens ${answer}`, turned: true }
    : { low: "less than before", high: "larger change", turned: false };

/** Unit of a run's input. @type {(run: { grid: unknown } | null) => string} */
export const unitOf = (run) => (run?.grid ? "patch" : "word");

/** @type {(heads: HeadPlace[]) => string} */
export function headsNamed(heads) {
  const names = heads.map(({ layer, head }) => `${layer}.${head}`);
  if (names.length < 2) return `head ${names[0] ?? ""}`;
  return `heads ${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** A sentence in three, of which `strong` stands out, where it is a part of it.
 * @type {(sentence: string, strong: string) => [before: string, strong: string, after: string]} */
export function emphasized(sentence, strong) {
  const at = strong ? sentence.indexOf(strong) : -1;
  return at < 0 ? [sentence, "", ""] : [sentence.slice(0, at), strong, sentence.slice(at + strong.length)];
}
