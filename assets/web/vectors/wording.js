// Number formats of the charts of states.

/** A number as a chart says it: four digits, and a word where there is none. @param {number | null} value */
export const digits = (value) =>
  value == null || Number.isNaN(value)
    ? "not defined"
    : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-4)
      ? value.toExponential(2)
      : Number(value.toPrecision(4)).toString();
