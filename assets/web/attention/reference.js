// One run kept as the reference that later ones are compared with, for as long as the page is open.

import { button, controls, count, el } from "../core/dom.js";
import { runText } from "../core/form.js";
import { MAP_CHANGE } from "./head_statistics.js";
import { quoted } from "../core/token_names.js";

/** @import { HeadOrder, HeadStatistics, Run, Selection } from "./types.d.ts" */

const FIRST_WORDS = 40; // characters
const LATER = { title: "Later runs are compared with it, head by head" };

export class Reference {
  /** @type {[statistic: string, order: string]} */ #before = ["entropy", "layer"]; // of the atlas
  keep = button("Set as reference", () => this.measures.keep(this.measures.run), LATER);
  change = button("Show the change", () => this.#turn(!this.selection.change), {
    class: "viz-small viz-pressed",
    title: "Draw the map and the atlas as now − before, and put the heads that moved most first",
  });
  forget = button("Clear reference", () => this.#forget(), { title: "Stop comparing" });
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

  // The heads stand as they did before, once the change is shown no more.
  #turn(/** @type {boolean} */ on) {
    const { selection, order } = this;
    if (on) this.#before = [order.statistic, order.direction.value];
    selection.set({ change: on });
    if (on) order.show(MAP_CHANGE, "highest");
    else if (order.statistic === MAP_CHANGE) order.show(...this.#before);
    this.#sync();
  }

  #forget() {
    this.selection.set({ change: false });
    this.measures.keep(null);
  }

  #sync() {
    const { reference, run, comparable } = this.measures;
    this.keep.disabled = !this.measures.complete("entropy") || reference?.run === run;
    this.change.hidden = !comparable.statistics;
    this.change.ariaPressed = String(this.selection.change);
    this.forget.hidden = !reference;
    const other = run && reference && !comparable.statistics;
    const compared = !run || !reference ? "" : other ? comparable.why : compare(run, reference.run);
    const said = reference
      ? `Reference: ${named(reference.run)}. ${compared}`
      : "Set a run as reference, then run another text or model to see which heads changed.";
    if (said !== this.said.textContent) this.said.textContent = said;
  }
}

/** Which tokens differ. @type {(run: Run, before: Run) => string} */
function compare(run, before) {
  const { tokens } = before;
  if (run.n !== before.n)
    return `The reference has ${before.n} tokens, this run ${run.n}: maps are compared on the tokens that both have.${unlike(run, before)}`;
  const other = run.tokens.flatMap((token, at) => (token === tokens[at] ? [] : [at]));
  const first = `: ${other.length > 1 ? "first " : ""}${quoted(tokens[other[0]])} → ${quoted(run.tokens[other[0]])}`;
  const which = `${count(other.length)} of ${count(run.n)} tokens differ${other.length ? first : ""}`;
  return `${which}.${unlike(run, before)}`;
}

/** What else differs than the tokens, a sentence each. @type {(run: Run, before: Run) => string} */
function unlike(run, before) {
  const models = `Heads are compared by their number, and those of ${before.model} and ${run.model} have nothing to do with each other.`;
  const masks = `This run has ${run.masked ? `a mask (${run.masked})` : "no mask"}, the reference ${before.masked ? `one (${before.masked})` : "none"}; pairs that either forbids have no change.`;
  const said = [run.model !== before.model && models, run.masked !== before.masked && masks].filter(Boolean);
  return said.map((sentence) => ` ${sentence}`).join("");
}

// A run by its model and its first words.
function named(/** @type {Run} */ run) {
  if (run.grid) return `${run.model}, a picture of ${run.grid.rows} × ${run.grid.cols} patches`;
  const text = run.link.a ?? run.tokens.filter((_, at) => !run.special[at]).join(" ");
  return `${run.model}, ${quoted(text.length > FIRST_WORDS ? `${text.slice(0, FIRST_WORDS)}…` : text)}`;
}
