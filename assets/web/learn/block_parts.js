// The parts of a block in the order in which a vector meets them, as its stages tell, and what each gives.

import { shrink } from "../core/colors.js";

/** @import { Stage, TokenNumbers } from "./types.d.ts" */
/** @typedef {{ kind: "box" | "add" | "fork" | "dropout", id: string }} Part a fork is where a bypass begins */

const CELLS = 64; // of a strip; of more numbers, the largest of each group with its sign
export const INSIDE = ["qkv", "scores", "softmax", "values", "output"]; // of the attention

/** The parts from the input to the output; where they cannot be read, those of every attention layer.
 * @type {(stages: Pick<Stage, "id">[] | null) => Part[]} */
export function partsOf(stages) {
  const ids = (stages ?? ["x", ...INSIDE].map((id) => ({ id }))).map(({ id }) => id);
  /** @type {Part[]} */
  const parts = [];
  for (const id of ids) {
    const pre = ids.indexOf("norm_attention") < ids.indexOf("qkv");
    const first = pre ? id === "norm_attention" || id === "norm_ffn" : id === "qkv" || id === "ffn";
    if (first && stages && ids.includes("residual_attention")) parts.push({ kind: "fork", id: `fork_${id}` });
    if (id.startsWith("residual_")) parts.push({ kind: "dropout", id: `dropout_${id}` }, { kind: "add", id });
    else parts.push({ kind: "box", id });
  }
  return parts;
}

/** What a part gives for the token, and the largest amount in it; nothing where it cannot be read.
 * @type {(numbers: TokenNumbers) => Map<string, { values: Float32Array, largest: number }>} */
export function stripsOf({ stages, projection, attention }) {
  const inside = { qkv: projection?.q ?? attention?.q, scores: attention?.scores, softmax: attention?.weights };
  const found = (stages ?? []).flatMap(({ id, vector }) => {
    const values = vector ?? /** @type {Record<string, Maybe[] | null | undefined>} */ (inside)[id];
    return values?.length ? [{ id, values: Float32Array.from(values, (value) => value ?? NaN) }] : [];
  });
  return new Map(
    found.map(({ id, values: all }) => {
      const { values } = shrink(all, 1, all.length, 1, CELLS);
      return [id, { values, largest: Math.max(...Array.from(values, (value) => Math.abs(value) || 0)) || 1 }];
    }),
  );
}

/** Whether a step is about a part: "norm" is about "norm_attention" and "norm_ffn".
 * @type {(id: string, parts: string[]) => boolean} */
export const isOf = (id, parts) => parts.some((part) => id === part || id.startsWith(`${part}_`));

/** The last of the parts that are told; −1 where none is. @type {(ids: string[], told: string[]) => number} */
export const reachedBy = (ids, told) => ids.findLastIndex((id) => isOf(id, told));
