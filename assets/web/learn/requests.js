// Server requests of the Learn tab.

import { json } from "../core/server.js";

/** @import { Place, TokenNumbers } from "./types.d.ts" */
/** @typedef {{ value: number, tolerance: number, says: string }} Mistake */
/** @typedef {{ id: string, step: number, level: number, question: string, kind: "number" | "choice", unit: string,
 *   decimals: number, answer: number, tolerance: number, choices: string[] | null, also: number[],
 *   cell: number | null, mistakes: Mistake[],   right: string, wrong: string, hint: string }} Exercise */

/**
 * Fetch one token's numbers in one layer.
 * @type {(run: Run, place: Place, signal: AbortSignal) => Promise<TokenNumbers>}
 */
export const tokenNumbers = (run, { layer, head, query, key, dim }, signal) =>
  run.json(`learn/token?${asked({ layer, head, query, key, dim })}`, signal);

/** Two words swapped. @typedef {{ one: number, two: number, vectors: number[][][], apart: [on: number, off: number] }} Order
 *   `vectors` of the query, with positions and without, each in the text as it was and swapped */

/** @type {(run: Run, place: Place, signal: AbortSignal) => Promise<Order | { message: string }>} */
export const wordOrder = (run, { query, key }, signal) => run.json(`learn/order?${asked({ query, key })}`, signal);

/** By how much the query's state turns after each block without the key.
 * @type {(run: Run, place: Place, signal: AbortSignal) => Promise<{ turned: number[] } | { message: string }>} */
export const turnedStates = (run, { query, key }, signal) => run.json(`learn/turned?${asked({ query, key })}`, signal);

/** @type {(run: Run, step: number, place: Place, seed: string, language: string, signal: AbortSignal) => Promise<Exercise[]>} */
export async function exercises(run, step, { layer, head, query, key }, seed, language, signal) {
  const path = `learn/exercises?${asked({ step, layer, head, query, key, seed: seed || 0, language })}`;
  const found = /** @type {{ exercises: Exercise[] }} */ (await run.json(path, signal));
  return found.exercises;
}

/** Shares of a score. @typedef {{ score: number, shares: number[], biases: number }} Split */
/** What carried the answer, less its rival's logit, or the pooled vector; `twin` has another word at one token.
 * @typedef {Split & { answer: string, rival: string, twin: (Split & { at: number, word: string }) | null }} Carried */

/** {} where nothing may run again. @type {(run: Run, query: number, signal: AbortSignal) => Promise<Carried | {}>} */
export const carried = (run, query, signal) => run.json(`learn/carried?${asked({ query })}`, signal);

/** Where a seat looks first. @type {(seat: string) => Promise<{ text: string, place: { layer: number, head: number, query: number, key: number } }>} */
export const seatOf = (seat) => json(`viz/learn/seat?${asked({ seed: seat })}`);

const asked = (/** @type {Record<string, string | number>} */ all) =>
  new URLSearchParams(Object.entries(all).map(([name, value]) => [name, String(value)]));
