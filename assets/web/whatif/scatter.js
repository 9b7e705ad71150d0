// The effect of removing each head against its attention: a point a head, so that weight and effect part.

import { el, number, onWidth, svg } from "../core/dom.js";
import { headName } from "../views/cells.js";
import { frameOf, namesOf, nearest, scalesOf } from "../views/head_plot.js";
import { tickDecimals, ticks } from "../views/scales.js";
import { signedAmount, signedFixed } from "./wording.js";

/** @import { Maybe } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { EffectColors } from "./effect_colors.js" */
/** @import { Point } from "../views/scatter_labels.js" */
/** @typedef {{ along: Maybe[][], values: Maybe[][], colors: EffectColors, xTitle: string, yTitle: string }} Shown
 *   layer, head */
/** @import { Known, Scales } from "../views/head_plot.js" */

const INSET = { height: 250, left: 46, right: 14, top: 12, bottom: 26 };
const NAMED = 4; // names by effect, and as many by attention
const POINT = "Point at a head for its numbers; click it to choose it. Arrow keys move to the next head.";

export class Scatter {
  /** @type {Shown | null} */
  shown = null;
  /** @type {Known[]} */
  known = [];
  /** @type {Point[]} */
  points = [];
  /** @type {Set<string>} */
  chosen = new Set();
  #pointed = -1;
  up = el("p", { class: "viz-whatif-axis" });
  drawing = svg("svg", { class: "viz-whatif-plot", height: INSET.height, tabindex: 0, role: "application" });
  told = el("p", { class: "viz-caption viz-whatif-told", role: "status" }, POINT);

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    this.choose = choose;
    const { drawing } = this;
    drawing.setAttribute("aria-roledescription", "scatter plot of heads");
    drawing.addEventListener("pointermove", (event) => this.#point(nearest(this.points, drawing, event)));
    drawing.addEventListener("pointerleave", () => this.#point(-1));
    drawing.addEventListener("blur", () => this.#point(-1));
    drawing.addEventListener("click", (event) => this.#pick(nearest(this.points, drawing, event)));
    drawing.addEventListener("keydown", (event) => this.#key(event));
    this.node = el("div", { class: "viz-whatif-scatter" }, this.up, drawing, this.told);
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  show(/** @type {Shown | null} */ shown) {
    this.shown = shown;
    this.known = shown ? knownOf(shown) : [];
    this.#pointed = -1;
    this.told.textContent = POINT;
    this.draw();
  }

  mark(/** @type {HeadPlace[]} */ chosen) {
    this.chosen = new Set(chosen.map(headName));
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    if (!width) return;
    this.drawing.setAttribute("width", String(width));
    if (!this.shown || !this.known.length) return this.drawing.replaceChildren(frame(width));
    const { xTitle, yTitle, colors } = this.shown;
    this.up.textContent = `↑ ${yTitle}`;
    this.drawing.setAttribute("aria-label", `${this.known.length} heads. Up: ${yTitle}. Across: ${xTitle}.`);
    const scales = scalesOf(this.known, width, INSET);
    this.points = this.known.map(({ at, along, value }) => ({
      x: scales.x(along),
      y: scales.y(value),
      name: headName(at),
    }));
    const dots = this.points.map(({ x, y, name }, at) =>
      svg("circle", {
        ...{ cx: x, cy: y, r: this.chosen.has(name) ? 7 : 5, class: this.chosen.has(name) ? "viz-chosen" : "" },
        ...{ fill: colors.of(this.known[at].value)[0], "data-head": name },
      }),
    );
    const names = namesOf(
      "viz-whatif-name",
      this.points,
      this.known,
      (name) => this.chosen.has(name),
      NAMED,
      width,
      INSET,
    );
    this.drawing.replaceChildren(frame(width), ...axes(scales, width), ...dots, ...names);
    this.#ring();
  }

  #ring() {
    this.drawing.querySelector(".viz-whatif-ring")?.remove();
    const point = this.points[this.#pointed];
    if (point) this.drawing.append(svg("circle", { class: "viz-whatif-ring", cx: point.x, cy: point.y, r: 9 }));
  }

  #point(/** @type {number} */ at) {
    if (at === this.#pointed || !this.shown) return;
    this.#pointed = at;
    const one = this.known[at];
    this.told.textContent = one
      ? `Head ${headName(one.at)}: effect ${signedAmount(one.value)}; ${this.shown.xTitle}: ${number(one.along)}`
      : POINT;
    this.#ring();
  }

  #pick(/** @type {number} */ at) {
    if (this.known[at]) this.choose(this.known[at].at);
  }

  #key(/** @type {KeyboardEvent} */ event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.known.length) return;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by) {
      const last = this.known.length - 1;
      this.#point(this.#pointed < 0 ? 0 : Math.min(last, Math.max(0, this.#pointed + by)));
    } else if (event.key === "Enter" || event.key === " ") this.#pick(this.#pointed);
    else return;
    event.preventDefault();
  }
}

/** In the order of their attention, as keys step through them. @type {(shown: Shown) => Known[]} */
export const knownOf = ({ along, values }) =>
  values
    .flatMap((heads, layer) =>
      heads.map((value, head) => ({ at: { layer, head }, along: along[layer]?.[head] ?? NaN, value: value ?? NaN })),
    )
    .filter((each) => Number.isFinite(each.along) && Number.isFinite(each.value))
    .sort((a, b) => a.along - b.along);

const frame = (/** @type {number} */ width) => frameOf("viz-whatif-frame", width, INSET);

/** @type {(scales: Scales, width: number) => SVGElement[]} */
function axes({ x, y, xs, ys }, width) {
  const write = (
    /** @type {string} */ text,
    /** @type {number} */ left,
    /** @type {number} */ top,
    anchor = "middle",
  ) => svg("text", { x: left, y: top, "text-anchor": anchor }, text);
  const digits = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));
  const levels = ticks(...ys);
  const decimals = tickDecimals(levels);
  return [
    ...levels.flatMap((value) => [
      svg("line", {
        class: Math.abs(value) < 1e-12 ? "viz-whatif-zero" : "",
        x1: INSET.left,
        x2: width - INSET.right,
        y1: y(value),
        y2: y(value),
      }),
      write(signedFixed(value, decimals), INSET.left - 6, y(value) + 4, "end"),
    ]),
    ...ticks(...xs).map((value) => write(digits(value), x(value), INSET.height - INSET.bottom + 16)),
  ];
}
