// Input of the Corpus tab: pasted texts, a file, images, a saved table, or the example sentences.

import { button, caption, control, controls, counted, el } from "../core/dom.js";
import { dataset, HEADED, WHERE_KEPT } from "../core/dataset.js";
import { Work } from "../views/work.js";
import { section } from "../views/headed.js";
import { pictures, texts } from "./requests.js";

/** @import { Asked } from "./requests.js" */

const [USUAL, PICTURE_USUAL] = ["all-MiniLM-L6-v2", "scene"];
const TREEBANK = { path: "viz/corpus/treebank", body: "" };
const MOST = 2000;
const ABOUT = [
  `Up to ${MOST.toLocaleString("en-US")} texts: a .txt file with one text per line, a .csv, .tsv, .jsonl or .parquet file with a column of texts (and one of text B, for pairs), or a treebank (.conllu); or as many pictures, as files or as a .zip; or a table that was saved before.`,
  `Texts are read by the text model chosen at the top of the page, pictures by the picture model (${PICTURE_USUAL}, unless another is chosen there), and the server keeps nothing.`,
  "For larger sets, run viz-encoder corpus in a terminal and open the table that it saves.",
  "The 240 example sentences were written for this project and are under its license.",
].join(" ");

const TABLES = ".json,.npz,.parquet";
const PICTURES = [".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif"];
const KINDS = [".txt,.conllu,.csv,.tsv,.jsonl,.ndjson,.zip", TABLES, ...PICTURES].join(",");

const isPicture = (/** @type {string} */ name) => PICTURES.some((each) => name.toLowerCase().endsWith(each));

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

/** The model that the form holds; it has no box for the one of texts while it is about a picture, and the other way. */
const held = (/** @type {string} */ box, /** @type {string} */ usual) =>
  /** @type {HTMLInputElement | null} */ (document.querySelector(box))?.value || usual;

const chosenModel = () => held("#viz-model input", USUAL);
const chosenPictureModel = () => held("#viz-picture-model input", PICTURE_USUAL);

/** How many texts are typed, without the titles of a table. @type {(typed: string) => number} */
export const linesOf = (typed) => typed.split("\n").filter((line) => line.trim()).length - (HEADED.test(typed) ? 1 : 0);

export class SourcePanel {
  typed = el("textarea", { id: "viz-corpus-texts", rows: 4, oninput: () => this.#count() });
  start = button("", () => this.#pasted(), { class: "viz-small viz-corpus-go", id: "viz-corpus-measure" });
  column = el("input", { type: "text", value: "text", id: "viz-corpus-column" });
  second = el("input", { type: "text", placeholder: "none", id: "viz-corpus-second" });

  /** `found` is told of each table that came. @param {(table: HeadTable) => unknown} found @param {AbortSignal} life */
  constructor(found, life) {
    this.found = found;
    this.work = new Work(life);
    const upload = filePicker("Upload texts, pictures or a table …", "viz-corpus-file", (files) => this.read(files));
    const shipped = button("Example sentences", () => {
      const path = `viz/corpus/example?${new URLSearchParams({ model: chosenModel() })}`;
      return this.measure("the example sentences", { path, body: "" });
    });
    const trees = button("Example treebank", () => this.measure("the example treebank", TREEBANK), {
      title: "400 sentences for the model grammar, in which the masked word depends on the word that decides it",
    });
    const columns = [control("Column:", this.column), control("Column of text B:", this.second)];
    const label = el(
      "label",
      { class: "viz-caption", for: this.typed.id },
      `One text per line, or upload a file. ${WHERE_KEPT}`,
    );
    this.node = section(
      ...["viz-corpus-source", "Your texts", "Your texts"],
      ...[label, this.typed, controls(this.start, ...upload, ...columns, shipped, trees)],
      this.work.node,
      el(
        "details",
        { class: "viz-folded" },
        el("summary", {}, "Which files, how many texts, which model"),
        caption(ABOUT),
      ),
    );
    dataset.bind(this.typed);
    this.#count();
  }

  /** Ask for a table in place of what was asked before. @type {(what: string, asked: Asked, found?: (table: HeadTable) => unknown) => Promise<void>} */
  async measure(what, { path, body }, found = this.found) {
    const table = /** @type {HeadTable | null} */ (await this.work.run(`Measuring ${what}`, path, body));
    if (table) found(table);
  }

  /** Measure a file's texts or several pictures, or open the table that a file is.
   * @type {(files: File[], found?: (table: HeadTable) => unknown) => Promise<void>} */
  read(files, found) {
    const [first] = files;
    const alone = files.length === 1 && !isPicture(first.name);
    const asked = alone ? this.#asked(first) : pictures(files, chosenPictureModel());
    return this.measure(files.length === 1 ? first.name : counted(files.length, "picture"), asked, found);
  }

  /** @type {(file: File) => Asked} */
  #asked(file) {
    const model = file.name.toLowerCase().endsWith(".zip") ? chosenPictureModel() : chosenModel();
    const columns = { column: this.column.value.trim() || "text", second: this.second.value.trim() };
    return texts({ name: file.name, body: file, model, ...columns });
  }

  #pasted() {
    const { value } = this.typed;
    const name = HEADED.test(value) ? "pasted texts.csv" : "";
    return this.measure("the texts", texts({ name, body: value, model: chosenModel(), column: "text" }));
  }

  #count() {
    const count = linesOf(this.typed.value);
    this.start.disabled = count === 0 || count > MOST;
    const many = counted(count, "text");
    this.start.textContent = count === 0 ? "Measure the texts" : count > MOST ? `${many}: too many` : `Measure ${many}`;
  }
}
