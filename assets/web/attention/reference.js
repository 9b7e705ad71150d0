// One run kept as the reference that later ones are compared with, for as long as the page is open.

import { count, el } from "../core/dom.js";
import { MAP_CHANGE } from "./head_statistics.js";

const FIRST_WORDS = 40; // characters

export class Reference {
  constructor(measures, order) {
    Object.assign(this, { measures, order });
    const button = (text, title, onclick) => el("button", { type: "button", class: "viz-small", title, onclick }, text);
    this.keep = button("Keep this run as reference", "Later runs are compared with it, head by head", () =>
      measures.keep(measures.run),
    );
    this.show = button("Show the change", "", () => this.#show());
    this.forget = button("Forget", "Compare with no run any more", () => measures.keep(null));
    this.said = el("p", { class: "viz-caption viz-reference-said", role: "status" });
    this.node = el(
      "div",
      { class: "viz-reference", role: "group", "aria-label": "Compare with a reference" },
      el(
        "div",
        { class: "viz-controls" },
        el("strong", {}, "Compare with a reference"),
        this.keep,
        this.show,
        this.forget,
      ),
      this.said,
    );
    measures.on(() => this.#sync());
    this.#sync();
  }

  // The maps' own change where they can be subtracted, else that of the statistic looked at.
  #show() {
    const { maps } = this.measures.comparable;
    const plain = this.order.statistic.replace(`${MAP_CHANGE}:`, "");
    this.order.show(maps ? MAP_CHANGE : `${MAP_CHANGE}:${plain}`, "highest");
  }

  #sync() {
    const { reference, run } = this.measures;
    const { maps, statistics } = this.measures.comparable;
    this.keep.disabled = !this.measures.complete("entropy") || reference?.run === run;
    this.show.hidden = !statistics;
    this.forget.hidden = !reference;
    this.show.textContent = maps ? "Show the change" : "Show the statistic's change";
    this.show.title = maps
      ? "The atlas by how far each head's map moved, one number a head"
      : "The atlas by how far the statistic of each head moved";
    const said = reference
      ? `Reference: ${named(reference.run)}. ${this.#compared()}`
      : "Keep a run, run another text or model, and see which heads changed.";
    if (said !== this.said.textContent) this.said.textContent = said;
  }

  #compared() {
    const { reference, run, comparable } = this.measures;
    if (!run) return "";
    if (comparable.why) return comparable.why;
    const before = reference.run.tokens;
    const other = run.tokens.flatMap((token, at) => (token === before[at] ? [] : [at]));
    const which = other.length
      ? `: ${other.length > 1 ? "first " : ""}“${before[other[0]]}” → “${run.tokens[other[0]]}”`
      : "";
    return `${count(other.length)} of ${count(run.n)} tokens differ${which}. Maps are compared position by position, to one number a head.`;
  }
}

// A run by its model and its first words.
function named(run) {
  if (run.grid) return `${run.model}, a picture of ${run.grid.rows} × ${run.grid.cols} patches`;
  const text = run.link.a ?? run.tokens.filter((_, at) => !run.special[at]).join(" ");
  return `${run.model}, “${text.length > FIRST_WORDS ? `${text.slice(0, FIRST_WORDS)}…` : text}”`;
}
