// Display switches: hide special tokens, renormalize rows, merge subwords.

import { el } from "../core/dom.js";
import { ADDED_TOKENS } from "../core/run.js";

/** @typedef {keyof typeof SWITCHES} Switch */
const SWITCHES = /** @type {const} */ ({
  hide: ["Hide special tokens", `Leave out the ${ADDED_TOKENS}`],
  renorm: ["Renormalize rows", "Divide each query's weights by their sum over the tokens shown"],
  words: ["Merge sub-words", "One row and one column per word: the mean over its queries, the sum over its keys"],
});

export class DisplayOptions {
  /** @type {Run | null} */ #run = null;
  hide = this.#box("hide");
  renorm = this.#box("renorm");
  words = this.#box("words");
  node = el("span", { class: "viz-kept" });

  constructor(/** @type {PageSelection} */ selection) {
    this.selection = selection;
    for (const [name, [text, title]] of Object.entries(SWITCHES))
      this.node.append(
        el("label", { class: "viz-control viz-check", title }, this[/** @type {Switch} */ (name)], text),
      );
  }

  // Disable switches that would change nothing.
  show(/** @type {Run} */ run) {
    const { hide, renorm, words, head } = this.selection;
    this.#run = run;
    [this.hide.checked, this.renorm.checked, this.words.checked] = [hide, renorm, words];
    const whole = "No key is left out of the rows; hide special tokens first";
    this.#enable("renorm", renorm || hide || head === "max", whole);
    const single = run.grid ? "A picture has no words" : "Every word of this run is a single token";
    this.#enable("words", words || run.mergeable, single);
  }

  #box(/** @type {Switch} */ name) {
    const onchange = (/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget }) =>
      this.#switch(name, currentTarget.checked);
    return el("input", { type: "checkbox", id: `viz-${name}`, onchange });
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
