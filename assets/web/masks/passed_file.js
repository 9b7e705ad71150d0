// A mask as one's code passes it: a file in a named convention, held against what is meant.

import { alertLine, button, caption, control, count, el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { uploaded } from "./requests.js";

/** @typedef {Meant | null | Promise<Meant>} Asked */
/** @typedef {{ says: string, wrong: boolean, mistake: string, unlike: boolean }} Verdict what the file is; `mistake` does what it does, or none */

const NO_VERDICT = { says: "", wrong: false, mistake: "", unlike: false };

export class PassedFile {
  /** @type {Run | null} */
  shown = null; // whose mask is there
  /** @type {Run | null} */
  home = null; // without padding
  most = 0; // bytes of a file
  /** @type {File | null} */
  file = null;
  /** @type {Mask | null} */
  mask = null; // that it holds
  field = el("input", { type: "file", id: "viz-mask-file", accept: ".npy,.csv", hidden: true });
  choose = button("Choose a file (.npy, .csv) …", () => this.field.click(), { id: "viz-mask-file-button" });
  name = el("bdi", { class: "viz-mask-file-name" });
  drop = button("×", () => this.#drop(), { "aria-label": "Remove the file", id: "viz-mask-file-drop" });
  means = el("option", { value: "file", hidden: true }, "as the file says");
  loaded = el("span", { class: "viz-mask-group", hidden: true }, this.name, this.drop);
  /** @type {MasksOffered["conventions"]} */
  conventions = [];
  convention = el("select", { id: "viz-mask-passed", onchange: () => this.#entered() });
  says = caption(); // the convention, with the calls that have it
  sample = el("select", { id: "viz-mask-sample", onchange: () => this.read() });
  samples = control("Sample of the batch", this.sample);
  fault = alertLine();
  nodes = [this.choose, this.field, this.loaded, control("as", this.convention), this.samples];
  #asked = new Latest((sentence) => {
    this.acts.tell(NO_VERDICT);
    this.name.replaceChildren(el("s", {}, this.name.textContent));
    this.fault.textContent = `${sentence} The file is not passed: the mask stays as it was.`;
  });

  /** `meant` is what a person said is meant, `made` gets the file's mask where that is the file, `tell` what it is,
   * and `dropped` that it is gone.
   * @param {{ meant: () => Asked, made: (mask: Mask, run: Run) => unknown, tell: (verdict: Verdict) => unknown,
   *   dropped: () => unknown }} acts */
  constructor(acts) {
    this.acts = acts;
    this.field.addEventListener("change", () => this.#chosen());
  }

  /** @type {(home: Run, offered: MasksOffered) => void} */
  show(home, { conventions, fileBytes }) {
    Object.assign(this, { home, shown: home, most: fileBytes, conventions });
    if (!this.convention.length)
      this.convention.append(...options(conventions.map(({ name, words }) => [name, withoutCalls(words)])));
    this.#tell();
    this.#drop();
  }

  #entered() {
    this.#tell();
    return this.read();
  }

  #tell() {
    const { value } = this.convention;
    this.says.textContent = this.conventions.find(({ name }) => name === value)?.words ?? "";
  }

  #chosen() {
    const file = this.field.files?.[0] ?? null;
    this.field.value = ""; // so that the same file can be chosen again
    if (!file) return;
    if (file.size > this.most)
      return this.fault.replaceChildren(
        `${file.name} has ${count(file.size)} bytes; at most ${count(this.most)} are allowed here.`,
      );
    this.#batch(1, 0);
    return this.#read(file, this.acts.meant());
  }

  /** What is loaded, once more. */
  read() {
    return this.file && this.#read(this.file, this.acts.meant());
  }

  /** Hold the file against what is meant; null = what it says. @param {Asked} by */
  compare(by) {
    return this.file && this.#read(this.file, by);
  }

  /** @type {(file: File, asks: Asked) => Promise<unknown> | undefined} */
  #read(file, asks) {
    const { home, shown } = this;
    if (!home || !shown) return;
    this.file = file;
    this.name.textContent = file.name;
    this.loaded.hidden = this.means.hidden = false;
    this.choose.textContent = "Another file …";
    const [convention, sample] = [this.convention.value, Number(this.sample.value)];
    return this.#asked.run(async (fresh) => {
      const meant = await fresh(asks);
      const asked = { convention, sample, meant };
      const read = async (/** @type {Run} */ run) => ({ run, ...(await uploaded(run, file, asked)) });
      const other = (/** @type {Error} */ fault) => (shown === home ? Promise.reject(fault) : read(home));
      const { run, mask, samples, ...verdict } = await fresh(read(shown).catch(other)); // of the text with its padding, or alone
      this.fault.textContent = "";
      this.#batch(samples, sample);
      this.mask = mask;
      if (!meant) this.acts.made(mask, run);
      this.acts.tell({ ...verdict, unlike: meant !== null && verdict.wrong && !verdict.mistake });
    });
  }

  #drop() {
    this.#asked.stop();
    this.file = this.mask = null;
    this.loaded.hidden = this.means.hidden = true;
    this.choose.textContent = "Choose a file (.npy, .csv) …";
    this.#batch(1, 0);
    this.fault.textContent = "";
    this.acts.dropped();
    this.acts.tell(NO_VERDICT);
  }

  /** @type {(samples: number, chosen: number) => void} */
  #batch(samples, chosen) {
    this.samples.hidden = samples < 2;
    const names = Array.from({ length: samples }, (_, at) => /** @type {const} */ ([at, `${at} of ${samples}`]));
    this.sample.replaceChildren(...options(names));
    this.sample.value = String(chosen);
  }
}

/** A convention by its numbers alone. @param {string} words */
export const withoutCalls = (words) => words.replace(/ \((?:[^()]|\([^()]*\))*\)$/, "");
