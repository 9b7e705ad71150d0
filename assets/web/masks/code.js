// The right mask for a call, as lines of Python that run as they are.

import { button, control, controls, el, options } from "../core/dom.js";
import { View } from "../core/view.js";
import { copyText, saveRow } from "../views/save_row.js";
import { section } from "../views/headed.js";
import { csvOf, npyOf } from "./mask_file.js";
import { code } from "./requests.js";

/** @typedef {{ run: Run, mask: Mask, scope: Scope, by: Origin | null }} Made `by` names the preset that made the mask; null where it was painted */

const PAUSE = 200; // ms without another mask before the server is asked

export class Code extends View {
  /** @type {Made | null} */
  made = null;
  scoped = ""; // the call that takes a mask by layer and head
  file = "mask.npy"; // as the code of a long mask names it
  /** @type {Set<string>} */
  byKey = new Set(); // the calls that take one row for all queries
  choice = el("select", { id: "viz-mask-target", onchange: () => this.#ask(0) });
  lines = el("pre", {
    ...{ class: "viz-mask-code", id: "viz-mask-code", tabindex: "0" },
    ...{ role: "region", "aria-label": "Python code" },
  });
  copy = button("Copy", () => copyText(this.lines, this.said));
  said = el("span", { class: "viz-caption", role: "status" });
  files = saveRow("Save the mask", [
    ["Save .npy", "The whole mask as an array of numpy: bool, True = may attend", () => this.#saved("npy")],
    ["Save .csv", "The whole mask as a table: True = may attend", () => this.#saved("csv")],
  ]);
  bar = controls(el("h3", {}, "This mask in your code"), control("For", this.choice), this.copy, this.files, this.said);
  node = section("viz-mask-box viz-mask-code-box", "Code", this.bar, this.lines);
  #asked = this.latest((sentence) => this.#tell("", sentence));

  offer(/** @type {MasksOffered} */ { targets, scoped, file }) {
    Object.assign(this, { scoped, file });
    this.byKey = new Set(targets.flatMap(({ name, byKey }) => (byKey ? [name] : [])));
    if (!this.choice.length) this.choice.append(...options(targets.map(({ name }) => [name, name])));
  }

  // Show why there is no code for an invalid mask.
  refuse(/** @type {string} */ wrong) {
    this.#asked.stop();
    this.made = null;
    this.#tell("", wrong);
  }

  // Most calls take one mask for all that they run.
  show(/** @type {Made} */ made) {
    this.made = made;
    const { scope, mask } = made;
    for (const option of this.choice.options)
      option.disabled =
        (scope.code !== "" && option.value !== this.scoped) || (this.byKey.has(option.value) && !mask.byKey);
    if (this.choice.selectedOptions[0]?.disabled) this.choice.value = scope.code ? this.scoped : this.#square;
    this.#ask(PAUSE);
  }

  // The first call that takes any mask.
  get #square() {
    return Array.from(this.choice.options).find(({ disabled }) => !disabled)?.value ?? this.scoped;
  }

  #saved(/** @type {"npy" | "csv"} */ kind) {
    if (!this.made) throw new Error("There is no mask to save.");
    const { mask } = this.made;
    const name = `${this.file.replace(/\.npy$/, "")}.${kind}`;
    return { blob: new Blob([kind === "npy" ? npyOf(mask) : csvOf(mask)]), name };
  }

  #ask(/** @type {number} */ pause) {
    const kind = this.choice.value;
    return this.#asked.run(
      async (fresh) => {
        if (!this.made) return;
        const { run, mask, scope, by } = this.made;
        this.#tell(await fresh(code(run, mask, scope.code, kind, by)), "");
        this.painted(kind);
      },
      { pause },
    );
  }

  /** @type {(lines: string, said: string) => void} */
  #tell(lines, said) {
    this.lines.textContent = lines;
    this.said.textContent = said;
    this.copy.disabled = !lines;
  }
}
