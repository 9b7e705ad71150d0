// Which question the Pooling tab answers: one text, two texts, padding or a dataset; the others are out of sight.

import { current } from "../core/app_state.js";
import { button, el } from "../core/dom.js";

const NOTE = "pool.part"; // in the link
const PARTS = { one: "One text", two: "Two texts", padding: "Padding", set: "A dataset" };
/** @type {[part: string, note: string][]} what else a link of a part has */
const SIGNS = [
  ["set", "pool.set"],
  ["two", "pool.text"],
  ["padding", "pool.padding"],
];

export class PartSwitch {
  buttons = Object.entries(PARTS).map(([name, title]) =>
    button(title, () => this.#choose(name), { "data-part": name }),
  );
  node = el("div", { class: "viz-switch", role: "group", "aria-label": "Question" }, ...this.buttons);
  linked = false; // whether a run came
  part = "one";

  // A link opens its part; later runs stay in the part that is open.
  enter(/** @type {Run} */ run) {
    const noted = (/** @type {string} */ name) => current.selection.noted(name);
    const known = noted(NOTE) in PARTS ? noted(NOTE) : SIGNS.find(([, note]) => noted(note))?.[0];
    const ofTexts = (/** @type {string} */ part) => part === "two" || part === "padding";
    if (!this.linked) this.#open(known ?? "one");
    else if (run.grid && ofTexts(this.part)) this.#open("one");
    this.linked = true;
    const one = run.grid ? "One picture" : run.kind === "pair" ? "The pair" : PARTS.one;
    for (const each of this.buttons) {
      const part = each.dataset.part ?? "";
      each.hidden = run.grid !== null && ofTexts(part);
      if (part === "one") each.textContent = one;
    }
  }

  #choose(/** @type {string} */ name) {
    current.selection.note({ [NOTE]: name === "one" ? "" : name });
    this.#open(name);
  }

  // By an attribute of the panel: the part of a set is Gradio's own, beside this one.
  #open(/** @type {string} */ name) {
    this.part = name;
    document.getElementById("viz-tab-pooling")?.setAttribute("data-part", name);
    for (const each of this.buttons) each.setAttribute("aria-pressed", String(each.dataset.part === name));
  }
}
