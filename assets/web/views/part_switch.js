// Which question a tab answers, of several: a row of buttons; what belongs to the others is out of sight.

import { current } from "../core/app_state.js";
import { button, el } from "../core/dom.js";
import { oneStop } from "./one_stop.js";

/** @typedef {{ tab: string, note: string, titles: Record<string, string>, signs?: Record<string, string> }} Parts of a
 *   tab, the usual one first; `note` is their entry in the link, and `signs` are entries that only one of them has */

export class PartSwitch {
  part = "";

  /** `opened` is told each part that is opened, the first one too.
   * @param {Parts} parts @param {(part: string) => unknown} opened @param {AbortSignal} signal */
  constructor(parts, opened, signal) {
    this.parts = parts;
    this.opened = opened;
    this.buttons = Object.entries(parts.titles).map(([name, title]) =>
      button(title, () => this.choose(name), { "data-part": name }),
    );
    const named = { class: "viz-switch", role: "group", "aria-label": "Question" };
    this.node = oneStop(el("div", named, ...this.buttons));
    const restore = () => this.#open(current.selection.noted(parts.note) || this.#usual);
    current.selection.restored(parts.note, restore, signal);
  }

  get #usual() {
    return Object.keys(this.parts.titles)[0];
  }

  // The part that the link names, or of which it has something.
  openLinked() {
    const { note, titles, signs = {} } = this.parts;
    const linked = current.selection.noted(note);
    const signed = Object.keys(signs).find((part) => current.selection.noted(signs[part]));
    this.#open(linked in titles ? linked : (signed ?? this.#usual));
  }

  choose(/** @type {string} */ name) {
    current.selection.note({ [this.parts.note]: name === this.#usual ? "" : name });
    this.#open(name);
  }

  /** Leave out parts that this run has not; of the usual one, its title. @type {(without: string[], usual: string) => void} */
  offer(without, usual) {
    this.buttons[0].textContent = usual;
    for (const each of this.buttons) each.hidden = without.includes(each.dataset.part ?? "");
    if (without.includes(this.part)) this.#open(this.#usual);
  }

  // By an attribute of the tab: some parts are Gradio's own, beside the script's.
  #open(/** @type {string} */ name) {
    this.part = name;
    document.getElementById(`viz-tab-${this.parts.tab}`)?.setAttribute("data-part", name);
    for (const each of this.buttons) each.setAttribute("aria-pressed", String(each.dataset.part === name));
    this.opened(name);
  }
}
