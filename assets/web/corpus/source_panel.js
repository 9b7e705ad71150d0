// Whose texts are measured: pasted ones, a file, a saved table, or the example sentences.

import { button, caption, control, controls, el } from "../core/dom.js";
import { Work } from "../views/work.js";
import { section } from "../views/headed.js";
import { measured, shippedOn, treebank } from "./requests.js";

/** @import { Tell } from "../core/streamed.js" */
/** @import { HeadTable } from "./types.d.ts" */
/** @typedef {(tell: Tell, signal: AbortSignal) => Promise<HeadTable>} Ask */

const MOST = 2000;
const KINDS = ".txt,.conllu,.csv,.tsv,.jsonl,.ndjson,.parquet,.json,.npz";
const ABOUT = `Up to ${MOST.toLocaleString("en-US")} texts: a .txt file with one text per line, a .csv, .tsv, .jsonl or .parquet file
  with a column of texts, a treebank (.conllu), or a table that was saved before. They are read by the model chosen at the top of the page,
  and the server keeps nothing. For pairs, pictures and larger sets, run viz-encoder corpus in a terminal and open the table
  that it saves. The 240 example sentences were written for this project and are under its license.`;
const [MODEL, USUAL] = ["#viz-model input", "all-MiniLM-L6-v2"];

/** The text model that the form holds; it has no such box while it is about a picture. */
export const chosenModel = () => /** @type {HTMLInputElement | null} */ (document.querySelector(MODEL))?.value || USUAL;

export const linesOf = (/** @type {string} */ typed) => typed.split("\n").filter((line) => line.trim()).length;

export class SourcePanel {
  typed = el("textarea", { id: "viz-corpus-texts", rows: 5, oninput: () => this.#count() });
  start = button("", () => this.#pasted(), { class: "viz-small viz-corpus-go", id: "viz-corpus-measure" });
  file = el("input", { type: "file", accept: KINDS, hidden: true, id: "viz-corpus-file" });
  column = el("input", { type: "text", value: "text", id: "viz-corpus-column" });
  work = new Work();

  /** `found` is told of each table that came. @param {(table: HeadTable) => unknown} found */
  constructor(found) {
    this.found = found;
    this.file.addEventListener("change", () => this.#sent());
    const upload = button("Upload texts or a table …", () => this.file.click(), { id: "viz-corpus-upload" });
    const shipped = button("Example sentences", () =>
      this.measure("Measuring the example sentences", (tell, signal) => shippedOn(chosenModel(), tell, signal)),
    );
    const trees = button("Example treebank", () => this.measure("Measuring the example treebank", treebank), {
      title: "400 sentences for the model grammar, in which the masked word depends on the word that decides it",
    });
    const label = el("label", { class: "viz-caption", for: this.typed.id }, "One text per line, or upload a file.");
    this.node = section(
      ...["viz-corpus-source", "Your texts", "Your texts"],
      ...[label, this.typed, controls(this.start, upload, this.file, control("Column:", this.column), shipped, trees)],
      ...[this.work.node, caption(ABOUT)],
    );
    this.#count();
  }

  /** Ask for a table in place of what was asked before. @param {string} words @param {Ask} ask */
  async measure(words, ask) {
    const table = await this.work.run(words, ask);
    if (table) this.found(table);
  }

  /** Measure a file's texts, or open the table that it is.
   * @type {(file: File, found?: (table: HeadTable) => unknown) => Promise<void>} */
  async read(file, found = this.found) {
    const { name } = file;
    const asked = { name, body: file, model: chosenModel(), column: this.column.value.trim() || "text" };
    const table = await this.work.run(`Measuring ${name}`, (tell, signal) => measured(asked, tell, signal));
    if (table) found(table);
  }

  #pasted() {
    const asked = { name: "", body: this.typed.value, model: chosenModel(), column: "text" };
    return this.measure("Measuring the texts", (tell, signal) => measured(asked, tell, signal));
  }

  #sent() {
    const [file] = this.file.files ?? [];
    this.file.value = ""; // so that the same file can be sent again
    if (file) this.read(file);
  }

  #count() {
    const count = linesOf(this.typed.value);
    this.start.disabled = count === 0 || count > MOST;
    const many = `${count.toLocaleString("en-US")} text${count === 1 ? "" : "s"}`;
    this.start.textContent = count === 0 ? "Measure the texts" : count > MOST ? `${many}: too many` : `Measure ${many}`;
  }
}
