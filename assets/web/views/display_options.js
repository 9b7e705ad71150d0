// Display switches: hide special tokens, renormalize rows, merge subwords.

import { el } from "../core/dom.js";
import { ADDED_TOKENS } from "../core/run.js";

/** @import { Selection } from "../core/selection.js" */
/** @typedef {keyof typeof SWITCHES} Switch */
/** @typedef {{ prefix?: string, names?: Switch[], always?: boolean }} Which the beginning of each id, which switches, and
 *   whether rows can be renormalized though nothing is left out of them */

const SWITCHES = /** @type {const} */ ({
  hide: ["Hide special tokens", `Leave out the ${ADDED_TOKENS}`],
  renorm: ["Renormalize rows", "Divide each query's weights by their sum over the tokens shown"],
  words: ["Merge sub-words", "One row and one column per word: the mean over its queries, the sum over its keys"],
});

export class DisplayOptions {
  /** @type {Run | null} */ #run = null;
  node = el("span", { class: "viz-kept" });

  /** @param {Selection} selection @param {Which} [which] */
  constructor(selection, { prefix = "viz", names = ["hide", "renorm", "words"], always = false } = {}) {
    this.selection = selection;
    this.always = always;
    this.hide = this.#box("hide", `${prefix}-hide`);
    this.renorm = this.#box("renorm", `${prefix}-renorm`);
    this.words = this.#box("words", `${prefix}-words`);
    for (const name of names) {
      const [text, title] = SWITCHES[name];
      this.node.append(el("label", { class: "viz-control viz-check", title }, this[name], text));
    }
  }

  // Disable switches that would change nothing.
  show(/** @type {Run} */ run) {
    const { hide, renorm, words, head } = this.selection;
    this.#run = run;
    [this.hide.checked, this.renorm.checked, this.words.checked] = [hide, renorm, words];
    this.#enable(
      "renorm",
      this.always || renorm || hide || head === "max",
      "No key is left out of the rows; hide special tokens first",
    );
    const single = run.grid ? "A picture has no words" : "Every word of this run is a single token";
    this.#enable("words", words || run.mergeable, single);
  }

  /** Show those that what is drawn takes. @type {(names: string[]) => void} */
  offer(names) {
    for (const [name, box] of Object.entries({ hide: this.hide, renorm: this.renorm, words: this.words }))
      if (box.parentElement) box.parentElement.hidden = !names.includes(name);
  }

  /** @type {(name: Switch, id: string) => HTMLInputElement} */
  #box(name, id) {
    return el("input", { type: "checkbox", id, onchange: (event) => this.#switch(name, event.currentTarget.checked) });
  }

  // Hiding the chosen tokens chooses the nearest remaining ones.
  #switch(/** @type {Switch} */ name, /** @type {boolean} */ on) {
    const { query, key } = this.selection;
    const left = this.#run?.visible(true) ?? [];
    const nearest = (/** @type {number} */ token) =>
      left.reduce((best, at) => (Math.abs(at - token) < Math.abs(best - token) ? at : best), left[0] ?? token);
    this.selection.set({ [name]: on, ...(name === "hide" && on && { query: nearest(query), key: nearest(key) }) });
  }

  #enable(/** @type {Switch} */ name, /** @type {boolean} */ usable, /** @type {string} */ why) {
    this[name].disabled = !usable;
    const label = this[name].parentElement;
    if (label) label.title = usable ? SWITCHES[name][1] : why;
  }
}
