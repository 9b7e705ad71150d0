// The leak of every head in one small map of layers × heads; a click chooses the head.

import { inkOn, makeScale, rgbText, shade, theme } from "../core/colors.js";
import { button, control, el, number, options } from "../core/dom.js";
import { section } from "../views/headed.js";
import { oneStop } from "../views/one_stop.js";
import { colorBar } from "../views/mask_panels.js";

/** @typedef {{ layer: number, head: Head }} Place */

const MEASURES = {
  leak: ["largest forbidden weight", "largest forbidden weight (share of a query’s total)"],
  mass: ["mean forbidden share", "share of their weight that queries put on forbidden keys, mean over queries"],
};

export class Leaks {
  /** @type {MaskResult | null} */
  result = null;
  /** @type {Place} */
  chosen = { layer: 0, head: 0 };
  measure = el(
    "select",
    { id: "viz-mask-measure", onchange: () => this.draw() },
    ...options(Object.entries(MEASURES).map(([name, [text]]) => [name, text])),
  );
  cells = oneStop(el("div", { class: "viz-mask-leaks", role: "group", "aria-label": "Leak by layer and head" }));
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  node = section(
    ...["viz-mask-leaks-box", "Leaks"],
    el("h3", {}, "Leak by layer and head"),
    control("Shade by", this.measure),
    ...[el("div", { class: "viz-mask-scroll" }, this.cells), this.scale],
  );

  constructor(/** @type {(place: Place) => unknown} */ choose) {
    this.choose = choose;
  }

  /** @type {(result: MaskResult, chosen: Place) => void} */
  show(result, { layer, head }) {
    Object.assign(this, { result, chosen: { layer, head } });
    this.draw();
  }

  draw() {
    if (!this.result) return;
    const measure = this.measure.value === "mass" ? "mass" : "leak";
    const rows = this.result[measure];
    const most = Math.max(0, ...rows.flat().map(Number));
    const scale = makeScale("head", most);
    const name = (/** @type {string | number} */ text) => el("span", { class: "viz-mask-leak-name" }, String(text));
    const lines = rows.map((row, layer) => row.map((value, head) => this.#cell({ layer, head }, value, scale)));
    this.cells.style.gridTemplateColumns = `auto repeat(${rows[0].length}, minmax(24px, 34px))`;
    const focused = this.cells.contains(document.activeElement);
    this.cells.replaceChildren(
      name(""),
      ...rows[0].map((_, head) => name(head)),
      ...lines.flatMap((line, layer) => [name(layer), ...line]),
    );
    if (focused) /** @type {HTMLElement | null} */ (this.cells.querySelector("[aria-pressed=true]"))?.focus();
    const zero = el("i", { class: "viz-swatch", style: `background:${rgbText(theme().zero)}` });
    const none = el("span", { class: "viz-mask-key" }, zero, "exactly 0");
    const range = most
      ? ["0 ", colorBar(scale), ` ${number(most)} `, none, ": "]
      : [none, ` in all ${this.result.scope.heads} heads: `];
    const outside = el(
      "span",
      { class: "viz-mask-key" },
      el("i", { class: "viz-swatch viz-mask-outside" }),
      "out of scope: not checked",
    );
    this.scale.replaceChildren(
      ...[...range, MEASURES[measure][1], "; rows are layers"],
      ...(this.result.scope.code ? [" ", outside] : []),
    );
  }

  /** @type {(place: { layer: number, head: number }, value: Maybe, scale: Scale) => HTMLElement} */
  #cell({ layer, head }, value, scale) {
    const color = shade(value ?? NaN, scale);
    const why = (this.result?.at[layer][head][0] ?? -1) < 0 ? "out of scope, not checked" : "not a number (NaN)";
    const text = `Head ${layer}.${head}: ${value === null ? why : number(value)}`;
    const chosen = this.chosen.layer === layer && this.chosen.head === head;
    return button("", () => this.choose({ layer, head }), {
      class: value === null ? "viz-mask-leak viz-mask-outside" : "viz-mask-leak",
      "data-leak": `${layer}.${head}`,
      "data-value": value,
      title: text,
      "aria-label": text,
      "aria-pressed": String(chosen),
      style: value === null ? null : `background:${rgbText(color)};color:${inkOn(color)}`,
    });
  }
}
