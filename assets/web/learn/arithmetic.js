// The arithmetic of an encoder in doubles: linear maps, LayerNorm and GELU.

/** @import { Tensor } from "./offline/tensors.js" */
/** @typedef {number[]} Vector */
/** @typedef {{ out: Vector, mean: number, std: number }} Normed */

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
export const lengthOf = (/** @type {Vector} */ a) => Math.sqrt(dot(a, a));

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
