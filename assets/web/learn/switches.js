// Switches of the model that is loaded: its real weights run again, as they were not trained.

import { hiding } from "../core/change_codes.js";
import { changedRun, codesOf } from "../core/changed_run.js";
import { el } from "../core/dom.js";
import { quoted } from "./printed.js";
import { spoken } from "./sentences.js";

/** @import { Shown } from "./types.d.ts" */

const LINES = "viz-learn-switches";
const [CAUSAL, NO_POSITIONS] = ["c", "p"]; // codes of changes

export class Switches {
  #headCode = "";
  title = el("summary");
  list = el("div", { class: LINES });
  said = el("p", { class: "viz-caption", role: "status" });
  here = el("div", { class: "viz-learn-here" });
  fold = el("details", {}, this.title, this.list);
  node = el("section", { class: "viz-learn-model" }, this.here, this.fold, this.said);
  head = el("input", { type: "checkbox", onchange: () => this.#toggle(this.#headCode) });
  causal = el("input", { type: "checkbox", onchange: () => this.#toggle(CAUSAL) });
  positions = el("input", { type: "checkbox", onchange: () => this.#toggle(NO_POSITIONS) });
  token = el("input", { type: "checkbox", onchange: () => this.#hide() });
  /** @type {Shown | null} */
  shown = null;

  /** @type {(shown: Shown, step: { divide: HTMLInputElement } | null) => void} `step` is step 4, with its switch */
  show(shown, step) {
    const { run, place, texts } = shown;
    const words = texts.switches;
    const before = this.shown?.run;
    if (before && before.key !== run.key) {
      const lost = codesOf(before).length && !run.changed && before.plainKey !== run.key;
      this.said.textContent = lost ? words.off : ""; // another input runs as the model is
    }
    this.shown = shown;
    this.title.replaceChildren(words.title, " ", el("small", {}, words.untrained));
    const line = (/** @type {string} */ text, /** @type {HTMLInputElement} */ box) =>
      el("label", {}, el("span", {}, text), box);
    const lines = [
      line(words.causal, this.causal),
      line(words.head(`${place.layer}.${place.head}`), this.head),
      line(words.positions, this.positions),
      line(words.hide(quoted(run.tokens[place.key])), this.token),
    ];
    this.list.replaceChildren(...lines);
    this.here.hidden = !step;
    const divided = step ? el("div", { class: LINES }, line(words.divide, step.divide)) : "";
    this.here.replaceChildren(el("h4", {}, words.here), divided);
    const codes = codesOf(run);
    this.#headCode = `h${place.layer}.${place.head}`;
    this.head.checked = codes.includes(this.#headCode);
    this.causal.checked = codes.includes(CAUSAL);
    this.positions.checked = codes.includes(NO_POSITIONS);
    if (codes.length) this.fold.open = true;
    const gone = !run.hasModel; // recorded, or a saved run that no model here gives
    for (const box of [this.causal, this.head, this.positions, this.token]) box.disabled = gone;
    if (gone) this.said.textContent = words.gone;
    this.token.checked = changedRun.has(run, hiding([place.key]));
  }

  // The chosen key, by its place in the shown text.
  #hide() {
    if (this.shown) changedRun.toggle(hiding([this.shown.place.key]), (sentence) => this.#tell(sentence));
  }

  // Made and taken back as every change of the shown run is.
  #toggle(/** @type {string} */ code) {
    changedRun.toggleInPlain([code], (sentence) => this.#tell(sentence));
  }

  #tell(/** @type {string} */ sentence) {
    this.said.textContent = this.shown ? spoken(this.shown.texts, sentence) : sentence;
  }
}
