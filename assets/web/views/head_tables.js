// Tables of heads over many texts: the one that ships, and what a table says of a head.

import { counted } from "../core/dom.js";
import { json } from "../core/server.js";

/** @type {Promise<HeadTable> | null} */
let asked = null;

/** The table that ships, asked for once. @returns {Promise<HeadTable>} */
export function shippedTable() {
  asked ??= json("viz/corpus/example").catch((fault) => {
    asked = null; // so that it can be asked for again
    throw fault;
  });
  return /** @type {Promise<HeadTable>} */ (asked);
}

/** Unit of a table's items. */
export const itemOf = (/** @type {HeadTable} */ { about }) => (about.kind === "image" ? "picture" : "text");

/** Such as "1 text" or "12 pictures". @type {(table: HeadTable, n: number) => string} */
export const itemsOf = (table, n) => counted(n, itemOf(table));

/** Source of the texts; a file by its name alone. */
const sourceOf = (/** @type {HeadTable} */ { about: { source } }) => source.split(/[\\/]/).pop() || "a table";

export const tableName = (/** @type {HeadTable} */ table) =>
  `${sourceOf(table)} (${itemsOf(table, table.counts[0])}, ${table.about.model})`;

/** Decimals needed to show a spread. @type {(sd: number) => number} */
export const digitsOf = (sd) => (sd >= 0.005 || sd === 0 ? 2 : sd >= 0.0005 ? 3 : 4);

/**
 * One head's statistic over texts.
 * @type {(table: HeadTable, name: string, place: { layer: number, head: number }) => string}
 */
export function spreadOf(table, name, { layer, head }) {
  const value = (/** @type {string} */ part) => Number(table.arrays[name + part][layer][head]);
  const of = (/** @type {string} */ part) => value(part).toFixed(digitsOf(value("_sd")));
  if (table.arrays[name][layer][head] === null)
    return `Head ${layer}.${head}: not defined for any of these ${itemOf(table)}s.`;
  const texts = table.n_texts[name];
  const over = `over ${itemsOf(table, texts)}`;
  if (texts < 2) return `Head ${layer}.${head}: ${of("")} ${over}.`; // a single one has no spread
  const range = `from ${of("_least")} to ${of("_most")} in single ${itemOf(table)}s`;
  return `Head ${layer}.${head}: ${of("")} ± ${of("_sd")} ${over}; ${range}.`;
}
