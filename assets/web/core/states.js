// Names of hidden states: "after n blocks", the same on every tab.

export const STATES_AXIS = "After n blocks (0 = embeddings)";

/** Name of a state. @type {(n: number, last: number) => string} */
export const blocksPassed = (n, last) =>
  n === 0 ? "embeddings, before any block" : `after ${n} of ${last} ${last === 1 ? "block" : "blocks"}`;

export const afterBlocks = (/** @type {number} */ n) =>
  n === 0 ? "in the embeddings" : n === 1 ? "after 1 block" : `after ${n} blocks`;
