// Every head by a statistic or by a difference, with its role, and the legend of the colors.

import { el } from "../core/dom.js";
import { HeadGrid } from "../views/head_grid.js";
import { scaleBar } from "../views/shading.js";
import { decimalsOf, shown, signed } from "./tables.js";

/** @typedef {{ values: Maybe[][], change: boolean, title: string, about: (place: HeadPlace) => string,
 *   label: (place: HeadPlace) => string }} Drawn `label` of a head's role; "" where it has none */

const IN_CELL = 3; // decimals for which a cell has room

/** A number whose zero before the point goes where there is no room for it. @param {string} text */
function withZero(text) {
  const [, sign, rest] = /^([+−]?)0(\..*)$/.exec(text) ?? [];
  return rest ? [new Text(sign), el("i", {}, "0"), new Text(rest)] : [new Text(text)];
}

export class HeadMap extends HeadGrid {
  legend = el("div", { class: "viz-corpus-legend" });

  /** `point` is told of the head under the pointer or the focus, and null of none.
   * @param {(place: HeadPlace) => unknown} choose @param {(place: HeadPlace | null) => unknown} point */
  constructor(choose, point) {
    super("", { kind: "viz-corpus", sizes: [46, 34], parts: ["span", "small"], numbered: true, choose, tell: point });
  }

  fill(/** @type {Drawn} */ { values, change, title, about, label }) {
    const decimals = () => Math.min(IN_CELL, decimalsOf(this.colors.high)); // for a change
    const write = (/** @type {Maybe} */ value) => (change ? signed(value, decimals()) : shown(value));
    this.show({ values, signed: change, said: about, write: (value) => withZero(write(value)), label });
    this.node.setAttribute("aria-label", `Heads by ${title}. Arrow keys move, Enter chooses a head.`);
    const { high } = this.colors.scale;
    this.legend.replaceChildren(
      el("span", {}, change ? write(-high) : "0"),
      scaleBar(this.colors.scale),
      el("span", {}, write(high)),
      el("span", {}, "rows are layers, columns are heads"),
    );
  }
}
