// One run kept as the reference that later ones are compared with, for as long as the page is open.

import { button, controls, count, el } from "../core/dom.js";
import { runText } from "../core/form.js";
import { MAP_CHANGE } from "./head_statistics.js";
import { quoted } from "../core/token_names.js";

/** @import { HeadOrder, HeadStatistics, Run, Selection } from "./types.d.ts" */

const FIRST_WORDS = 40; // characters
const LATER = { title: "Later runs are compared with it, head by head" };

export class Reference {
  keep = button("Set as reference", () => this.measures.keep(this.measures.run), LATER);
  change = button("Show the change", () => this.order.show(MAP_CHANGE, "highest"), {
    title: "Shade the atlas by how far each head's map moved: one number per head",
  });
  forget = button("Clear reference", () => this.measures.keep(null), { title: "Stop comparing" });
  other = el("input", {
    type: "text",
    class: "viz-other-text",
    "aria-label": "Compare with another text",
    placeholder: "Compare with another text …",
    title: "Enter runs it, with this run as the reference",
    onkeydown: (event) => this.#key(event),
  });
  said = el("p", { class: "viz-caption viz-reference-said", role: "status" });
  node = el(
    "div",
    { class: "viz-reference", role: "group", "aria-label": "Compare with a reference" },
    el("h3", {}, "Compare"),
    ...[this.other, controls(this.keep, this.change, this.forget), this.said],
  );

  /** @param {Selection} selection @param {HeadStatistics} measures @param {HeadOrder} order */
  constructor(selection, measures, order) {
    this.selection = selection;
    this.measures = measures;
    this.order = order;
    measures.on(() => this.#sync());
    this.#sync();
  }

  // The typed text runs in place of this one, which becomes the reference; what is chosen stays.
  #key(/** @type {KeyboardEvent} */ event) {
    const text = this.other.value.trim();
    if (event.key !== "Enter" || event.isComposing || !text || !this.measures.run) return;
    event.stopPropagation(); // Ctrl + Enter runs the form as it is
    this.measures.keep(this.measures.run);
    this.selection.held = true;
    this.other.value = "";
    runText(text);
  }

  #sync() {
    const { reference, run, comparable } = this.measures;
    this.keep.disabled = !this.measures.complete("entropy") || reference?.run === run;
    this.change.hidden = !comparable.statistics;
    this.forget.hidden = !reference;
    const compared = run && reference ? comparable.why || compare(run, reference.run) : "";
    const said = reference
      ? `Reference: ${named(reference.run)}. ${compared}`
      : "Set a run as reference, then run another text or model to see which heads changed.";
    if (said !== this.said.textContent) this.said.textContent = said;
  }
}

/** Which tokens differ. @type {(run: Run, before: Run) => string} */
function compare(run, { tokens }) {
  const other = run.tokens.flatMap((token, at) => (token === tokens[at] ? [] : [at]));
  const first = `: ${other.length > 1 ? "first " : ""}${quoted(tokens[other[0]])} → ${quoted(run.tokens[other[0]])}`;
  const which = `${count(other.length)} of ${count(run.n)} tokens differ${other.length ? first : ""}`;
  return `${which}. Maps are compared position by position: one number per head.`;
}

// A run by its model and its first words.
function named(/** @type {Run} */ run) {
  if (run.grid) return `${run.model}, a picture of ${run.grid.rows} × ${run.grid.cols} patches`;
  const text = run.link.a ?? run.tokens.filter((_, at) => !run.special[at]).join(" ");
  return `${run.model}, ${quoted(text.length > FIRST_WORDS ? `${text.slice(0, FIRST_WORDS)}…` : text)}`;
}
