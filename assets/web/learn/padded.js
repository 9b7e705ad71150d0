// A text beside a longer one: the batch gives it [PAD], and a mask hides them from every token.

import { Run } from "../core/run.js";
import { json } from "../core/server.js";
import { packed } from "./simple_masks.js";

export const PADDING = 4; // [PAD] tokens that are put beside a text

/** @type {(run: Run, signal: AbortSignal) => Promise<Run>} */
export async function withPadding(run, signal) {
  const code = new URLSearchParams({ code: `end:${PADDING}` });
  const padded = new Run(await json(run.url(`mask/padded?${code}`), { body: "", signal }));
  const mask = packed({ kind: "padding", width: run.n }, padded.n);
  return new Run((await json(padded.url("mask/run"), { body: mask, signal })).run);
}
