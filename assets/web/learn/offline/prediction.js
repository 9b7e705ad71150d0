// Predictions of the model's own head at a [MASK], at the output or after fewer blocks.

import { gelu, softmax } from "../arithmetic.js";
import { mapped, normed } from "./forward.js";

/** @import { Vector } from "../arithmetic.js" */
/** @import { Model, Ran } from "./forward.js" */

const TOP = 10;
export const MASK = "[MASK]";

/**
 * One score per word, for a vector after the final norm.
 * @type {(model: Model, vector: Vector) => Vector}
 */
export function logits(model, vector) {
  const dense = mapped(model, "heads.masked.dense", vector).map(gelu);
  return mapped(model, "heads.masked.out", normed(model, "heads.masked.norm", dense).out);
}

/** @type {(scores: Vector) => Vector} */
export const sharesOf = (scores) =>
  softmax(
    scores,
    scores.map(() => true),
  ).weights;

/** The most likely word, and how likely it is. @type {(model: Model, scores: Vector) => { word: string, share: number }} */
export function best(model, scores) {
  const shares = sharesOf(scores);
  const at = shares.indexOf(Math.max(...shares));
  return { word: model.words[at], share: shares[at] };
}

/** The places of [MASK]. @type {(model: Model, ran: Ran) => number[]} */
export const masked = ({ words }, { ids }) => ids.flatMap((id, at) => (words[id] === MASK ? [at] : []));

/** The most likely words at each [MASK]; `blocks` is how many came before, all if not given.
 * @type {(model: Model, ran: Ran, blocks?: number) => Prediction[]} */
export function predictions(model, ran, blocks = model.config.n_layers) {
  return masked(model, ran).map((token) => {
    const shares = sharesOf(logits(model, normed(model, "final_norm", ran.states[blocks][token]).out));
    const order = shares.map((_, word) => word).sort((a, b) => shares[b] - shares[a]);
    const first = order.slice(0, TOP);
    const named = { labels: first.map((at) => model.words[at]), shares: first.map((at) => shares[at]) };
    return { token, ...named, unit: "probability", knows: "" };
  });
}
