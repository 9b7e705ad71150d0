// The audit of one specimen, by its wrong line or the corrected one: asked for, waited for, shown.

import { el } from "../core/dom.js";
import { Panels } from "./panels.js";
import { Report } from "./report.js";
import { json } from "./requests.js";

const TICK = 1000; // ms between two looks at the clock while it runs

export class Audit {
  constructor(seeds) {
    this.panels = new Panels();
    this.report = new Report();
    this.said = el("span", { class: "viz-caption", role: "status" });
    this.fault = el("div", { class: "viz-alert", role: "alert", hidden: true });
    this.results = el(
      "div",
      { class: "viz-zoo-results", hidden: true },
      this.report.verdict,
      this.panels.node,
      this.report.node,
    );
    this.title = el("h3", {}, "The audit");
    this.bar = this.#bar(seeds);
    this.node = el(
      "section",
      { class: "viz-zoo-box viz-zoo-audit", "aria-label": "The audit" },
      this.title,
      this.bar,
      this.said,
      this.fault,
      this.results,
    );
  }

  // `masked`: the panels alone, for its name is to be guessed; `done` gets the first picture.
  show(specimen, { masked = false, done } = {}) {
    Object.assign(this, { specimen, done });
    this.masked = masked;
    this.#hideNames();
    this.radios.wrong.checked = true;
    this.results.hidden = true; // those of another specimen
    return this.#ask();
  }

  unmask() {
    this.masked = false;
    this.#hideNames();
  }

  draw() {
    this.panels.draw();
  }

  #hideNames() {
    for (const node of [this.bar, this.report.verdict, this.report.node]) node.hidden = this.masked;
    this.title.textContent = this.masked ? "Intended, passed and observed" : "The audit";
  }

  #bar(seeds) {
    const choice = (name, words) => {
      this.radios ??= {};
      this.radios[name] = el("input", {
        type: "radio",
        name: "viz-zoo-line",
        value: name,
        onchange: () => this.#ask(),
      });
      return el("label", { class: "viz-zoo-choice" }, this.radios[name], words);
    };
    this.seed = el("input", {
      type: "number",
      id: "viz-zoo-seed",
      min: 0,
      max: seeds - 1,
      step: 1,
      value: 0,
      onchange: () => this.#reseed(seeds),
    });
    return el(
      "div",
      { class: "viz-controls" },
      el(
        "div",
        { class: "viz-zoo-choices", role: "radiogroup", "aria-label": "Which line is audited" },
        choice("wrong", "wrong line"),
        choice("right", "corrected line"),
      ),
      el(
        "label",
        { class: "viz-control", title: "Another seed draws other random weights" },
        `Weights drawn with seed (0–${seeds - 1})`,
        this.seed,
      ),
    );
  }

  #reseed(seeds) {
    const seed = Number(this.seed.value || NaN);
    if (Number.isInteger(seed) && seed >= 0 && seed < seeds) this.#ask();
    else
      this.#fail(new Error(`The seed is ${this.seed.value || "empty"}; choose a whole number from 0 to ${seeds - 1}.`));
  }

  // The last one asked for wins; on a fault the audit before stays.
  async #ask() {
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    const { specimen } = this;
    const asked = new URLSearchParams({ fixed: this.radios.right.checked, seed: this.seed.value });
    const clock = this.#wait();
    try {
      const found = await json(`/${specimen.identifier}?${asked}`, stop.signal);
      if (this.stop !== stop) return;
      this.#fill(found);
    } catch (fault) {
      if (this.stop === stop) this.#fail(fault);
    } finally {
      clearInterval(clock);
      if (this.stop === stop) {
        this.said.textContent = "";
        this.node.classList.remove("viz-busy");
      }
    }
  }

  #wait() {
    const begun = Date.now();
    const tell = () => {
      this.said.textContent = `Auditing … ${Math.round((Date.now() - begun) / 1000)} s`;
    };
    tell();
    this.fault.hidden = true;
    this.node.classList.add("viz-busy");
    delete this.node.dataset.painted;
    clearInterval(this.clock);
    this.clock = setInterval(tell, TICK);
    return this.clock;
  }

  // What is chosen says what is shown.
  #fail(fault) {
    this.fault.textContent = fault.message;
    this.fault.hidden = false;
    if (this.found?.identifier !== this.specimen.identifier) return;
    this.radios[this.found.fixed ? "right" : "wrong"].checked = true;
    this.seed.value = this.found.seed;
  }

  #fill(found) {
    this.found = found;
    this.results.hidden = false;
    this.report.show(found, this.specimen);
    this.panels.show(found);
    this.#hideNames();
    this.done?.(found.pictures[0]);
    this.done = null;
    this.node.dataset.painted = `${found.identifier}:${found.fixed ? "right" : "wrong"}:${found.seed}`;
  }
}
