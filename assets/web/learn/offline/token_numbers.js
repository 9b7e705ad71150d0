// Every number of one token's way through one layer, as the server tells it to the steps of the lesson.

import { added, lengthOf, rowOf, weighted } from "../arithmetic.js";
import { tensorOf } from "./forward.js";

/** @import * as Told from "../types.d.ts" */
/** @import { Head, Normed, Vector } from "../arithmetic.js" */
/** @import { Block, Model, Ran } from "./forward.js" */
/** @typedef {{ layer: number, head: number, query: number, key: number, dim: number }} Asked */

const STRONGEST = 8;
const NO_ORDER = "No positions: nothing is added here, so the model does not know the token order.";

/** @type {(model: Model, ran: Ran, asked: Asked) => Told.TokenNumbers} */
export function tokenNumbers(model, ran, asked) {
  const block = ran.blocks[asked.layer];
  return {
    ids: ran.ids,
    embedding: embedding(model, ran, asked.query),
    projection: projection(model, block, asked),
    attention: attention(block.heads[asked.head], ran.allowed[asked.query], asked),
    heads: heads(model, block, asked),
    stages: stages(model, ran, asked),
    ffn: ffn(block, asked.query),
    missing: {},
    agrees: null, // the numbers are those that ran
  };
}

/** @type {(model: Model, ran: Ran, token: number) => Told.EmbeddingNumbers} */
function embedding(model, { ids, positions, states }, token) {
  const out = states[0][token];
  return {
    id: ids[token],
    token: rowOf(tensorOf(model, "embed.tokens.word.weight"), ids[token]),
    position: positions ? rowOf(tensorOf(model, "embed.position"), token) : null,
    segment: null,
    sum: out,
    norm: null,
    out,
    says: positions ? "" : NO_ORDER,
  };
}

/** The vectors that are added for the positions of a run. @type {(model: Model, ran: Ran) => number[][]} */
export const positions = (model, { ids, positions: added }) =>
  added ? ids.map((_, at) => rowOf(tensorOf(model, "embed.position"), at)) : [];

/** @type {(model: Model, block: Block, asked: Asked) => Told.ProjectionNumbers} */
function projection(model, { first, heads }, { layer, head, query, key, dim }) {
  const name = `layers.${layer}.attn.q`;
  const row = head * model.config.d_head + dim;
  const { q, k, v } = heads[head];
  return {
    x: first[query].out,
    dim,
    column: rowOf(tensorOf(model, `${name}.weight`), row),
    bias: tensorOf(model, `${name}.bias`).values[row],
    sum: q[query][dim],
    q: q[query],
    k: k[key],
    v: v[key],
    q_before: null,
    k_before: null,
    says: "",
  };
}

/** @type {(head: Head, allowed: boolean[], asked: Asked) => Told.AttentionNumbers} */
function attention({ q, k, v, dots, scores, weights }, allowed, { query, key }) {
  return {
    q: q[query],
    k: k[key],
    v,
    dots: dots[query],
    scale: 1 / Math.sqrt(q[query].length),
    bias: null,
    allowed: allowed.map(Number),
    sink: null,
    scores: scores[query].map((score, at) => (allowed[at] ? score : null)),
    weights: weights[query],
    out: weighted(weights[query], v),
  };
}

/** Each head's output through its own columns of W_O. @type {(model: Model, block: Block, asked: Asked) => Told.HeadsNumbers} */
function heads(model, block, { layer, query }) {
  const { values } = tensorOf(model, `layers.${layer}.attn.o.weight`);
  const { d_head: wide, d_model } = model.config;
  const inner = block.heads.length * wide;
  const part = (/** @type {Vector} */ out, /** @type {number} */ head) =>
    Array.from({ length: d_model }, (_, row) =>
      out.reduce((sum, value, at) => sum + value * values[row * inner + head * wide + at], 0),
    );
  const parts = block.heads.map(({ outs }, head) => part(outs[query], head));
  return {
    lengths: parts.map(lengthOf),
    parts,
    bias: Array.from(tensorOf(model, `layers.${layer}.attn.o.bias`).values),
    sum: block.attention[query],
  };
}

/** @type {(model: Model, ran: Ran, asked: Asked) => Told.Stage[]} */
function stages(model, ran, { layer, query }) {
  const block = ran.blocks[layer];
  const last = layer === model.config.n_layers - 1;
  /** @type {(id: string, title: string, vector?: Vector | null, norm?: Told.Norm | null) => Told.Stage} */
  const stage = (id, title, vector = null, norm = null) => {
    return { id, title, vector, length: vector && lengthOf(vector), norm };
  };
  /** @type {(id: string, title: string, name: string, given: Vector, found: Normed) => Told.Stage} */
  const norm = (id, title, name, given, found) => stage(id, title, found.out, normNumbers(model, name, given, found));
  const { x, first, second, middle, attention: attended, added: down, out } = block;
  const name = `layers.${layer}`;
  return [
    stage("x", "x", x[query]),
    norm("norm_attention", "norm", `${name}.attn_norm`, x[query], first[query]),
    stage("qkv", "q, k, v"),
    stage("scores", "scores"),
    stage("softmax", "softmax"),
    stage(
      "values",
      "Σ α · v",
      block.heads.flatMap(({ outs }) => outs[query]),
    ),
    stage("output", "W_O", attended[query]),
    stage("residual_attention", "+ residual", middle[query]),
    norm("norm_ffn", "norm", `${name}.ff_norm`, middle[query], second[query]),
    stage("ffn", "FFN", down[query]),
    stage("residual_ffn", "+ residual", added(middle[query], down[query])),
    ...(last ? [norm("norm_final", "final norm", "final_norm", out[query], ran.last[query])] : []),
  ];
}

/** @type {(model: Model, name: string, given: Vector, found: Normed) => Told.Norm} */
function normNumbers(model, name, given, { out, mean, std }) {
  const learned = (/** @type {string} */ part) => Array.from(tensorOf(model, `${name}.${part}`).values);
  const both = { weight: learned("weight"), bias: learned("bias") };
  return { kind: "LayerNorm", mean, std, ...both, before: given, after: out };
}

/** @type {(block: Block, query: number) => Told.FfnNumbers} */
function ffn({ before, after, added: down }, query) {
  const units = after[query];
  const order = units.map((_, at) => at).sort((a, b) => Math.abs(units[b]) - Math.abs(units[a]));
  return {
    before: before[query],
    after: units,
    activation: "gelu",
    on: units.filter((value) => value > 0).length,
    strongest: order.slice(0, STRONGEST).map((at) => [at, units[at]]),
    out: down[query],
  };
}
