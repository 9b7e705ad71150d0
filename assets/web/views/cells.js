// Cells of a map: the next one by a key, those of a line, and those of a rectangle.

/** @typedef {[Cell, Cell]} Area a rectangle, by any two opposite corners, both included */

/** The cell that a key leads to in a map of `rows` × `cols`, `far` cells away; null for any other key.
 * @type {(key: string, from: Cell, rows: number, cols?: number, far?: number) => Cell | null} */
export function walked(key, [row, col], rows, cols = rows, far = 1) {
  /** @type {Record<string, Cell>} */
  const moves = {
    ArrowUp: [row - far, col],
    ArrowDown: [row + far, col],
    ArrowLeft: [row, col - far],
    ArrowRight: [row, col + far],
    Home: [row, 0],
    End: [row, cols - 1],
    PageUp: [0, col],
    PageDown: [rows - 1, col],
  };
  const inside = (/** @type {number} */ at, /** @type {number} */ n) => Math.min(n - 1, Math.max(0, at));
  return Object.hasOwn(moves, key) ? [inside(moves[key][0], rows), inside(moves[key][1], cols)] : null;
}

/** The cells on the way from one to another, the last one included. @type {(from: Cell, to: Cell) => Cell[]} */
export function lineOf([r0, c0], [r1, c1]) {
  const steps = Math.max(Math.abs(r1 - r0), Math.abs(c1 - c0), 1);
  const between = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ at) =>
    from + Math.round(((to - from) * (at + 1)) / steps);
  return Array.from({ length: steps }, (_, at) => [between(r0, r1, at), between(c0, c1, at)]);
}

/** Every head with its number, by layer and head; those without one are left out.
 * @type {(values: Maybe[][]) => (HeadPlace & { value: number })[]} */
export const headsIn = (values) =>
  values.flatMap((row, layer) => row.flatMap((value, head) => (value === null ? [] : { layer, head, value })));

/** @type {(place: HeadPlace) => string} */
export const headName = ({ layer, head }) => `${layer}.${head}`;
