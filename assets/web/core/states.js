// What a hidden state is called: "after n blocks", on every tab alike.

export const STATES_AXIS = "After so many blocks (0 = embeddings)";

export const afterBlocks = (/** @type {number} */ n) =>
  n === 0 ? "in the embeddings" : n === 1 ? "after 1 block" : `after ${n} blocks`;
