// Switches of the model that is loaded: its real weights run again, as they were not trained.

import { hiding } from "../core/change_codes.js";
import { changedRun, codesOf } from "../core/changed_run.js";
import { el } from "../core/dom.js";
import { quoted } from "../core/token_names.js";

/** @import { Shown } from "./types.d.ts" */

const [CAUSAL, NO_POSITIONS] = ["c", "p"]; // codes of changes

export class Switches {
  #headCode = "";
  title = el("h4");
  list = el("div", { class: "viz-learn-switches" });
  said = el("p", { class: "viz-caption", role: "status" });
  node = el("section", { class: "viz-learn-model" }, this.title, this.list, this.said);
  head = el("input", { type: "checkbox", onchange: () => this.#toggle(this.#headCode) });
  causal = el("input", { type: "checkbox", onchange: () => this.#toggle(CAUSAL) });
  positions = el("input", { type: "checkbox", onchange: () => this.#toggle(NO_POSITIONS) });
  token = el("input", { type: "checkbox", onchange: () => this.#hide() });
  /** @type {Shown | null} */
  shown = null;

  /** @type {(shown: Shown, divide: HTMLInputElement | null) => void} `divide` is the switch of step 4 */
  show(shown, divide) {
    this.shown = shown;
    const { run, place, texts } = shown;
    const words = texts.switches;
    this.title.replaceChildren(words.title, " ", el("small", {}, words.untrained));
    const line = (/** @type {string} */ text, /** @type {HTMLInputElement} */ box) =>
      el("label", {}, el("span", {}, text), box);
    const lines = [
      ...(divide ? [line(words.divide, divide)] : []),
      line(words.causal, this.causal),
      line(words.head(`${place.layer}.${place.head}`), this.head),
      line(words.positions, this.positions),
      line(words.hide(quoted(run.tokens[place.key])), this.token),
    ];
    this.list.replaceChildren(...lines);
    const codes = codesOf(run);
    this.#headCode = `h${place.layer}.${place.head}`;
    this.head.checked = codes.includes(this.#headCode);
    this.causal.checked = codes.includes(CAUSAL);
    this.positions.checked = codes.includes(NO_POSITIONS);
    this.token.checked = changedRun.has(run, hiding([place.key]));
  }

  // The chosen key, by its place in the shown text.
  #hide() {
    const tell = (/** @type {string} */ sentence) => this.said.replaceChildren(sentence);
    if (this.shown) changedRun.toggle(hiding([this.shown.place.key]), tell);
  }

  // Made and taken back as every change of the shown run is.
  #toggle(/** @type {string} */ code) {
    changedRun.toggleInPlain([code], (sentence) => this.said.replaceChildren(sentence));
  }
}
