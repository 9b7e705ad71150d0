// Softmax of one row of scores, as the encoder computes it: keys that may not be attended to get exactly 0.

/** @typedef {{ max: number, exps: number[], sum: number, weights: number[] }} Softmax */

/** `sink` is a score that takes part in the sum, and whose weight no key gets.
 * @type {(scores: ArrayLike<number>, allowed: ArrayLike<boolean | number>, sink?: number | null) => Softmax} */
export function softmax(scores, allowed, sink = null) {
  const kept = Array.from(scores, (score, at) => (allowed[at] ? score : -Infinity));
  const max = Math.max(...kept, sink ?? -Infinity);
  if (max === -Infinity) {
    const none = kept.map(() => 0); // a row that may look at nothing
    return { max, exps: none, sum: 0, weights: none };
  }
  const exps = kept.map((score) => Math.exp(score - max));
  const sum = exps.reduce((total, value) => total + value, 0) + (sink === null ? 0 : Math.exp(sink - max));
  return { max, exps, sum, weights: exps.map((value) => value / sum) };
}

/** The values added up by the weights. @type {(weights: number[], values: number[][]) => number[]} */
export const weighted = (weights, values) =>
  values[0].map((_, dim) => weights.reduce((sum, weight, key) => sum + weight * values[key][dim], 0));
