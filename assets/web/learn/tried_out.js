// The exercises of a run, and of a changed run those that are answered by changing it: they stay as they were.

import { changedRun } from "../core/changed_run.js";
import { exercises } from "./requests.js";

/** @import { Exercise } from "./requests.js" */
/** @import { Place } from "./types.d.ts" */

/** By step. @type {Record<number, string[]>} */
const TRIED_OUT = { 4: ["head-that-acts"], 9: ["deciding-word", "flips", "other-word"] };

/** @type {(run: Run, step: number, place: Place, seed: string, language: string, signal: AbortSignal) => Promise<Exercise[]>} */
export async function exercisesOf(run, step, ...asked) {
  const found = await exercises(run, step, ...asked);
  const plain = TRIED_OUT[step] ? await changedRun.plainOf(run) : run;
  if (plain === run || plain.n !== run.n) return found;
  const tried = (/** @type {Exercise} */ { id }) => TRIED_OUT[step].includes(id);
  const kept = (await exercises(plain, step, ...asked)).filter(tried);
  return [...found.filter((each) => !tried(each)), ...kept].sort((one, other) => one.level - other.level);
}
