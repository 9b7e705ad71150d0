// Three maps on the same axes, intended, passed and observed: pointed at, chosen and walked through as one.

import { largest, makeScale, mixed, rgb, rgbText, shade } from "../core/colors.js";
import { caption, css, el, isDark, number } from "../core/dom.js";
import { View } from "../core/view.js";
import { walked } from "./cells.js";
import { fullScreen } from "./full_screen.js";
import { maskColors, OUTLINED, swatches, TokenGrid } from "./mask_grid.js";
import { scaleBar } from "./shading.js";

/** @typedef {"intended" | "passed" | "observed"} Panel */
/** @typedef {ArrayLike<number | boolean | null>} Flags by cell, row by row: whether it may attend; null = no such pair */
/** @typedef {{ intended: Flags, passed: Flags | null, observed: Values }} Parts */

class Grid extends TokenGrid {
  /** @type {number[]} */
  dashed = [];

  /** @override */
  drawOver() {
    super.drawOver();
    const { overContext: context, view, left, top, side } = this;
    const cell = side / view.span;
    context.save();
    context.strokeStyle = css("--border-color-primary");
    context.lineWidth = 1; // a frame, for zeros may have the color of the page
    context.strokeRect(left - 0.5, top - 0.5, side + 1, side + 1);
    context.setLineDash([3, 2]);
    context.strokeStyle = css("--viz-lost", this.node);
    context.lineWidth = Math.max(1, Math.min(2, cell / 6));
    for (const at of cell < OUTLINED ? [] : this.dashed) {
      const [x, y] = view.middle(Math.floor(at / view.n), at % view.n, this);
      context.strokeRect(x - cell / 2 + 2, y - cell / 2 + 2, cell - 4, cell - 4);
    }
    context.restore();
  }
}

export class MaskPanels extends View {
  n = 0; // cells a side
  /** @type {Cell} */
  place = [0, 0];
  grids = { intended: made(), passed: made(), observed: made() };
  captions = { intended: el("figcaption"), passed: el("figcaption"), observed: el("figcaption") };
  legend = el("div", { class: "viz-mask-legend" });
  said = el("p", { class: "viz-readout", role: "status" });
  figures = el(
    "div",
    { class: "viz-mask-panels" },
    ...this.#all((panel) =>
      el("figure", { class: "viz-mask-panel", "data-panel": panel }, this.captions[panel], this.grids[panel].node),
    ),
  );

  constructor() {
    super();
    for (const grid of Object.values(this.grids)) this.#listen(grid);
  }

  // The button by which the whole part is alone in the window.
  fullable(/** @type {HTMLElement} */ node) {
    node.prepend(fullScreen(node, () => Object.values(this.grids).map((grid) => grid.layout())));
  }

  // Hooks for a tab: describe a cell, and handle a click.
  sentence(/** @type {Cell} */ _place) {
    return "";
  }
  choose(/** @type {Cell} */ place) {
    this.mark(place);
  }

  /** Draw the parts of a map; where nothing could be read as passed, its panel is left out.
   * @param {string[]} names @param {Parts} parts @param {Record<Panel, string>} captions
   * @param {number[]} leaking the cells that are outlined @param {number[]} losing those that are dashed
   * @param {ArrayLike<number>} faint those that are allowed and hardly attended to */
  fill(names, parts, captions, leaking, losing = [], faint = []) {
    const { intended, passed, observed } = this.grids;
    const { allowed, forbidden, faint: hardly } = maskColors();
    const scale = aboveZero(largest(parts.observed));
    const [leaks, lost] = [new Set(leaking), new Set(losing)];
    const of = (/** @type {Flags[0]} */ may) => (may ? allowed : may === null ? hardly : forbidden);
    const may = (/** @type {Flags} */ flags) => (/** @type {number} */ at) => of(flags[at]);
    this.n = names.length;
    this.#all((panel) => this.captions[panel].replaceChildren(captions[panel]));
    [observed.outlined, observed.dashed] = [leaking, losing];
    passed.node.hidden = !parts.passed;
    intended.show(names, may(parts.intended));
    passed.show(names, may(parts.passed ?? []));
    observed.show(names, (at) => {
      if (leaks.has(at)) return leakTint(parts.observed[at], scale);
      if (lost.has(at)) return LOST_TINT[isDark() ? "dark" : "light"];
      return faint[at] || parts.intended[at] === null ? hardly : shade(parts.observed[at], scale);
    });
    return scale;
  }

  /** Say what the colors are; of the weights, where any were observed, up to which they go.
   * @type {(squares: Record<string, Rgb | string>, scale: Scale | null, unit: string) => void} */
  explain(squares, scale, unit) {
    this.legend.replaceChildren(swatches(squares));
    if (!scale) return;
    const line = caption("Observed: 0 ", scaleBar(scale), ` ${number(scale.high)}, ${unit}`);
    line.classList.add("viz-stat-scale");
    this.legend.append(line);
  }

  // The query and the key that are chosen, as cells.
  mark(/** @type {Cell} */ place) {
    this.place = place;
    for (const grid of Object.values(this.grids)) {
      grid.chosen = place;
      grid.draw();
    }
    this.#tell(place);
  }

  #tell(/** @type {Cell} */ place) {
    this.said.textContent = this.sentence(place);
    this.#all((panel) => {
      const label = `${this.captions[panel].textContent}. ${this.said.textContent} Arrow keys move.`;
      this.grids[panel].canvas.setAttribute("aria-label", label);
    });
  }

  #hover(/** @type {Cell | null} */ at) {
    if (!this.n) return;
    for (const grid of Object.values(this.grids)) {
      grid.hovered = at;
      grid.drawOver();
    }
    this.#tell(at ?? this.place);
  }

  #listen(/** @type {Grid} */ grid) {
    grid.canvas.addEventListener("pointermove", (event) => this.#hover(grid.place(event)));
    grid.canvas.addEventListener("pointerleave", () => this.#hover(null));
    grid.canvas.addEventListener("click", (event) => {
      const at = this.n && grid.place(event);
      if (at) this.choose(at);
    });
    grid.canvas.addEventListener("keydown", (event) => {
      const to = this.n && !event.ctrlKey && !event.metaKey && walked(event.key, this.place, this.n);
      if (!to) return;
      event.preventDefault();
      this.choose(to);
    });
  }

  /** @template T @param {(panel: Panel) => T} each */
  #all(each) {
    return /** @type {const} */ (["intended", "passed", "observed"]).map(each);
  }
}

// Start of the color ramp: the smallest weight above 0 must look different from 0.
const FLOORS = { light: 0.07, dark: 0.16 };

/** A scale from 0 to the largest weight, without the ramp's end that looks like 0. @type {(high: number) => Scale} */
function aboveZero(high) {
  const scale = makeScale("head", high);
  const floor = FLOORS[isDark() ? "dark" : "light"];
  return { ...scale, share: (value) => floor + (1 - floor) * scale.share(value) };
}

// A leaking cell is red, the stronger the larger the weight, and outshines all that may be attended to.
const TINTS = { light: [rgb("#fca5a5"), rgb("#7f1d1d")], dark: [rgb("#8f2222"), rgb("#fecaca")] };

/** @type {(value: number, scale: Scale) => Rgb} */
function leakTint(value, scale) {
  const [weak, strong] = TINTS[isDark() ? "dark" : "light"];
  return mixed(weak, strong, Math.min(1, Math.max(0, scale.share(value))));
}

const LOST_TINT = { light: rgb("#ecdcfb"), dark: rgb("#46295c") };
export const LOST = "border: 2px dashed var(--viz-lost); background: #a855f733"; // the style of its square

/** The style of a square that shows all tints of leaking cells. */
export const leakTints = () => {
  const [weak, strong] = TINTS[isDark() ? "dark" : "light"];
  return `background: linear-gradient(to right, ${rgbText(weak)}, ${rgbText(strong)})`;
};

const made = () => new Grid({ maxSide: 380, maxCell: 30 });
