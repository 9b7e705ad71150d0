// The heads that What if opens on: those that the shown run lacks, or the one that matters most.

/** @import { HeadEffects } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */

/** Default heads; none before anything is removed or measured.
 * @type {(changes: string[], effects: HeadEffects | null) => HeadPlace[]} */
export function usualHeads(changes, effects) {
  const removed = removedHeads(changes);
  return removed.length || !effects ? removed : [strongest(effects)];
}

/** The heads that changes remove. @type {(changes: string[]) => HeadPlace[]} */
const removedHeads = (changes) =>
  changes.flatMap((code) => {
    const [, layer, head] = /^h(\d+)\.(\d+)$/.exec(code) ?? [];
    return head === undefined ? [] : [{ layer: Number(layer), head: Number(head) }];
  });

/** The head with the largest effect, whatever its sign. @type {(effects: HeadEffects) => HeadPlace} */
function strongest({ values }) {
  const all = values.flatMap((heads, layer) =>
    heads.map((value, head) => ({ layer, head, size: Math.abs(value ?? 0) })),
  );
  const { layer, head } = all.reduce((most, each) => (each.size > most.size ? each : most));
  return { layer, head };
}
