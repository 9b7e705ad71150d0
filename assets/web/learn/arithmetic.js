// The arithmetic of an encoder in doubles: linear maps, LayerNorm, GELU, and the softmax of one row of scores.

/** @import { Tensor } from "./offline/tensors.js" */
/** @typedef {number[]} Vector */
/** @typedef {{ out: Vector, mean: number, std: number }} Normed */
/** @typedef {{ q: Vector[], k: Vector[], v: Vector[], dots: Vector[], scores: Vector[], weights: Vector[], outs: Vector[] }} Head
 *   each "token …" */

/** W · x + b, by the rows of W. @type {(x: Vector, weight: Tensor, bias?: Tensor) => Vector} */
export function linear(x, { shape, values }, bias) {
  const [rows, columns] = shape;
  const found = new Array(rows);
  for (let row = 0, cell = 0; row < rows; row++) {
    let sum = bias ? bias.values[row] : 0;
    for (let at = 0; at < columns; at++, cell++) sum += x[at] * values[cell];
    found[row] = sum;
  }
  return found;
}

export const dot = (/** @type {Vector} */ a, /** @type {Vector} */ b) =>
  a.reduce((sum, value, at) => sum + value * b[at], 0);
/** @type {(a: Vector, b: Vector) => Vector} */
export const added = (a, b) => a.map((value, at) => value + b[at]);
export const lengthOf = (/** @type {ArrayLike<number>} */ a) => Math.hypot(...Array.from(a));

/** @type {(a: Vector, b: Vector) => number} */
export const cosine = (a, b) => dot(a, b) / (lengthOf(a) * lengthOf(b));

/** A row of a table. @type {(table: Tensor, row: number) => Vector} */
export const rowOf = ({ shape: [, columns], values }, row) =>
  Array.from(values.subarray(row * columns, (row + 1) * columns));

/** LayerNorm: (x − μ) ÷ √(σ² + ε) · γ + β. @type {(x: Vector, weight: Tensor, bias: Tensor, eps: number) => Normed} */
export function layerNorm(x, weight, bias, eps) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const by = 1 / Math.sqrt(variance + eps);
  const out = x.map((value, at) => (value - mean) * by * weight.values[at] + bias.values[at]);
  return { out, mean, std: Math.sqrt(variance) };
}

/** x · Φ(x), as in BERT. @type {(x: number) => number} */
export const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));

const FAR = 6; // 1 − erf(6) is below the last digit of a double

/** 2 ÷ √π · e^(−x²) · Σ 2ⁿ x^(2n+1) ÷ (1 · 3 · … · (2n + 1)); all terms have one sign, so that nothing cancels.
 * @type {(x: number) => number} */
export function erf(x) {
  if (Math.abs(x) >= FAR) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  const found = (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  return Math.max(-1, Math.min(1, found)); // rounding must not turn the sign of 1 − erf
}

/** @typedef {{ max: number, exps: number[], sum: number, weights: number[] }} Softmax */

/** Keys that may not be attended to get exactly 0; `sink` is a score that takes part in the sum, and whose weight no key gets.
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

/** One head for all tokens; what a removed head gives is 0. @type {(d_head: number, all: Vector[][], head: number,
 *   allowed: boolean[][], gone?: boolean) => Head} */
export function attended(d_head, all, head, allowed, gone = false) {
  const own = (/** @type {Vector[]} */ vectors) =>
    vectors.map((vector) => vector.slice(head * d_head, (head + 1) * d_head));
  const [q, k, v] = all.map(own);
  const dots = q.map((query) => k.map((key) => dot(query, key)));
  const scores = dots.map((row) => row.map((each) => each / Math.sqrt(d_head)));
  const weights = scores.map((row, query) => softmax(row, allowed[query]).weights);
  const outs = weights.map((row) => (gone ? v[0].map(() => 0) : weighted(row, v)));
  return { q, k, v, dots, scores, weights, outs };
}
