// Server requests of the Learn tab.

/** @import { Place, Run, TokenNumbers } from "./types.d.ts" */
/** @typedef {{ value: number, tolerance: number, says: string }} Mistake */
/** @typedef {{ id: string, step: number, level: number, question: string, kind: "number" | "choice", unit: string,
 *   decimals: number, answer: number, tolerance: number, choices: string[] | null, mistakes: Mistake[],
 *   right: string, wrong: string, hint: string }} Exercise */

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

/** @type {(run: Run, step: number, place: Place, seed: string, language: string, signal: AbortSignal) => Promise<Exercise[]>} */
export async function exercises(run, step, { layer, head, query, key }, seed, language, signal) {
  const path = `learn/exercises?${asked({ step, layer, head, query, key, seed: seed || 0, language })}`;
  const found = /** @type {{ exercises: Exercise[] }} */ (await run.json(path, signal));
  return found.exercises;
}

const asked = (/** @type {Record<string, string | number>} */ all) =>
  new URLSearchParams(Object.entries(all).map(([name, value]) => [name, String(value)]));
