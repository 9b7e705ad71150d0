// Server requests of the Corpus tab; the page holds its tables, and the server keeps none.

import { ask } from "../core/server.js";
import { streamed } from "../core/streamed.js";

/** What is measured; with a second column, pairs of texts.
 * @typedef {{ name: string, body: BodyInit, model: string, column: string, second?: string }} Asked */

/** @type {(asked: Asked, tell: Tell, signal: AbortSignal) => Promise<HeadTable>} */
export const measured = ({ name, body, model, column, second = "" }, tell, signal) =>
  streamed(`viz/corpus/measured?${new URLSearchParams({ name, model, column, second })}`, tell, { body, signal });

/** Several pictures: a line with their names and sizes, and then their bytes.
 * @type {(files: File[], model: string, tell: Tell, signal: AbortSignal) => Promise<HeadTable>} */
export function picturesMeasured(files, model, tell, signal) {
  const about = { names: files.map(({ name }) => name), sizes: files.map(({ size }) => size) };
  const body = new Blob([`${JSON.stringify(about)}\n`, ...files]);
  return streamed(`viz/corpus/pictures?${new URLSearchParams({ model })}`, tell, { body, signal });
}

/** The example sentences on another model. @type {(model: string, tell: Tell, signal: AbortSignal) => Promise<HeadTable>} */
export const shippedOn = (model, tell, signal) =>
  streamed(`viz/corpus/example?${new URLSearchParams({ model })}`, tell, { body: "", signal });

/** The example treebank on its own model. @type {(tell: Tell, signal: AbortSignal) => Promise<HeadTable>} */
export const treebank = (tell, signal) => streamed("viz/corpus/treebank", tell, { body: "", signal });

/** @type {(table: HeadTable, kind: string) => Promise<Saved>} */
export async function fileOf({ words, says, sentence, names, ...table }, kind) {
  const response = await ask(`viz/corpus/file?kind=${kind}`, { body: JSON.stringify(table) });
  const stem = `${table.about.model}-heads`.replace(/[^A-Za-z0-9_.+-]+/g, "-");
  return { blob: await response.blob(), name: stem + kind };
}
