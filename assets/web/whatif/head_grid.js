// Grid of all heads with names and signed numbers: arrows move, click or Enter chooses.

import { el } from "../core/dom.js";
import { HeadCells, placeOf } from "../views/head_cells.js";
import { digitsFor, largestAmount, signedAmount, signedFixed } from "./wording.js";

/** @import { Maybe } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { EffectColors } from "./effect_colors.js" */
/** @typedef {{ label: string, choose: (place: HeadPlace, together: boolean) => unknown,
 *   tell?: (place: HeadPlace | null) => unknown }} Acts `together`: with Ctrl or Shift; `tell` of the head under the
 *   pointer or the focus */
/** @typedef {{ values: Maybe[][] | null, colors: EffectColors | null, spread?: Maybe[][], fixed?: number }} Drawn
 *   `fixed` decimals, where the numbers are not to choose them */

/** @type {[number, number]} */
const SIZES = [50, 31]; // pixels of a cell

export class HeadGrid {
  node = el("div", { class: "viz-whatif-grid", role: "group" });

  constructor(/** @type {Acts} */ acts) {
    const { node } = this;
    node.setAttribute("aria-label", `${acts.label}. Arrow keys move, Enter chooses a head, Ctrl + Enter adds one.`);
    const choose = (/** @type {HeadPlace} */ place, /** @type {MouseEvent | KeyboardEvent} */ event) =>
      acts.choose(place, event.ctrlKey || event.metaKey || event.shiftKey);
    const kind = "viz-whatif";
    this.heads = new HeadCells(node, { kind, sizes: SIZES, parts: ["span", "small"], choose, tell: acts.tell });
    node.addEventListener("keydown", (event) => {
      const place = placeOf(event.target);
      if (!place || (event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault(); // so that no click follows, which would not know of Shift
      choose(place, event);
    });
  }

  // A model's heads, of which nothing is known yet.
  enter(/** @type {number} */ nLayers, /** @type {number} */ nHeads) {
    this.heads.enter(nLayers, nHeads);
    this.draw({ values: null, colors: null });
  }

  draw(/** @type {Drawn} */ { values, colors, spread, fixed }) {
    this.node.toggleAttribute("data-spread", spread !== undefined);
    const digits = fixed ?? digitsFor(largestAmount((values ?? []).flat()));
    this.heads.cells.forEach((row, layer) => {
      row.forEach((cell, head) => {
        const value = values?.[layer]?.[head] ?? null;
        const [ground, ink] = values && colors ? colors.of(value) : ["", ""];
        Object.assign(cell.style, { background: ground, color: ink });
        const [, number, more] = cell.children;
        number.textContent = values ? signedFixed(value, digits) : "…";
        const apart = spread ? (spread[layer]?.[head] ?? null) : null;
        more.textContent = apart === null ? "" : `± ${apart.toFixed(digits)}`;
        const about = `${signedAmount(value)}${apart === null ? "" : `, spread ${apart.toFixed(digits)}`}`;
        cell.ariaDescription = values ? about : "not measured yet";
        cell.dataset.value = value === null ? "" : String(value);
      });
    });
  }

  /** The chosen heads, and those that are removed in the shown run.
   * @type {(chosen: HeadPlace[], removed: Set<string>) => void} */
  mark(chosen, removed) {
    this.heads.mark(chosen);
    for (const cell of this.heads.cells.flat())
      cell.classList.toggle("viz-whatif-away", removed.has(String(cell.dataset.head)));
  }
}
