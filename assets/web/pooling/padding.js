// Padding made visible: how far each method moves when the text stands in a padded batch.

import { el } from "../core/dom.js";
import { ask, small } from "./results.js";

const PAUSE = 250; // ms without another choice before the model is run
const MOST = 64;
const TITLES = {
  masked: "Mask everywhere",
  zeroed: "Zeros pooled as tokens",
  unmasked: "Pooling without mask",
  attended: "Encoder without mask",
  neither: "No mask at all",
};
const CLASSIC = [
  ["mean", "unmasked", "Mean over padding"],
  ["max", "zeroed", "Max with zeros"],
];

export class Padding {
  constructor() {
    this.slider = el("input", {
      type: "range",
      id: "viz-pool-padding",
      min: 1,
      max: MOST,
      step: 1,
      value: 16,
      oninput: () => this.#moved(),
    });
    this.count = el("output", {});
    this.controls = el(
      "div",
      { class: "viz-controls" },
      el("label", { class: "viz-control" }, "Padding tokens added", this.slider, this.count),
    );
    this.said = el("p", { class: "viz-caption", role: "status" });
    this.classic = el("ul", { class: "viz-notes viz-pool-classic" });
    this.table = el("table", { class: "viz-pool-table viz-pool-drift" });
    this.why = el("p", { class: "viz-readout", role: "status" });
    this.result = el(
      "div",
      { hidden: true },
      this.classic,
      el("div", { class: "viz-pool-scroll" }, this.table),
      el(
        "p",
        { class: "viz-caption" },
        "Drift: length of the difference ÷ length of the vector of the text alone (no unit). 1e−7 is the rounding of float32. Choose a cell to read why.",
      ),
      this.why,
    );
    this.node = el(
      "section",
      { class: "viz-pool-padding", "aria-label": "Padding made visible" },
      el("h2", { class: "viz-part" }, "Padding made visible"),
      el(
        "p",
        { class: "viz-caption" },
        "The same text alone, and again with padding behind it, as a longer text in its batch gives it.",
      ),
      this.controls,
      this.said,
      this.result,
    );
  }

  show(run, { layer, room, noRoom }) {
    const same = this.run === run && this.layer === layer;
    Object.assign(this, { run, layer });
    this.slider.max = Math.max(1, Math.min(MOST, room));
    this.controls.hidden = room < 1;
    this.#count();
    if (noRoom) this.#none(noRoom);
    else if (!same) this.#load();
  }

  #none(sentence) {
    this.asked = null;
    this.said.textContent = sentence;
    this.result.hidden = true;
    this.node.dataset.painted = `${this.run.key}:${this.layer}:0`;
  }

  #count() {
    this.count.textContent = this.slider.value;
  }

  #moved() {
    this.#count();
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.#load(), PAUSE);
  }

  async #load() {
    const asked = `run/${this.run.key}/padding?padding=${this.slider.value}&layer=${this.layer}`;
    this.asked = asked;
    this.said.textContent = "Running it padded …";
    try {
      const found = await ask(asked);
      if (this.asked !== asked) return;
      this.#draw(found);
      this.node.dataset.painted = `${this.run.key}:${found.layer}:${found.padding}`;
    } catch (fault) {
      if (this.asked !== asked) return;
      this.said.textContent = fault.message;
      this.result.hidden = true;
    }
  }

  #draw(found) {
    this.found = found;
    this.result.hidden = false;
    this.said.textContent = `${found.tokens} tokens and ${found.padding} of padding, after layer ${found.layer}.`;
    this.classic.replaceChildren(
      ...CLASSIC.map(([method, of, title]) => {
        const row = this.#of(method, of);
        return row ? el("li", {}, el("strong", {}, title), `: drift ${small(row.relative)}. ${row.why}`) : "";
      }),
    );
    const methods = [...new Set(found.rows.map(({ method }) => method))];
    const heads = Object.keys(found.cases).map((name) =>
      el("th", { scope: "col", title: found.cases[name] }, TITLES[name] ?? name),
    );
    const rows = methods.map((method) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, method),
        ...Object.keys(found.cases).map((name) => this.#cell(this.#of(method, name))),
      ),
    );
    this.table.replaceChildren(
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Method"), ...heads)),
      el("tbody", {}, ...rows),
    );
    this.#choose(...(found.worst ?? ["mean", "masked"]));
  }

  #of(method, name) {
    return this.found.rows.find((row) => row.method === method && row.case === name);
  }

  #cell(row) {
    const worst = this.found.worst?.[0] === row.method && this.found.worst?.[1] === row.case;
    const button = el(
      "button",
      { type: "button", class: "viz-small", onclick: () => this.#choose(row.method, row.case) },
      small(row.relative),
      ...(worst ? [el("strong", {}, " worst")] : []),
    );
    return el(
      "td",
      {
        "data-cell": `${row.method}:${row.case}`,
        class: worst ? "viz-pool-worst" : row.relative > 1e-4 ? "viz-pool-moved" : "",
      },
      button,
    );
  }

  #choose(method, name) {
    for (const cell of this.table.querySelectorAll("[data-cell]"))
      cell.firstChild.setAttribute("aria-pressed", String(cell.dataset.cell === `${method}:${name}`));
    const row = this.#of(method, name);
    this.why.textContent = `${method}, ${(TITLES[name] ?? name).toLowerCase()}: ${row.why} Largest difference in a dimension ${small(row.largest)}; 1 − cosine ${small(row.cosine)}.`;
  }
}
