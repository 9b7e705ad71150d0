// A button that opens files for this tab: texts, pictures or a saved table.

import { button, el } from "../core/dom.js";

const TABLES = ".json,.npz,.parquet";
const PICTURES = [".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif"];
const KINDS = [".txt,.conllu,.csv,.tsv,.jsonl,.ndjson,.zip", TABLES, ...PICTURES].join(",");

export const isPicture = (/** @type {string} */ name) => PICTURES.some((each) => name.toLowerCase().endsWith(each));

/** The button and the field that it opens; `found` is told of what a person chose.
 * @param {string} words @param {string} id of the field; the button's ends in -button
 * @param {(files: File[]) => unknown} found */
export function filePicker(words, id, found) {
  const field = el("input", { type: "file", accept: KINDS, multiple: true, hidden: true, id });
  field.addEventListener("change", () => {
    const files = [...(field.files ?? [])];
    field.value = ""; // so that the same file can be chosen again
    if (files.length) found(files);
  });
  return [button(words, () => field.click(), { id: `${id}-button` }), field];
}
