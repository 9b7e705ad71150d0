// The question that is asked: an answer of the model, a state or the vector, and against what.

import { current } from "../core/app_state.js";
import { control, el, number, options } from "../core/dom.js";
import { choose, linkedOf } from "../core/link_notes.js";
import { QUESTION } from "../core/selection_address.js";
import { quoted } from "../core/token_names.js";
import { Against } from "./against.js";

/** @type {Record<string, string>} */
const HEADS = { masked: "masked token", classify: "classifier", tokens: "token labels", replaced: "replaced token" };
const OTHER = "other";
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

  /** @param {() => unknown} refresh @param {Reference} reference */
  constructor(refresh, reference) {
    const changed = () => {
      this.#note();
      refresh();
    };
    /** @type {(id: string, onchange: () => unknown, ...nodes: Node[]) => HTMLSelectElement} */
    const select = (id, onchange, ...nodes) => el("select", { id: `viz-explain-${id}`, onchange }, ...nodes);
    this.task = select("task", changed);
    this.place = select("place", () => {
      this.#fillLabels();
      changed();
    });
    this.label = select("label", () => {
      this.#reveal();
      if (this.label.value === OTHER) this.typed.focus();
      else changed();
    });
    const typed = { type: "text", id: "viz-explain-typed", class: "viz-typed", placeholder: "label or word" };
    this.typed = el("input", { ...typed, "aria-label": "Another label or word", onchange: changed });
    this.against = new Against(changed, reference);
    this.taskNode = control("Explain", this.task);
    this.placeNode = control("Target token", this.place);
    this.labelNode = control("Answer", this.label, this.typed);
    const all = [this.taskNode, this.placeNode, this.labelNode, this.against.node];
    this.node = el("span", { class: "viz-question" }, ...all);
  }

  /** @type {(run: Run, query: number, fresh: Fresh) => Promise<void>} */
  async show(run, query, fresh) {
    this.query = query;
    this.taskNode.hidden = Boolean(run.unsplit);
    if (run.unsplit) {
      this.asked = "";
      this.placeNode.hidden = this.labelNode.hidden = true;
      return this.against.offer(run, false);
    }
    if (this.run !== run) {
      this.run = run;
      this.#linked = new URLSearchParams(linkedOf(run, QUESTION));
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
      this.against.offer(run, this.ofHead, task === "classify" || places.length > 0);
      choose(this.place, this.#linked.get("token"));
      this.#fillLabels();
    }
    this.here.textContent = `the chosen query, ${run.named(query)}`;
    const state = this.task.querySelector("[value=state]");
    if (state) state.textContent = `the final state of ${quoted(run.tokens[query])}`;
    if (this.place.value === "query" && this.labelsOf !== this.#guess()?.token) this.#fillLabels();
    const label = this.#linked.get("label");
    if (label && !choose(this.label, label)) [this.label.value, this.typed.value] = [OTHER, label];
    this.#reveal();
    this.against.take(this.#linked.get("against"));
    this.#linked = new URLSearchParams(); // from now on the person chooses
  }

  #note() {
    const { task, place, label, against, typed } = this;
    const chosen = Object.entries({ task, token: place, label }).filter(([, field]) => field.selectedIndex > 0);
    const said = chosen.map(([name, { value }]) => [name, value === OTHER ? typed.value.trim() : value]);
    said.push(["against", against.noted]);
    current.selection.note({ [QUESTION]: String(new URLSearchParams(said.filter(([, value]) => value))) });
  }

  // What the address has counts again, as for a run that it opens.
  again() {
    [this.run, this.asked] = [null, ""];
    this.against.forget();
  }

  // Another run has other places and labels: the link no longer has those of the run it opened.
  enter(/** @type {Run} */ run) {
    if (run.key !== current.selection.opened) current.selection.note({ [QUESTION]: "" });
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
    const { label, task } = this;
    const chosen = label.value === OTHER ? this.typed.value.trim() : label.value;
    const asked = this.against.tell();
    if ((this.ofHead && label.value === OTHER && !chosen) || asked === null) return null;
    return {
      of: task.value,
      ...(this.ofHead && chosen && { label: chosen }),
      ...(this.ofTokens && { token: String(this.token) }),
      ...(task.value === "state" && { token: String(this.query) }),
      ...(asked && { against: asked }),
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
  }
}
