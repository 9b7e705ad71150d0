// Server requests of the Masks tab.

import { Run } from "../core/run.js";
import { ask, json, numbers, text } from "../core/server.js";
import { Mask } from "./mask_bits.js";

/** @typedef {{ allowed: number, lost: number, faint: number }} Counts pairs meant to attend; blocked all the same; passed, with hardly any weight */
/** @typedef {Counts & { n: number, intended: Float32Array, passed: Float32Array, observed: Float32Array,
 *   leaking: Float32Array, blocked: Float32Array }} Maps of n × n cells, row by row */

// Errors come as answers, because browsers log refused requests as errors.
const url = (/** @type {Run} */ run, /** @type {string} */ path) =>
  run.url(`mask/${path}${path.includes("?") ? "&" : "?"}told=1`);

/** @type {(run: Run, path: string, sent?: Sent) => Promise<Mask>} */
const bits = async (run, path, sent) =>
  Mask.unpack(run.n, new Uint8Array(await (await ask(url(run, path), sent)).arrayBuffer()));

/** @type {(run: Run) => Promise<MasksOffered>} */
export const offered = (run) => json(url(run, "offered"));

export const intent = (/** @type {Run} */ run) => bits(run, "intent");

export const preset = (/** @type {Run} */ run, /** @type {Origin} */ by) =>
  bits(run, "preset", { body: JSON.stringify(by) });

/** The run with real [PAD] beside it, such as "end:2". @type {(run: Run, code: string) => Promise<Run>} */
export const padded = async (run, code) =>
  new Run(await json(url(run, `padded?${new URLSearchParams({ code })}`), { body: "" }));

/** The mask of one sample of a file, how many samples it has, and what mask it is, beside the one that is meant.
 * @type {(run: Run, file: File, asked: { convention: string, sample: number, meant: Meant | null }) =>
 *   Promise<{ mask: Mask, samples: number } & Verdict>} */
export async function uploaded(run, file, { convention, sample, meant }) {
  const wanted = meant ? JSON.stringify(meant) : "";
  const asked = new URLSearchParams({ name: file.name, convention, sample: String(sample), meant: wanted });
  const response = await ask(url(run, `upload?${asked}`), { body: file });
  const mask = Mask.unpack(run.n, new Uint8Array(await response.arrayBuffer()));
  return { mask, ...JSON.parse(response.headers.get("x-about") ?? "{}") };
}

/** @type {(run: Run, signal: AbortSignal) => Promise<MaskResult>} */
export const result = (run, signal) => json(url(run, "result"), { signal });

/** `scope` is a code such as "3-5:1,4".
 * @type {(run: Run, mask: Mask, scope: string, mistake: string, signal: AbortSignal) => Promise<MaskResult>} */
export const runWith = (run, mask, scope, mistake, signal) =>
  json(url(run, `run?${new URLSearchParams({ mistake, scope })}`), { body: mask.pack(), signal });

/** @type {(run: Run, mask: Mask, scope: string, kind: string, by: Origin | null) => Promise<string>} */
export const code = (run, mask, scope, kind, by) =>
  text(url(run, `snippet?${new URLSearchParams({ kind, scope, made: JSON.stringify(by) })}`), { body: mask.pack() });

/** What is typed of layers and of heads, as the server reads it. @type {(run: Run, layers: string, heads: string) => Promise<MaskResult["scope"]>} */
export const scopeOf = (run, layers, heads) => json(url(run, `scope?${new URLSearchParams({ layers, heads })}`));

/** Intended, passed, observed, leaking and blocked of one map, on n × n cells; and how many pairs are so.
 * @type {(run: Run, layer: number, head: Head, signal: AbortSignal) => Promise<Maps>} */
export async function panels(run, layer, head, signal) {
  /** @type {Numbers<Counts>} */
  const { shape, values, about } = await numbers(url(run, `panels?layer=${layer}&head=${head}`), signal);
  const cells = shape[1] ** 2;
  const part = (/** @type {number} */ at) => values.subarray(at * cells, (at + 1) * cells);
  const [intended, passed, observed, leaking, blocked] = [0, 1, 2, 3, 4].map(part);
  return { n: shape[1], intended, passed, observed, leaking, blocked, ...about };
}
