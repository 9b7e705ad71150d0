// What the answer is asked against: nothing, another answer, a text, or a run, which the maps are compared with, too.

import { control, el, options } from "../core/dom.js";
import { choose } from "../core/link_notes.js";
import { quoted } from "../core/token_names.js";
import { shortened, unshared } from "./reference_words.js";

/** @typedef {[value: string, text: string]} Entry */

const OTHER = "other";
const SAVED = "saved";
const RUN = "run:"; // before the key of a run of this page
const MOST_NAMED = 60; // characters in a sentence
const NOTHING = "nothing"; // in a link, where another choice is the default
const SAVED_FILE = "A .safetensors file from “Saved run” or trace.save";

export class Against {
  /** @type {Run | null} */ #run = null;
  #again = () => {};
  #listed = "";
  #told = ""; // against what the last question was told
  #usual = ""; // the default for this run
  #own = { of: "", value: "" }; // what a person chose for a text, also while another run is chosen for them
  select = el("select", { id: "viz-explain-against", onchange: () => this.#chose() });
  rival = el("input", {
    ...{ type: "text", id: "viz-explain-rival", class: "viz-typed" },
    ...{ "aria-label": "Another label, word or text to subtract", onchange: () => this.changed() },
  });
  file = el("input", {
    ...{ type: "file", class: "viz-saved-reference", accept: ".safetensors", title: SAVED_FILE },
    ...{ "aria-label": "A saved run to compare with", onchange: () => this.#upload() },
  });
  node = control("against", this.select, this.rival, this.file);

  /** @param {() => unknown} changed @param {Reference} reference */
  constructor(changed, reference) {
    this.changed = changed;
    this.reference = reference;
  }

  /** Offer what there is for a run; `ofHead`: for an answer of a prediction head. A word that decides it is named by the
   * text with its counterpart, first where the answer is `placed`: of the text or its [MASK], not of any token.
   * @type {(run: Run, ofHead: boolean, placed?: boolean) => void} */
  offer(run, ofHead, placed = false) {
    const { select, reference } = this;
    const { value } = select;
    const asUsual = this.#run !== run || value === this.#usual || value.startsWith(RUN);
    const texts = swapped(run);
    const runs = reference.offered(run).map(([key, name]) => /** @type {Entry} */ ([RUN + key, name]));
    /** @type {Entry[]} */ const answers = ofHead ? [["runner-up", "the runner-up"]] : [];
    /** @type {Entry[]} */ const typed = [[OTHER, ofHead ? "another label, word or text …" : "another text …"]];
    select.replaceChildren(
      ...options([["", NOTHING], ...answers, ...texts]),
      ...(runs.length ? [el("optgroup", { label: "Runs of this page" }, ...options(runs))] : []),
      ...options([[SAVED, "a saved run …"], ...(run.unsplit ? [] : typed)]),
    );
    this.rival.placeholder = `${ofHead ? "A label, word or text" : "Another text"}; Enter asks`;
    [this.#run, this.#again, this.#listed] = [run, () => this.offer(run, ofHead, placed), this.#listing(run)];
    this.#usual = placed ? (texts[0]?.[0] ?? "") : "";
    if (reference.key) choose(select, RUN + reference.key);
    else if (asUsual || !choose(select, value)) {
      const own = this.#own.of === run.plainKey ? this.#own.value : this.#usual;
      if (!choose(select, own)) select.value = this.#usual;
    }
    this.#reveal();
  }

  /** Offer the runs that there are now, and choose the one that the maps are compared with; whether that makes it
   * another question. */
  follow() {
    const run = this.#run;
    if (!run) return false;
    if (this.#listed !== this.#listing(run)) this.#again();
    else if (!this.select.value.startsWith(RUN)) return false;
    return this.asked !== null && this.#told !== this.#wanted; // also where a run that was chosen is here by now
  }

  get #wanted() {
    return `${this.asked} ${this.barred}`;
  }

  /** What a question is told against from now on. */
  tell() {
    this.#told = this.#wanted;
    return this.asked;
  }

  #listing(/** @type {Run} */ run) {
    return `${this.reference.key} ${this.reference.offered(run)}`;
  }

  /** What is asked against; "" of nothing, null while it is to be typed. A run that is not here yet, or of which no share
   * is told, is not asked against. @returns {string | null} */
  get asked() {
    const { value } = this.select;
    if (value === OTHER) return this.rival.value.trim() || null;
    if (value === SAVED) return "";
    if (!value.startsWith(RUN)) return value;
    const { other: run } = this.reference;
    return run && !this.barred ? RUN + run.key : "";
  }

  // Why this run's answer is not told against the chosen one; "" where it is.
  get barred() {
    const { other: run } = this.reference;
    return this.#run && run && this.select.value.startsWith(RUN) ? unshared(this.#run, run) : "";
  }

  /** A text to patch heads from: what is asked against, or else the one with the counterpart; "" of none. */
  get twin() {
    const { value } = this.select;
    const run = this.#run;
    if (value.startsWith(RUN)) return this.reference.other?.link.a ?? "";
    const [[counterpart] = [""]] = run ? swapped(run) : [];
    const text = value === OTHER ? this.rival.value.trim() : value;
    return text.includes(" ") ? text : counterpart; // not a label or a word
  }

  /** What the other run is, in words; "" where that is long or no other run. */
  get named() {
    const { value, selectedOptions } = this.select;
    const said = value.startsWith(RUN) || value.includes(" ") ? (selectedOptions[0]?.text ?? "") : "";
    return said.length <= MOST_NAMED ? said : "";
  }

  /** For a file's title: " against “wide”"; "" of nothing. */
  get captioned() {
    const { asked, rival, select } = this;
    const typed = select.value === OTHER ? quoted(shortened(rival.value.trim())) : select.selectedOptions[0].text;
    return asked ? ` against ${typed}` : "";
  }

  /** As a link has it, beside the run; "" as usual. */
  get noted() {
    const { value } = this.select;
    if (value === this.#usual || value === SAVED || value.startsWith(RUN)) return "";
    return value === OTHER ? this.rival.value.trim() : value || NOTHING;
  }

  /** What a link has: a choice that is listed, or else typed. */
  take(/** @type {string | null} */ noted) {
    if (!noted || this.reference.key) return;
    if (noted === NOTHING) this.select.value = "";
    else if (!choose(this.select, noted)) [this.select.value, this.rival.value] = [OTHER, noted];
    this.#keep();
    this.#reveal();
  }

  // A choice is no longer kept.
  forget() {
    [this.#run, this.#own] = [null, { of: "", value: "" }];
  }

  #keep() {
    const { value } = this.select;
    if (!value.startsWith(RUN) && value !== SAVED) this.#own = { of: this.#run?.plainKey ?? "", value };
  }

  #chose() {
    const { value } = this.select;
    this.#keep();
    this.#reveal();
    if (value === SAVED) return this.file.click();
    this.reference.choose(value.startsWith(RUN) ? value.slice(RUN.length) : "");
    if (value === OTHER) return this.rival.focus();
    this.changed();
  }

  #upload() {
    const file = this.file.files?.[0];
    if (file) this.reference.upload(file);
    this.file.value = "";
  }

  #reveal() {
    this.rival.hidden = this.select.value !== OTHER;
    this.file.hidden = this.select.value !== SAVED;
  }
}

/** The same text with a word for its counterpart, where it has one. @type {(run: Run) => Entry[]} */
function swapped({ swap, link, unsplit }) {
  if (!swap || !link.a || link.b || unsplit) return [];
  const [old, twin] = swap;
  return [[link.a.replace(old, twin), `the same with ${quoted(twin)} for ${quoted(old)}`]];
}
