// Causal masks and windows, and whom a token can know of after several layers of one.

import { Run } from "../core/run.js";
import { json } from "../core/server.js";

/** @typedef {{ kind: "none" | "causal" | "window" | "padding", width: number }} Kind
 *   `width` is of a window to each side, and of padding how many tokens come before it */

/** Whether a query may attend to a key. @type {(kind: Kind, query: number, key: number) => boolean} */
export function allows({ kind, width }, query, key) {
  if (kind === "causal") return key <= query;
  if (kind === "padding") return key < width;
  return kind === "none" || Math.abs(query - key) <= width;
}

/** The mask as bits, row by row, the first cell in the highest bit of its byte.
 * @type {(kind: Kind, n: number) => Uint8Array<ArrayBuffer>} */
export function packed(kind, n) {
  const bits = new Uint8Array(Math.ceil((n * n) / 8));
  for (let at = 0; at < n * n; at++) {
    if (allows(kind, Math.floor(at / n), at % n)) bits[at >> 3] |= 128 >> (at & 7);
  }
  return bits;
}

/** Tokens that can influence a query after each layer, until they no longer grow.
 * @type {(kind: Kind, n: number, query: number, layers: number) => number[][]} */
export function reached(kind, n, query, layers) {
  const found = [];
  let known = new Set([query]);
  for (let layer = 0; layer < layers; layer++) {
    const next = new Set(known);
    for (const from of known) for (let key = 0; key < n; key++) if (allows(kind, from, key)) next.add(key);
    if (next.size === known.size) break;
    known = next;
    found.push([...known].sort((a, b) => a - b));
  }
  return found;
}

export const PADDING = 4; // [PAD] tokens that are put beside a text

/** A text beside a longer one: the batch gives it [PAD], and a mask hides them from every token.
 * @type {(run: Run, signal: AbortSignal) => Promise<Run>} */
export async function withPadding(run, signal) {
  const code = new URLSearchParams({ code: `end:${PADDING}` });
  const padded = new Run(await json(run.url(`mask/padded?${code}`), { body: "", signal }));
  const mask = packed({ kind: "padding", width: run.n }, padded.n);
  return new Run((await json(padded.url("mask/run"), { body: mask, signal })).run);
}
