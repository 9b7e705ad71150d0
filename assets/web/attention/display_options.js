// Which tokens are shown and how: special ones hidden, rows renormalized, sub-words merged.

import { el } from "../core/dom.js";

const SWITCHES = {
  hide: ["Hide special tokens", "Leave out the tokens that the model adds, such as [CLS]"],
  renorm: ["Renormalize rows", "Divide each query's weights by their sum over the tokens shown"],
  words: ["Merge sub-words", "One row and column a word: the mean over its queries, the sum over its keys"],
};

export class KeptSwitches {
  constructor(selection) {
    this.selection = selection;
    this.node = el(
      "span",
      { class: "viz-kept" },
      ...Object.entries(SWITCHES).map(([name, [text, title]]) => {
        this[name] = el("input", {
          type: "checkbox",
          id: `viz-${name}`,
          onchange: () =>
            selection.set({ [name]: this[name].checked, ...(name === "hide" && this.hide.checked && this.#left()) }),
        });
        return el("label", { class: "viz-control viz-check", title }, this[name], text);
      }),
    );
  }

  // What would change nothing cannot be switched.
  show(run) {
    this.run = run;
    const { selection } = this;
    for (const name of Object.keys(SWITCHES)) this[name].checked = selection[name];
    this.#enable(
      "renorm",
      selection.renorm || selection.hide || selection.head === "max",
      "Rows already sum to 1; hide special tokens first",
    );
    this.#enable(
      "words",
      selection.words || run.mergeable,
      run.grid ? "A picture has no words" : "Each word of this run is one token",
    );
  }

  // Who hides the chosen tokens chooses the nearest ones that are left.
  #left() {
    const {
      run,
      selection: { query, key },
    } = this;
    const left = run.visible(true);
    const nearest = (token) =>
      left.reduce((best, at) => (Math.abs(at - token) < Math.abs(best - token) ? at : best), left[0] ?? token);
    return { query: nearest(query), key: nearest(key) };
  }

  #enable(name, usable, why) {
    this[name].disabled = !usable;
    this[name].parentNode.title = usable ? SWITCHES[name][1] : why;
  }
}
