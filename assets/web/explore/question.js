// The question that is asked: an answer of the model, a state or the vector, and against what.

import { current } from "../core/app_state.js";
import { control, el, number, options } from "../core/dom.js";
import { linkedOf } from "../core/link_notes.js";
import { quoted } from "../core/token_names.js";
import { inputNamed } from "./reference_link.js";

/** @import { Fresh } from "../core/latest.js" */
/** @import { Maybe, Prediction } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */

/** @type {Record<string, string>} */
const HEADS = { masked: "masked token", classify: "classifier", tokens: "token labels", replaced: "replaced token" };
const OTHER = "other";
const REFERENCE = "reference"; // the run that this one is compared with
const NOTHING = "nothing"; // in a link, where another choice is the default
const NOTE = "flow.answer"; // in the link: what of it is not as usual
/** @type {Record<string, string>} */
const OWN = { state: "the final state of a token", pooled: "the vector of the whole input" };

export class Question {
  /** @type {Run | null} */
  run = null;
  query = 0;
  #linked = new URLSearchParams(); // link entries for this run
  asked = ""; // of which run and head the guesses are
  /** @type {Prediction[]} */
  guesses = [];
  /** @type {Maybe | undefined} the token of which the labels are */
  labelsOf;
  here = el("option"); // the chosen query
  /** @type {Run | null} */
  reference = null;
  usual = ""; // the default of `against` for this run
  /** @type {Run | null} */ #offered = null; // of which run the choices are

  constructor(/** @type {() => unknown} */ refresh) {
    const changed = () => {
      this.#note();
      refresh();
    };
    /** @type {(id: string, onchange: () => unknown, ...nodes: Node[]) => HTMLSelectElement} */
    const select = (id, onchange, ...nodes) => el("select", { id: `viz-explain-${id}`, onchange }, ...nodes);
    const orTyped = (/** @type {HTMLSelectElement} */ { value }, /** @type {HTMLElement} */ typed) => {
      this.#reveal();
      if (value !== OTHER) changed();
      else typed.focus();
    };
    this.task = select("task", changed);
    this.place = select("place", () => {
      this.#fillLabels();
      changed();
    });
    this.label = select("label", () => orTyped(this.label, this.typed));
    this.against = select("against", () => orTyped(this.against, this.rival));
    const typed = { type: "text", id: "viz-explain-typed", class: "viz-typed", placeholder: "label or word" };
    this.typed = el("input", { ...typed, "aria-label": "Another label or word", onchange: changed });
    this.rival = el("input", {
      ...typed,
      id: "viz-explain-rival",
      placeholder: "label, word or text",
      "aria-label": "Another label, word or text to subtract",
      onchange: changed,
    });
    const taskNode = control("Explain", this.task);
    this.placeNode = control("Target token", this.place);
    this.labelNode = control("Answer", this.label, this.typed);
    const against = control("against", this.against, this.rival);
    this.node = el("span", { class: "viz-question" }, taskNode, this.placeNode, this.labelNode, against);
  }

  /** @type {(run: Run, query: number, fresh: Fresh) => Promise<void>} */
  async show(run, query, fresh) {
    this.query = query;
    if (this.run !== run) {
      this.run = run;
      this.#linked = new URLSearchParams(linkedOf(run, NOTE));
      /** @type {[string, string][]} */
      const asked = run.tasks.map((task) => [task, HEADS[task] ?? task]);
      this.task.replaceChildren(...options([...asked, ...Object.entries(OWN)]));
      choose(this.task, this.#linked.get("task"));
    }
    const task = this.task.value;
    if (this.asked !== `${run.key}:${task}`) {
      this.guesses = this.ofHead ? await fresh(run.predictions(task, "")) : [];
      this.asked = `${run.key}:${task}`;
      this.here = el("option", { value: "query" });
      const masks = task === "masked" ? this.guesses : [];
      const places = masks.map(({ token }) => el("option", { value: token }, run.named(Number(token))));
      this.place.replaceChildren(...places, this.here);
      this.placeNode.hidden = !this.ofTokens;
      this.labelNode.hidden = !this.ofHead;
      this.#offer(run);
      choose(this.place, this.#linked.get("token"));
      this.#fillLabels();
    }
    this.here.textContent = `the chosen query, ${run.named(query)}`;
    const state = this.task.querySelector("[value=state]");
    if (state) state.textContent = `the final state of ${quoted(run.tokens[query])}`;
    if (this.place.value === "query" && this.labelsOf !== this.#guess()?.token) this.#fillLabels();
    this.#take(this.label, this.typed, "label");
    this.#take(this.against, this.rival, "against");
    const later = this.#linked.get("against") === REFERENCE && this.against.value !== REFERENCE; // it is on its way
    this.#linked = new URLSearchParams(later ? { against: REFERENCE } : {}); // from now on the person chooses
  }

  /** Offer the run that this one is compared with, too; whether that makes it another question.
   * @param {Run | null} reference */
  compareWith(reference) {
    const before = this.options()?.against;
    this.reference = reference;
    if (!this.run || !this.asked) return false;
    this.#offer(this.run);
    if (choose(this.against, this.#linked.get("against"))) this.#linked = new URLSearchParams();
    this.#reveal();
    return before !== this.options()?.against;
  }

  // An answer that a word decides is asked against the text with its counterpart, which names that word.
  #offer(/** @type {Run} */ run) {
    const { value } = this.against;
    const asUsual = this.#offered !== run || value === this.usual;
    const texts = swapped(run);
    const rivals = this.ofHead ? [/** @type {const} */ (["runner-up", "the runner-up"])] : [];
    const runs = compared(run, this.reference, texts);
    this.against.replaceChildren(...options([["", NOTHING], ...rivals, ...texts, ...runs, [OTHER, "another …"]]));
    [this.#offered, this.usual] = [run, this.ofHead ? (texts[0]?.[0] ?? "") : ""];
    if (asUsual || !choose(this.against, value)) this.against.value = this.usual;
  }

  /** What a link has: a choice that is listed, or else typed. @type {(select: HTMLSelectElement, typed: HTMLInputElement,
   *   name: string) => void} */
  #take(select, typed, name) {
    const value = this.#linked.get(name);
    if (value === NOTHING) select.value = "";
    else if (value && !choose(select, value) && value !== REFERENCE) [select.value, typed.value] = [OTHER, value];
    this.#reveal();
  }

  #note() {
    const { task, place, label, against, typed, rival } = this;
    const fields = { task, token: place, label, against };
    const chosen = Object.entries(fields).filter(([, field]) =>
      field === against ? field.value !== this.usual : field.selectedIndex > 0,
    );
    const other = (/** @type {HTMLElement} */ field) => (field === against ? rival : typed).value.trim();
    const said = chosen.map(([name, field]) => [name, field.value === OTHER ? other(field) : field.value || NOTHING]);
    current.selection.note({ [NOTE]: String(new URLSearchParams(said.filter(([, value]) => value))) });
  }

  // Another run has other places and labels: the link no longer has those of the run it opened.
  enter(/** @type {Run} */ run) {
    if (run.key !== current.selection.opened) current.selection.note({ [NOTE]: "" });
  }

  get ofHead() {
    return !(this.task.value in OWN);
  }

  get ofTokens() {
    return this.ofHead && this.task.value !== "classify";
  }

  // Position of the answer.
  get token() {
    return this.place.value === "query" ? this.query : Number(this.place.value);
  }

  // Whether it is of the chosen token, so that another choice is another question.
  get ofQuery() {
    return this.task.value === "state" || (this.ofTokens && this.place.value === "query");
  }

  /** The question's words; null while something is still to be typed. @returns {Record<string, string> | null} */
  options() {
    const { label, task, against } = this;
    const chosen = label.value === OTHER ? this.typed.value.trim() : label.value;
    /** @type {Record<string, string>} */
    const its = { [OTHER]: this.rival.value.trim(), [REFERENCE]: `run:${this.reference?.key}` };
    const rival = its[against.value] ?? against.value;
    if ((this.ofHead && label.value === OTHER && !chosen) || (against.value === OTHER && !rival)) return null;
    return {
      of: task.value,
      ...(this.ofHead && chosen && { label: chosen }),
      ...(this.ofTokens && { token: String(this.token) }),
      ...(task.value === "state" && { token: String(this.query) }),
      ...(rival && { against: rival }),
    };
  }

  // Ask of the chosen token's final state from now on; whether that is another question.
  askOfToken() {
    const other = this.task.value !== "state";
    this.task.value = "state";
    if (other) this.#note();
    return other;
  }

  #guess() {
    return this.ofTokens ? this.guesses.find(({ token }) => token === this.token) : this.guesses[0];
  }

  #fillLabels() {
    const guess = this.#guess();
    this.labelsOf = guess?.token;
    const score = guess?.unit === "score" ? "score " : "";
    const likely = guess?.labels.map(
      (label, i) => /** @type {const} */ ([label, `${label}  (${score}${number(guess.shares[i])})`]),
    );
    const listed = likely?.length ? likely : [/** @type {const} */ (["", "most likely"])];
    this.label.replaceChildren(...options([...listed, [OTHER, "another …"]]));
    this.#reveal();
  }

  #reveal() {
    this.typed.hidden = this.label.value !== OTHER;
    this.rival.hidden = this.against.value !== OTHER;
  }
}

/** The same text with a word for its counterpart, where it has one. @type {(run: Run) => [value: string, text: string][]} */
function swapped({ swap, link }) {
  if (!swap || !link.a || link.b) return [];
  const [old, twin] = swap;
  return [[link.a.replace(old, twin), `the same with ${quoted(twin)} for ${quoted(old)}`]];
}

/** The run that this one is compared with, if its answer can be subtracted.
 * @type {(run: Run, reference: Run | null, texts: [value: string, text: string][]) => [value: string, text: string][]} */
function compared(run, reference, texts) {
  if (!reference || reference.key === run.key || reference.model !== run.model || reference.unsplit) return [];
  if (run.changed?.plain === reference.key) return [[REFERENCE, "the run without the change"]];
  const asText = !reference.changed && !reference.masked && texts.some(([text]) => text === reference.link.a);
  return asText ? [] : [[REFERENCE, `the reference, ${inputNamed(reference)}`]];
}

/** Choose what a link has, if it is offered; whether it is.
 * @type {(select: HTMLSelectElement, value: string | null) => boolean} */
function choose(select, value) {
  const offered = value !== null && [...select.options].some((option) => option.value === value);
  if (offered) select.value = value;
  return offered;
}
