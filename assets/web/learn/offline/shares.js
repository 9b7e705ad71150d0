// What carried the answer: the network with its weights, norms and activations held, which is linear in its embeddings.

import { added, dot, gelu, lengthOf, linear } from "../arithmetic.js";
import { forward, mapped, normed, tensorOf } from "./forward.js";
import { best, logits, masked } from "./prediction.js";

/** @import { Vector } from "../arithmetic.js" */
/** @import { Model, Ran } from "./forward.js" */
/** @import { Carried, Split } from "../requests.js" */

/** @typedef {Record<string, string>} Twins a word, and one in whose place another answer is right */

/** The score of a run, read from its final vectors, held as they ran. @typedef {(last: Vector[]) => number} Score */

/** @type {(model: Model, ran: Ran, query: number, twins: Twins) => Carried} */
export function carried(model, ran, query, twins) {
  if (!masked(model, ran).includes(query))
    return { answer: "", rival: "", twin: null, ...split(model, ran, lengthAlong(ran)) };
  const scores = logits(model, ran.last[query].out);
  const answer = best(model, scores).word;
  const twin = twinOf(model, ran, query, answer, twins);
  const next = scores.map((_, word) => word).sort((a, b) => scores[b] - scores[a])[1];
  const rival = twin?.answer ?? model.words[next];
  const both = [answer, rival].map((word) => model.words.indexOf(word));
  const of = (/** @type {Ran} */ each) => split(model, each, contrast(model, each, query, both));
  return { answer, rival, twin: twin && { at: twin.at, word: twin.word, ...of(twin.ran) }, ...of(ran) };
}

/** The word whose counterpart takes most from the answer; null where none changes it.
 * @type {(model: Model, ran: Ran, query: number, answer: string, twins: Twins) =>
 *   { at: number, word: string, answer: string, ran: Ran } | null} */
function twinOf(model, { ids, padding }, query, answer, twins) {
  const found = ids.flatMap((id, at) => {
    const word = twins[model.words[id]];
    if (!word) return [];
    const ran = forward(model, ids.with(at, model.words.indexOf(word)), { padding });
    const scores = logits(model, ran.last[query].out);
    const said = best(model, scores).word;
    const left =
      scores[model.words.indexOf(answer)] - Math.log(scores.reduce((sum, score) => sum + Math.exp(score), 0));
    return said === answer ? [] : [{ at, word, answer: said, ran, left }];
  });
  return found.sort((a, b) => a.left - b.left)[0] ?? null;
}

/** One pass a token, with its embedding alone; what they leave of the score are the biases.
 * @type {(model: Model, ran: Ran, score: { of: Score, value: number }) => Split} */
function split(model, ran, { of, value }) {
  const nothing = ran.states[0].map((vector) => vector.map(() => 0));
  const shares = ran.states[0].map((vector, token) => of(held(model, ran, nothing.with(token, vector))));
  return { score: value, shares, biases: value - shares.reduce((sum, share) => sum + share, 0) };
}

/** Final vectors of the held network, without its biases. @type {(model: Model, ran: Ran, x: Vector[]) => Vector[]} */
function held(model, ran, x) {
  let state = x;
  for (const [layer, block] of ran.blocks.entries()) {
    const name = `layers.${layer}`;
    const first = state.map((vector, at) => heldNorm(model, `${name}.attn_norm`, vector, block.first[at].std));
    const values = first.map((vector) => unbiased(model, `${name}.attn.v`, vector));
    const wide = model.config.d_head;
    const mixed = state.map((_, query) =>
      block.heads.flatMap(({ weights }, head) =>
        Array.from({ length: wide }, (_, dim) =>
          values.reduce((sum, vector, key) => sum + weights[query][key] * vector[head * wide + dim], 0),
        ),
      ),
    );
    const middle = state.map((vector, at) => added(vector, unbiased(model, `${name}.attn.o`, mixed[at])));
    state = middle.map((vector, at) => {
      const up = unbiased(model, `${name}.ff.up`, heldNorm(model, `${name}.ff_norm`, vector, block.second[at].std));
      const active = up.map((unit, of) => unit * ratio(block.after[at][of], block.before[at][of]));
      return added(vector, unbiased(model, `${name}.ff.down`, active));
    });
  }
  return state.map((vector, at) => heldNorm(model, "final_norm", vector, ran.last[at].std));
}

/** The difference of two logits at a token. @type {(model: Model, ran: Ran, at: number, both: number[]) => { of: Score, value: number }} */
function contrast(model, ran, at, [answer, rival]) {
  const ranScores = logits(model, ran.last[at].out);
  const dense = mapped(model, "heads.masked.dense", ran.last[at].out);
  const { std } = normed(model, "heads.masked.norm", dense.map(gelu));
  const of = (/** @type {Vector[]} */ last) => {
    const units = unbiased(model, "heads.masked.dense", last[at]);
    const active = units.map((unit, each) => unit * ratio(gelu(dense[each]), dense[each]));
    const out = unbiased(model, "heads.masked.out", heldNorm(model, "heads.masked.norm", active, std));
    return out[answer] - out[rival];
  };
  return { of, value: ranScores[answer] - ranScores[rival] };
}

/** The mean vector along itself. @type {(ran: Ran) => { of: Score, value: number }} */
function lengthAlong({ last, padding }) {
  const real = last.flatMap((_, at) => (padding.includes(at) ? [] : [at]));
  const mean = (/** @type {Vector[]} */ vectors) =>
    vectors[0].map((_, dim) => real.reduce((sum, at) => sum + vectors[at][dim], 0) / real.length);
  const pooled = mean(last.map(({ out }) => out));
  const value = lengthOf(pooled);
  return { of: (vectors) => dot(mean(vectors), pooled) / value, value };
}

/** A linear map without its bias. @type {(model: Model, name: string, x: Vector) => Vector} */
const unbiased = (model, name, x) => linear(x, tensorOf(model, `${name}.weight`));

/** A norm with the divisor that it had, without its bias. @type {(model: Model, name: string, x: Vector, std: number) => Vector} */
function heldNorm(model, name, x, std) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const { values } = tensorOf(model, `${name}.weight`);
  const by = Math.sqrt(std ** 2 + model.config.norm_eps);
  return x.map((value, at) => ((value - mean) / by) * values[at]);
}

const ratio = (/** @type {number} */ after, /** @type {number} */ before) => (before ? after / before : 0);
