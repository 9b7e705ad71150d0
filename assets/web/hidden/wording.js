// How the Hidden states tab says numbers and layers.

/** A number as a chart says it: four digits, and a word where there is none. @param {number | null} value */
export const digits = (value) =>
  value == null || Number.isNaN(value)
    ? "not defined"
    : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-4)
      ? value.toExponential(2)
      : Number(value.toPrecision(4)).toString();

// How many blocks were passed, in words.
export const passed = (/** @type {number} */ layer) =>
  layer === 0 ? "after the embeddings" : layer === 1 ? "after 1 block" : `after ${layer} blocks`;
