// A table of heads: its numbers by head, its first heads, its examples, and how it differs from another.

import { headName, headsIn } from "../views/cells.js";

/** @typedef {{ at: HeadPlace, now: number, was: number, change: number }} Change */
/** @typedef {"" | "query" | "key" | "query key"} Role */

/** The head of a name such as "3.5", if the table has it. @type {(table: HeadTable, name: string) => HeadPlace | null} */
export function headOf({ shape: [layers, heads] }, name) {
  const found = /^(\d+)\.(\d+)$/.exec(name);
  if (!found) return null;
  const [layer, head] = [Number(found[1]), Number(found[2])];
  return layer < layers && head < heads ? { layer, head } : null;
}

/** A statistic with its decimals. @type {(value: Maybe | undefined, decimals?: number) => string} */
export const shown = (value, decimals = 2) =>
  value == null ? "–" : value.toFixed(Math.abs(value) >= 100 ? 0 : decimals);

/** Decimals for changes up to `high`, to show two digits of the largest.
 * @type {(high: number) => number} */
export const decimalsOf = (high) => (high > 0 ? Math.min(4, Math.max(2, 1 - Math.floor(Math.log10(high)))) : 2);

/** A number with its sign. @type {(value: Maybe, decimals?: number) => string} */
export function signed(value, decimals = 2) {
  if (value === null) return "–";
  const digits = shown(Math.abs(value), decimals);
  return Number(digits) === 0 ? digits : `${value > 0 ? "+" : "−"}${digits}`;
}

/** Heads by their values, the largest first; those without one are left out.
 * @type {(values: Maybe[][], count?: number) => HeadPlace[]} */
export function ranked(values, count = Infinity) {
  const known = headsIn(values).sort((a, b) => b.value - a.value); // stable: of equal ones the first
  return known.slice(0, count).map(({ layer, head }) => ({ layer, head }));
}

/** Why two tables cannot be subtracted; "" where they can. @type {(table: HeadTable, other: HeadTable, name: string) => string} */
export function incomparable(table, other, name) {
  const [one, two] = [table, other].map(({ shape }) => shape.join(" × "));
  if (one !== two) return `One table has ${one} heads (layers × heads), the other ${two}; they cannot be subtracted.`;
  if (!(name in other.arrays)) return `The other table does not have this statistic; choose another.`;
  return "";
}

/** This table less another. @type {(table: HeadTable, other: HeadTable, name: string) => Maybe[][]} */
export const difference = (table, other, name) =>
  table.arrays[name].map((row, layer) =>
    row.map((value, head) => {
      const was = other.arrays[name][layer][head];
      return value === null || was === null ? null : value - was;
    }),
  );

/** The heads that differ most, whichever way. @type {(table: HeadTable, other: HeadTable, name: string, count?: number) => Change[]} */
export function changes(table, other, name, count = Infinity) {
  const found = difference(table, other, name);
  const amounts = found.map((row) => row.map((value) => (value === null ? null : Math.abs(value))));
  return ranked(amounts, count).map((at) => ({
    at,
    now: Number(table.arrays[name][at.layer][at.head]),
    was: Number(other.arrays[name][at.layer][at.head]),
    change: Number(found[at.layer][at.head]),
  }));
}

/** "Head 2.4 differs most: 0.12, 0.61 in the other (−0.49)." @type {(changes: Change[], title: string) => string} */
export function changeSaid([first], title) {
  if (!first) return "The two tables have no number in common.";
  const { at, now, was, change } = first;
  const what = `${title.slice(0, 1).toLowerCase()}${title.slice(1)}`;
  if (change === 0) return `No head differs in ${what}.`;
  const decimals = decimalsOf(Math.abs(change));
  const [here, there] = [shown(now, decimals), shown(was, decimals)];
  return `Head ${headName(at)} differs most in ${what}: ${here} here, ${there} there (${signed(change, decimals)}).`;
}

/** A head's examples, the strongest first. @type {(table: HeadTable, place: HeadPlace) => HeadExample[]} */
export const examplesOf = ({ examples }, { layer, head }) =>
  examples.filter((one) => one.layer === layer && one.head === head);

/** A text of an example in parts, its query and key marked. @type {(example: HeadExample, side: number) => [text: string, role: Role][]} */
export function markedParts(example, side) {
  const letters = [...(example.texts[side] ?? "")]; // spans count code points, as Python does
  const roles = letters.map((_, at) => {
    const inside = (/** @type {"query" | "key"} */ role) =>
      example[`${role}_side`] === side && example[`${role}_span`][0] <= at && at < example[`${role}_span`][1];
    return /** @type {Role} */ ([inside("query") && "query", inside("key") && "key"].filter(Boolean).join(" "));
  });
  /** @type {[string, Role][]} */
  const parts = [];
  letters.forEach((letter, at) => {
    if (at && roles[at] === roles[at - 1]) parts[parts.length - 1][0] += letter;
    else parts.push([letter, roles[at]]);
  });
  return parts;
}
