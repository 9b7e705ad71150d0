// All heads as cells with their names and their signed numbers: walked by arrows, chosen by click or Enter.

import { el, onWidth } from "../core/dom.js";
import { walked } from "../views/cells.js";
import { digitsFor, largestAmount, signedAmount, signedFixed } from "./wording.js";

/** @import { Maybe } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { EffectColors } from "./effect_colors.js" */
/** @typedef {{ label: string, choose: (place: HeadPlace, together: boolean) => unknown,
 *   tell?: (place: HeadPlace | null) => unknown }} Acts `together`: with Ctrl or Shift; `tell` of the head under the
 *   pointer or the focus */
/** @typedef {{ values: Maybe[][] | null, colors: EffectColors | null, spread?: Maybe[][], fixed?: number }} Drawn
 *   `fixed` decimals, where the numbers are not to choose them */

const [ROOMY, NARROW] = [50, 31]; // pixels of a cell: from here on name and number have room, in two sizes

export class HeadGrid {
  node = el("div", { class: "viz-whatif-grid", role: "group" });
  /** @type {HTMLButtonElement[][]} */
  cells = [];
  #at = { layer: 0, head: 0 }; // the cell that Tab leads to

  constructor(/** @type {Acts} */ acts) {
    this.acts = acts;
    const { node } = this;
    node.setAttribute("aria-label", `${acts.label}. Arrow keys move, Enter chooses a head, Ctrl + Enter adds one.`);
    const tell = acts.tell ?? (() => {});
    node.addEventListener("click", (event) => {
      const place = placeOf(event.target);
      if (place) acts.choose(place, event.ctrlKey || event.metaKey || event.shiftKey);
    });
    node.addEventListener("pointerover", (event) => tell(placeOf(event.target)));
    node.addEventListener("pointerleave", () => tell(null));
    node.addEventListener("focusin", (event) => tell(placeOf(event.target)));
    node.addEventListener("focusout", () => tell(null));
    node.addEventListener("keydown", (event) => this.#key(event));
    onWidth(node, () => requestAnimationFrame(() => this.#fit()));
  }

  // A model's heads, of which nothing is known yet.
  enter(/** @type {number} */ nLayers, /** @type {number} */ nHeads) {
    this.cells = Array.from({ length: nLayers }, (_, layer) =>
      Array.from({ length: nHeads }, (_, head) => cellOf({ layer, head })),
    );
    this.node.style.setProperty("--heads", String(nHeads));
    this.node.replaceChildren(
      ...this.cells.map((row, layer) =>
        el("div", { class: "viz-whatif-layer" }, el("span", { "aria-hidden": "true" }, String(layer)), ...row),
      ),
    );
    this.#goTo({ layer: 0, head: 0 });
    this.draw({ values: null, colors: null });
    this.#fit();
  }

  draw(/** @type {Drawn} */ { values, colors, spread, fixed }) {
    this.node.toggleAttribute("data-spread", spread !== undefined);
    const digits = fixed ?? digitsFor(largestAmount((values ?? []).flat()));
    this.cells.forEach((row, layer) => {
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
    const names = new Set(chosen.map(({ layer, head }) => `${layer}.${head}`));
    for (const cell of this.cells.flat()) {
      const name = String(cell.dataset.head);
      cell.setAttribute("aria-pressed", String(names.has(name)));
      cell.classList.toggle("viz-whatif-away", removed.has(name));
    }
    const [first] = chosen;
    if (first && !this.node.contains(document.activeElement)) this.#goTo(first);
  }

  #goTo(/** @type {HeadPlace} */ place) {
    this.#cell(this.#at)?.setAttribute("tabindex", "-1");
    this.#at = place;
    this.#cell(place)?.setAttribute("tabindex", "0");
  }

  #cell(/** @type {HeadPlace} */ { layer, head }) {
    return this.cells[layer]?.[head];
  }

  #fit() {
    const { clientWidth } = this.node;
    if (!clientWidth || !this.cells.length) return;
    const each = (clientWidth - 18) / this.cells[0].length;
    this.node.dataset.size = each >= ROOMY ? "roomy" : each >= NARROW ? "narrow" : "tiny";
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const place = placeOf(event.target);
    if (!place) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault(); // so that no click follows, which would not know of Shift
      return this.acts.choose(place, event.ctrlKey || event.metaKey || event.shiftKey);
    }
    const cell = walked(event.key, [place.layer, place.head], this.cells.length, this.cells[0].length);
    if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = { layer: cell[0], head: cell[1] };
    this.#goTo(to);
    this.#cell(to)?.focus();
  }
}

/** @type {(place: HeadPlace) => HTMLButtonElement} */
const cellOf = ({ layer, head }) =>
  el(
    "button",
    { type: "button", class: "viz-whatif-cell", tabindex: "-1", "data-head": `${layer}.${head}` },
    el("b", {}, `${layer}.${head}`),
    el("span"),
    el("small"),
  );

/** @type {(target: EventTarget | null) => HeadPlace | null} */
function placeOf(target) {
  const cell = target instanceof Element && target.closest("[data-head]");
  if (!(cell instanceof HTMLElement)) return null;
  const [layer, head] = String(cell.dataset.head).split(".").map(Number);
  return { layer, head };
}
