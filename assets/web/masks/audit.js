// The audit of one specimen, by its wrong line or the corrected one: asked for, waited for, shown.

import { alertLine, control, controls, el } from "../core/dom.js";
import { json } from "../core/server.js";
import { View } from "../core/view.js";
import { section } from "../views/headed.js";
import { Panels } from "./audit_panels.js";
import { Report } from "./report.js";

/** @typedef {(picture: AuditPicture) => unknown} Guess */

export class Audit extends View {
  /** @type {Specimen | null} */
  specimen = null;
  /** @type {AuditAnswer | null} */
  found = null;
  /** @type {Guess | null} */
  guess = null;
  panels = new Panels();
  views = [this.panels];
  report = new Report(() => this.#ask(true));
  said = el("span", { class: "viz-caption", role: "status" });
  fault = alertLine();
  title = el("h3");
  wrong = radio("wrong", () => this.#ask());
  right = radio("right", () => this.#ask());
  results = el(
    "div",
    { class: "viz-zoo-results", hidden: true },
    ...[this.report.verdict, this.report.made, this.panels.node, this.report.node],
  );
  // On a fault the audit before stays.
  #asked = this.latest((sentence) => {
    this.#rest();
    this.#refuse(sentence);
  });

  constructor(/** @type {number} */ seeds) {
    super();
    const named = { type: "number", id: "viz-zoo-seed", min: 0, max: seeds - 1, step: 1, value: 0 };
    this.seed = el("input", { ...named, onchange: () => this.#reseed(seeds) });
    const seed = control(`Random seed (0–${seeds - 1})`, this.seed);
    seed.title = "Another seed draws other random weights";
    const lines = el(
      "div",
      { class: "viz-zoo-choices", role: "radiogroup", "aria-label": "Which line is audited" },
      el("label", { class: "viz-zoo-choice" }, this.wrong, "wrong line"),
      el("label", { class: "viz-zoo-choice" }, this.right, "corrected line"),
    );
    this.bar = controls(lines, seed);
    this.node = section(
      ...["viz-zoo-box viz-zoo-audit", "The audit"],
      ...[this.title, this.bar, this.said, this.fault, this.results],
    );
  }

  /** Show a specimen. With `guess`, which gets the first picture, only the panels: its name is to be
   * guessed.
   * @type {(specimen: Specimen, guess?: Guess | null) => Promise<unknown>} */
  show(specimen, guess = null) {
    Object.assign(this, { specimen, guess });
    this.hideNames(Boolean(guess));
    this.wrong.checked = true;
    this.results.hidden = true; // those of another specimen
    return this.#ask();
  }

  hideNames(/** @type {boolean} */ hidden) {
    for (const node of [this.bar, this.report.verdict, this.report.made, this.report.node]) node.hidden = hidden;
    this.title.textContent = hidden ? "Intended, passed and observed" : "The audit";
  }

  #reseed(/** @type {number} */ seeds) {
    const seed = Number(this.seed.value || NaN);
    if (Number.isInteger(seed) && seed >= 0 && seed < seeds) return this.#ask();
    this.#refuse(`The seed is ${this.seed.value || "empty"}; choose a whole number from 0 to ${seeds - 1}.`);
  }

  // The wrong line's with seed 0 is kept; `anew` it is made again.
  async #ask(anew = false) {
    const { specimen } = this;
    if (!specimen) return;
    const asked = new URLSearchParams({ fixed: String(this.right.checked), seed: this.seed.value });
    const kept = !anew && this.wrong.checked && this.seed.value === "0";
    const tell = (/** @type {number} */ seconds) => this.said.replaceChildren(`Auditing … ${seconds} s`);
    this.fault.textContent = "";
    this.behind();
    this.stale();
    await this.#asked.run(
      async (fresh) => {
        const path = `viz/zoo/${specimen.identifier}${kept ? "/kept" : `?${asked}`}`;
        this.#fill(await fresh(json(path, { signal: fresh.signal })), specimen);
      },
      { tell },
    );
  }

  #rest() {
    this.said.textContent = "";
    this.behind(false);
  }

  // Show the error of a choice.
  #refuse(/** @type {string} */ sentence) {
    this.fault.textContent = sentence;
    if (!this.found || this.found.identifier !== this.specimen?.identifier) return;
    (this.found.fixed ? this.right : this.wrong).checked = true;
    this.seed.value = String(this.found.seed);
  }

  /** @type {(found: AuditAnswer, specimen: Specimen) => void} */
  #fill(found, specimen) {
    this.found = found;
    this.#rest();
    this.results.hidden = false;
    this.report.show(found, specimen);
    this.panels.show(found);
    this.guess?.(found.pictures[0]);
    this.guess = null;
    this.node.dataset.kept = String(found.kept);
    this.painted(`${found.identifier}:${found.fixed ? "right" : "wrong"}:${found.seed}`);
  }
}

/** @type {(value: string, onchange: () => unknown) => HTMLInputElement} */
const radio = (value, onchange) => el("input", { type: "radio", name: "viz-zoo-line", value, onchange });
