// The leak of every head in one small map of layers × heads; a click chooses the head.

import { rgbText, theme } from "../core/colors.js";
import { el, number } from "../core/dom.js";
import { View } from "../core/view.js";
import { headName } from "../views/cells.js";
import { section } from "../views/headed.js";
import { HeadGrid } from "../views/head_grid.js";
import { scaleBar } from "../views/shading.js";

/** @typedef {{ layer: number, head: Head }} Place */

const WHAT = "largest forbidden weight (share of a query’s total); rows are layers";

export class Leaks extends View {
  /** @type {MaskResult | null} */
  result = null;
  /** @type {Place} */
  chosen = { layer: 0, head: 0 };
  scale = el("p", { class: "viz-caption viz-stat-scale" });

  constructor(/** @type {(place: Place) => unknown} */ choose) {
    super();
    this.grid = new HeadGrid("Leak by layer and head", {
      ...{ kind: "viz-leak", sizes: [22, 16], parts: [], numbered: true, choose },
    });
    this.node = section("viz-mask-leaks-box", "Leaks", "Leak by layer and head", this.grid.node, this.scale);
  }

  /** @type {(result: MaskResult, chosen: Place) => void} */
  show(result, { layer, head }) {
    Object.assign(this, { result, chosen: { layer, head } });
    this.draw();
  }

  draw() {
    if (!this.result) return;
    const rows = this.result.leak;
    const most = Math.max(0, ...rows.flat().map(Number));
    const outside = (/** @type {HeadPlace} */ { layer, head }) => (this.result?.at[layer][head][0] ?? -1) < 0;
    const why = (/** @type {HeadPlace} */ at) => (outside(at) ? "out of scope, not checked" : "not a number (NaN)");
    this.grid.show({
      values: rows,
      said: (at, value) => `Head ${headName(at)}: ${value === null ? why(at) : number(value)}`,
    });
    this.grid.mark(this.chosen.layer, this.chosen.head);
    const zero = el("i", { class: "viz-swatch", style: `background:${rgbText(theme().zero)}` });
    const none = el("span", { class: "viz-mask-key" }, zero, "exactly 0");
    const range = most
      ? ["0 ", scaleBar(this.grid.colors.scale), ` ${number(most)}, ${WHAT}; `, none]
      : [none, ` in all ${this.result.scope.heads} heads: ${WHAT}`];
    const hatched = el("i", { class: "viz-swatch viz-mask-outside" });
    const apart = el("span", { class: "viz-mask-key" }, hatched, "out of scope: not checked");
    this.scale.replaceChildren(...range, ...(this.result.scope.code ? [" ", apart] : []));
  }
}
