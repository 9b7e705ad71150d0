// Server requests of the Corpus tab; the page holds its tables, and the server keeps none.

import { ask } from "../core/server.js";
import { fileName } from "../views/canvas_png.js";

/** What the server measures. @typedef {{ path: string, body: BodyInit }} Asked */

/** A file, or typed texts; with a second column, pairs of texts.
 * @type {(asked: { name: string, body: BodyInit, model: string, column: string, second?: string }) => Asked} */
export const texts = ({ body, second = "", ...asked }) => ({
  path: `viz/corpus/measured?${new URLSearchParams({ ...asked, second })}`,
  body,
});

/** Several pictures: a line with their names and sizes, and then their bytes. @type {(files: File[], model: string) => Asked} */
export function pictures(files, model) {
  const about = { names: files.map(({ name }) => name), sizes: files.map(({ size }) => size) };
  const body = new Blob([`${JSON.stringify(about)}\n`, ...files]);
  return { path: `viz/corpus/pictures?${new URLSearchParams({ model })}`, body };
}

/** @type {(table: HeadTable, kind: string) => Promise<Saved>} */
export async function fileOf({ words, says, sentence, names, ...table }, kind) {
  const response = await ask(`viz/corpus/file?kind=${kind}`, { body: JSON.stringify(table) });
  return { blob: await response.blob(), name: fileName(`${table.about.model}-heads${kind}`) };
}
