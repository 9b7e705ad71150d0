// Where keys lead to among layers and heads.

/** @import { HeadPlace } from "./codes.js" */

/** Null by any other key. @type {(key: string, from: HeadPlace, nLayers: number, nHeads: number) => HeadPlace | null} */
export function walkedGrid(key, { layer, head }, nLayers, nHeads) {
  /** @type {Record<string, [layer: number, head: number]>} */
  const moves = {
    ArrowUp: [layer - 1, head],
    ArrowDown: [layer + 1, head],
    ArrowLeft: [layer, head - 1],
    ArrowRight: [layer, head + 1],
    Home: [layer, 0],
    End: [layer, nHeads - 1],
  };
  if (!Object.hasOwn(moves, key)) return null;
  const within = (/** @type {number} */ at, /** @type {number} */ count) => Math.min(count - 1, Math.max(0, at));
  return { layer: within(moves[key][0], nLayers), head: within(moves[key][1], nHeads) };
}
