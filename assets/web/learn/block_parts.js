// The parts of a block in the order in which a vector meets them, as its stages tell.

/** @import { Stage } from "./types.d.ts" */
/** @typedef {{ kind: "box" | "add" | "fork" | "dropout", id: string }} Part a fork is where a bypass begins */

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
