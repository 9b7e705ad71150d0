// Controls of a view, made from what the view says it takes.

import { control as labelled, el, options } from "../core/dom.js";

/** @import { Field } from "../core/link_notes.js" */

const LISTED = 130; // numbers that a list offers; more are typed

export class ViewControls {
  node = el("span", { class: "viz-question" });
  /** @type {Record<string, Field>} */
  fields = {};

  constructor(/** @type {() => unknown} */ changed) {
    this.changed = changed;
  }

  /** `start` gives the value that a control begins at. @type {(run: Run, controls: ViewControl[],
   * start: (control: ViewControl) => string | number) => void} */
  show(run, controls, start) {
    const fields = controls.map((control) => {
      const field = this.#field(run, control, start(control));
      field.dataset.control = control.name;
      return /** @type {const} */ ([control, field]);
    });
    this.fields = Object.fromEntries(fields.map(([{ name }, field]) => [name, field]));
    this.node.replaceChildren(...fields.map(([{ label }, field]) => labelled(label, field)));
  }

  // Chosen values, without defaults of the view.
  values() {
    const given = Object.entries(this.fields).map(([name, { value }]) => [name, value.trim()]);
    return Object.fromEntries(given.filter(([, value]) => value !== ""));
  }

  /** @type {(run: Run, control: ViewControl, start: string | number) => Field} */
  #field(run, control, start) {
    const { choices, words, most } = control;
    const onchange = () => this.changed();
    const automatic = control.default === null;
    const typed = { class: "viz-typed", value: start, placeholder: automatic ? "automatic" : "", onchange };
    const length = choices.length ? 0 : (most ?? Infinity) + 1;
    if (length > LISTED) {
      const kind = most === null || words.length ? { type: "text" } : { type: "number", min: 0, max: most, step: 1 };
      return el("input", { ...kind, ...typed });
    }
    const numbers = Array.from({ length }, (_, at) => at);
    const number = (/** @type {number} */ at) => (control.counts === "token" ? `${at} ${run.tokens[at]}` : String(at));
    const select = el(
      "select",
      { onchange },
      ...options(automatic ? [["", "automatic"]] : []),
      ...options([...choices, ...words].map((word) => [word, word || "automatic"])),
      ...options(numbers.map((at) => [at, number(at)])),
    );
    select.value = String(start);
    return select;
  }
}
