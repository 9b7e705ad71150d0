// What stands in for a removed head, under Effect: zeros, its mean over other texts, or its output for the twin text.

import { control, el, options } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";

/** @type {[how: string, words: string][]} */
const HOWS = [
  ["zero", "zeros"],
  ["mean", "its mean over other texts"],
  ["patch", "its output for the twin text"],
];
const NO_TWIN = "Choose a text that differs in one word under “against”";

export class StandIn {
  select = el("select", { id: "viz-stand-in" }, ...options(HOWS));
  node = control("In place of a head:", this.select);
  #twin = "";

  constructor(/** @type {() => unknown} */ changed) {
    inLink("effect.how", this.select).addEventListener("change", changed);
  }

  /** Offer what a run has; `twin`: a text with as many tokens. @type {(run: Run, twin: string) => void} */
  offer({ grid }, twin) {
    this.#twin = twin;
    const [, mean, patch] = this.select.options;
    mean.disabled = grid !== null;
    patch.disabled = grid !== null || !twin;
    patch.title = twin ? "" : NO_TWIN;
  }

  /** What is in place of a head: the chosen one, or zeros where a run does not have that. */
  get how() {
    const [option] = this.select.selectedOptions;
    return option.disabled ? "zero" : option.value;
  }

  /** For the address that asks for effects. */
  get asked() {
    const { how } = this;
    return how === "zero" ? "" : `&${new URLSearchParams({ how, ...(how === "patch" && { twin: this.#twin }) })}`;
  }

  get doing() {
    return this.how === "patch" ? "patching" : "removing";
  }
}
