// The leak of every head in one small map of layers × heads; a click chooses the head.

import { el, number } from "../core/dom.js";
import { inkOn, makeScale, rgbText, shade, theme } from "../core/colors.js";

const MEASURES = {
  leak: "largest forbidden weight (share of a query’s total)",
  mass: "share of their weight that queries put on forbidden keys, mean over queries",
};

export class Leaks {
  // `choose` gets layer and head.
  constructor(choose) {
    this.choose = choose;
    this.measure = el(
      "select",
      { id: "viz-mask-measure", onchange: () => this.draw() },
      ...Object.entries(MEASURES).map(([name, words]) => el("option", { value: name }, words)),
    );
    this.cells = el("div", {
      class: "viz-mask-leaks",
      role: "group",
      "aria-label": "Leak of every head, layers by heads",
    });
    this.scale = el("p", { class: "viz-caption viz-stat-scale" });
    this.node = el(
      "section",
      { class: "viz-mask-result-part", "aria-label": "Leaks" },
      el("h3", {}, "Leak of every head: rows = layers, columns = heads"),
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "Shade by", this.measure)),
      el("div", { class: "viz-mask-scroll" }, this.cells),
      this.scale,
    );
  }

  show(result, selection) {
    Object.assign(this, { result, selection });
    this.draw();
  }

  draw() {
    if (!this.result) return;
    const values = this.result[this.measure.value];
    const most = Math.max(0, ...values.flat());
    const scale = makeScale("head", most);
    const nHeads = Math.max(...values.map((row) => row.length));
    const heads = Array.from({ length: nHeads }, (_, head) =>
      el("span", { class: "viz-mask-leak-name" }, String(head)),
    );
    this.cells.style.gridTemplateColumns = `auto repeat(${nHeads}, minmax(22px, 34px))`;
    this.cells.replaceChildren(
      el("span", { class: "viz-mask-leak-name" }, ""),
      ...heads,
      ...values.flatMap((row, layer) => [
        el("span", { class: "viz-mask-leak-name" }, String(layer)),
        ...row.map((value, head) => this.#cell(layer, head, value, scale)),
      ]),
    );
    const { ramp, zero } = theme();
    const stops = [0, 64, 128, 192, 255].map((at) => rgbText(ramp[at])).join(", ");
    const bar = el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` });
    const nought = el(
      "span",
      { class: "viz-mask-key" },
      el("i", { class: "viz-swatch", style: `background:${rgbText(zero)}` }),
      "exactly 0",
    );
    this.scale.replaceChildren(
      nought,
      ...(most
        ? [" 0 ", bar, ` ${number(most)}, ${MEASURES[this.measure.value]}`]
        : [` in all ${values.flat().length} heads: ${MEASURES[this.measure.value]}`]),
    );
  }

  #cell(layer, head, value, scale) {
    const color = shade(value, scale);
    const chosen = this.selection.layer === layer && this.selection.head === head;
    const text = `Head ${layer}.${head}: ${number(value)}`;
    return el("button", {
      type: "button",
      class: "viz-mask-leak",
      "data-leak": `${layer}.${head}`,
      "data-value": value,
      title: text,
      "aria-label": text,
      "aria-pressed": String(chosen),
      style: `background:${rgbText(color)};color:${inkOn(color)}`,
      onclick: () => this.choose(layer, head),
    });
  }
}
