// The forward pass of a pre-norm BERT in doubles, which keeps every number on the way of every token.

import { added, attended, gelu, layerNorm, linear, rowOf } from "../arithmetic.js";

/** @import { Head, Normed, Vector } from "../arithmetic.js" */
/** @import { Tensor } from "./tensors.js" */
/** @typedef {{ n_layers: number, n_heads: number, d_head: number, d_model: number, d_ff: number, vocab_size: number,
 *   max_positions: number, norm_eps: number }} Config */
/** @typedef {{ config: Config, tensors: Map<string, Tensor>, words: string[] }} Model `words` by their ids */
/** @typedef {[layer: number, head: number]} HeadPlace */
/** @typedef {{ positions?: boolean, causal?: boolean, removed?: HeadPlace[], hidden?: number[], padding?: number[],
 *   mask?: boolean[][] | null }} Changes `hidden` tokens and padding, to which no token may attend; `mask` is "query key", true where a query may attend to a key */
/** @typedef {{ x: Vector[], first: Normed[], heads: Head[], attention: Vector[], middle: Vector[], second: Normed[],
 *   before: Vector[], after: Vector[], added: Vector[], out: Vector[] }} Block */
/** @typedef {{ ids: number[], allowed: boolean[][], padding: number[], positions: boolean, removed: HeadPlace[],
 *   states: Vector[][], blocks: Block[], last: Normed[] }} Ran `states` after 0 … n blocks; `last` after the final norm */

/** @type {(model: Model, name: string) => Tensor} */
export function tensorOf({ tensors }, name) {
  const found = tensors.get(name);
  if (!found) throw new Error(`The weights have no ${name}.`);
  return found;
}

/** A linear map with its bias. @type {(model: Model, name: string, x: Vector) => Vector} */
export const mapped = (model, name, x) => linear(x, tensorOf(model, `${name}.weight`), tensorOf(model, `${name}.bias`));

/** @type {(model: Model, name: string, x: Vector) => Normed} */
export const normed = (model, name, x) =>
  layerNorm(x, tensorOf(model, `${name}.weight`), tensorOf(model, `${name}.bias`), model.config.norm_eps);

/**
 * Run one text through all blocks.
 * @type {(model: Model, ids: number[], changes?: Changes) => Ran}
 */
export function forward(model, ids, changes = {}) {
  const { positions = true, removed = [], padding = [] } = changes;
  const allowed = maskOf(ids.length, changes);
  const table = tensorOf(model, "embed.tokens.word.weight");
  const place = tensorOf(model, "embed.position");
  let x = ids.map((id, at) => (positions ? added(rowOf(table, id), rowOf(place, at)) : rowOf(table, id)));
  const [states, blocks] = [[x], /** @type {Block[]} */ ([])];
  for (let layer = 0; layer < model.config.n_layers; layer++) {
    const gone = removed.flatMap(([at, head]) => (at === layer ? [head] : []));
    const block = through(model, layer, x, allowed, gone);
    x = block.out;
    blocks.push(block);
    states.push(x);
  }
  const last = x.map((vector) => normed(model, "final_norm", vector));
  return { ids, allowed, padding, positions, removed, states, blocks, last };
}

/** @type {(n: number, changes: Changes) => boolean[][]} */
function maskOf(n, { causal = false, hidden = [], padding = [], mask = null }) {
  const away = [...hidden, ...padding];
  const may = (/** @type {number} */ query, /** @type {number} */ key) =>
    (!causal || key <= query) && !away.includes(key) && (mask === null || mask[query][key]);
  return Array.from({ length: n }, (_, query) => Array.from({ length: n }, (_, key) => may(query, key)));
}

/** @type {(model: Model, layer: number, x: Vector[], allowed: boolean[][], gone: number[]) => Block} */
function through(model, layer, x, allowed, gone) {
  const name = `layers.${layer}`;
  const first = x.map((vector) => normed(model, `${name}.attn_norm`, vector));
  const [q, k, v] = ["q", "k", "v"].map((each) => first.map(({ out }) => mapped(model, `${name}.attn.${each}`, out)));
  const heads = Array.from({ length: model.config.n_heads }, (_, head) =>
    attended(model.config.d_head, [q, k, v], head, allowed, gone.includes(head)),
  );
  const attention = x.map((_, token) =>
    mapped(
      model,
      `${name}.attn.o`,
      heads.flatMap(({ outs }) => outs[token]),
    ),
  );
  const middle = x.map((vector, token) => added(vector, attention[token]));
  const second = middle.map((vector) => normed(model, `${name}.ff_norm`, vector));
  const before = second.map(({ out }) => mapped(model, `${name}.ff.up`, out));
  const after = before.map((units) => units.map(gelu));
  const down = after.map((units) => mapped(model, `${name}.ff.down`, units));
  const out = middle.map((vector, token) => added(vector, down[token]));
  return { x, first, heads, attention, middle, second, before, after, added: down, out };
}
