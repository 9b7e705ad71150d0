// The convention box: the same mask as the numbers that each call wants, converted before one's eyes.

import { el } from "../core/dom.js";
import { maskColors } from "../views/mask_grid.js";
import { inkOn, rgbText } from "../core/colors.js";

const SIDE = 8; // rows and columns that are written out

export class Convention {
  constructor() {
    this.choice = el("select", { id: "viz-mask-convention", onchange: () => this.#draw() });
    this.words = el("p", { class: "viz-caption" });
    this.table = el("table", { class: "viz-mask-numbers" });
    this.node = el(
      "section",
      { class: "viz-mask-box", "aria-label": "Convention" },
      el("h3", {}, "Convention: what the numbers mean"),
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "As", this.choice)),
      this.words,
      el(
        "div",
        { class: "viz-mask-scroll", tabindex: "0", role: "region", "aria-label": "The mask as numbers" },
        this.table,
      ),
    );
  }

  get value() {
    return this.choice.value;
  }

  offer(conventions) {
    const chosen = this.choice.value;
    this.conventions = conventions;
    this.choice.replaceChildren(...conventions.map(({ name, words }) => el("option", { value: name }, words)));
    this.choice.value = chosen || conventions[0].name;
  }

  show(run, mask) {
    Object.assign(this, { run, mask });
    this.#draw();
  }

  #draw() {
    const { run, mask } = this;
    if (!mask) return;
    const { words, cells } = this.conventions.find(({ name }) => name === this.choice.value);
    const side = Math.min(SIDE, mask.n);
    const part = side < mask.n ? `The first ${side} × ${side} of ${mask.n} × ${mask.n} numbers` : "All numbers";
    this.words.textContent = `${part}: ${words}. Here, “may attend” is ${cells[0]} and “forbidden” is ${cells[1]}.`;
    const at = Array.from({ length: side }, (_, i) => i);
    const names = at.map((i) => el("th", { scope: "col", title: run.tokens[i] }, String(i)));
    this.table.replaceChildren(
      el("caption", {}, "Rows: queries; columns: keys"),
      el("thead", {}, el("tr", {}, el("td", {}), ...names)),
      el(
        "tbody",
        {},
        ...at.map((row) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, el("bdi", {}, `${row} ${run.tokens[row]}`)),
            ...at.map((col) => this.#cell(mask.at(row, col), cells)),
          ),
        ),
      ),
    );
  }

  #cell(may, cells) {
    const color = maskColors()[may ? "allowed" : "forbidden"];
    return el("td", { style: `background:${rgbText(color)};color:${inkOn(color)}` }, cells[may ? 0 : 1]);
  }
}
