// The answer that relevance explains: its head, position and label, and the row shown.

import { current } from "../core/app_state.js";
import { control, el, number, options } from "../core/dom.js";
import { linkedOf } from "../core/link_notes.js";

/** @import { Fresh } from "../core/latest.js" */
/** @import { Maybe, Prediction } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */

/** @type {Record<string, string>} */
const HEADS = { masked: "masked token", classify: "classifier", tokens: "token labels", replaced: "replaced token" };
const OTHER = "other";
const NOTE = "flow.answer"; // in the link: what of it is not as usual
/** @type {[value: string, text: string][]} */
const READ = [
  ["answer", "where the answer is read"],
  ["query", "the chosen query"],
];

export class Answer {
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

  constructor(/** @type {() => unknown} */ refresh) {
    const changed = () => {
      this.#note();
      refresh();
    };
    /** @type {(id: string, onchange: () => unknown, ...nodes: Node[]) => HTMLSelectElement} */
    const select = (id, onchange, ...nodes) => el("select", { id: `viz-flow-${id}`, onchange }, ...nodes);
    this.task = select("task", changed);
    this.place = select("place", () => {
      this.#fillLabels();
      changed();
    });
    this.label = select("label", () => {
      this.#reveal();
      if (this.label.value !== OTHER) changed();
      else this.typed.focus();
    });
    this.read = select("read", changed, ...options(READ));
    const typed = { type: "text", id: "viz-flow-typed", class: "viz-flow-typed", placeholder: "label or word" };
    this.typed = el("input", { ...typed, "aria-label": "Another label or word", onchange: changed });
    this.taskNode = control("Prediction head", this.task);
    this.placeNode = control("Target token", this.place);
    const others = [control("Answer", this.label, this.typed), control("Read at", this.read)];
    this.node = el("span", { class: "viz-flow-answer" }, this.taskNode, this.placeNode, ...others);
  }

  /** @type {(run: Run, query: number, fresh: Fresh) => Promise<void>} */
  async show(run, query, fresh) {
    this.query = query;
    if (this.run !== run) {
      this.run = run;
      this.#linked = new URLSearchParams(linkedOf(run, NOTE));
      this.task.replaceChildren(...options(run.tasks.map((task) => [task, HEADS[task] ?? task])));
      this.taskNode.hidden = run.tasks.length < 2;
      choose(this.task, this.#linked.get("task"));
    }
    const task = this.task.value;
    if (this.asked !== `${run.key}:${task}`) {
      this.guesses = await fresh(run.predictions(task, ""));
      this.asked = `${run.key}:${task}`;
      this.here = el("option", { value: "query" });
      const masks = task === "masked" ? this.guesses : [];
      const places = masks.map(({ token }) => el("option", { value: token }, run.named(Number(token))));
      this.place.replaceChildren(...places, this.here);
      this.placeNode.hidden = !this.ofTokens;
      choose(this.place, this.#linked.get("token"));
      this.#fillLabels();
    }
    this.here.textContent = `the chosen query, ${run.named(query)}`;
    if (this.place.value === "query" && this.labelsOf !== this.#guess()?.token) this.#fillLabels();
    this.#answer(this.#linked.get("label") ?? "");
    choose(this.read, this.#linked.get("read"));
    this.#linked = new URLSearchParams(); // from now on the person chooses
  }

  // The label of a link: one that is listed, or else typed.
  #answer(/** @type {string} */ label) {
    if (!label) return;
    if (!choose(this.label, label)) [this.label.value, this.typed.value] = [OTHER, label];
    this.#reveal();
  }

  #note() {
    const { task, place, label, read, typed } = this;
    const fields = { task, token: place, label, read };
    const chosen = Object.entries(fields).filter(([, field]) => field.selectedIndex > 0);
    const said = chosen.map(([name, { value }]) => [name, value === OTHER ? typed.value.trim() : value]);
    current.selection.note({ [NOTE]: String(new URLSearchParams(said.filter(([, value]) => value))) });
  }

  // Another run has other places and labels: the link no longer has those of the run it opened.
  enter(/** @type {Run} */ run) {
    if (run.key !== current.selection.opened) current.selection.note({ [NOTE]: "" });
  }

  get ofTokens() {
    return this.task.value !== "classify";
  }

  // Position of the answer.
  get token() {
    return this.place.value === "query" ? this.query : Number(this.place.value);
  }

  /** The view's options; null while a label is still to be typed. @returns {Record<string, string> | null} */
  options() {
    const { label, task, read } = this;
    const chosen = label.value === OTHER ? this.typed.value.trim() : label.value;
    if (label.value === OTHER && !chosen) return null;
    return {
      task: task.value,
      ...(chosen && { label: chosen }),
      ...(this.ofTokens && { token: String(this.token) }),
      ...(read.value === "query" && { query: String(this.query) }),
    };
  }

  // Read the relevance at the chosen query from now on; whether that is something else.
  readAtQuery() {
    const other = this.read.value !== "query";
    this.read.value = "query";
    this.#note();
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
  }
}

/** Choose what a link has, if it is offered; whether it is.
 * @type {(select: HTMLSelectElement, value: string | null) => boolean} */
function choose(select, value) {
  const offered = value !== null && [...select.options].some((option) => option.value === value);
  if (offered) select.value = value;
  return offered;
}
