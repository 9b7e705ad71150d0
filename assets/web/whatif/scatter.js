// The effect of removing each head against its attention: a point a head, so that weight and effect part.

import { el, number, onWidth, svg } from "../core/dom.js";
import { headName } from "../views/cells.js";
import { roundEnds, ticks } from "../views/scales.js";
import { outstanding, placed } from "../views/scatter_labels.js";
import { digitsFor, signedAmount, signedFixed } from "./wording.js";

/** @import { Maybe } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { EffectColors } from "./effect_colors.js" */
/** @import { Point } from "../views/scatter_labels.js" */
/** @typedef {{ along: Maybe[][], values: Maybe[][], colors: EffectColors, xTitle: string, yTitle: string }} Shown
 *   layer, head */
/** @typedef {{ at: HeadPlace, along: number, value: number }} Known a head of which both numbers are known */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [250, 46, 14, 12, 26];
const [REACH, NAMED] = [16, 4]; // pixels within which a point is meant; names by effect, and as many by attention
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
  drawing = svg("svg", { class: "viz-whatif-plot", height: HEIGHT, tabindex: 0, role: "application" });
  told = el("p", { class: "viz-caption viz-whatif-told", role: "status" }, POINT);

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    this.choose = choose;
    const { drawing } = this;
    drawing.setAttribute("aria-roledescription", "scatter plot of heads");
    drawing.addEventListener("pointermove", (event) => this.#point(this.#near(event)));
    drawing.addEventListener("pointerleave", () => this.#point(-1));
    drawing.addEventListener("blur", () => this.#point(-1));
    drawing.addEventListener("click", (event) => this.#pick(this.#near(event)));
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
    if (!this.shown || !this.known.length) return this.drawing.replaceChildren(...frame(width));
    const { xTitle, yTitle, colors } = this.shown;
    this.up.textContent = `↑ ${yTitle}`;
    this.drawing.setAttribute("aria-label", `${this.known.length} heads. Up: ${yTitle}. Across: ${xTitle}.`);
    const scales = scalesOf(this.known, width);
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
    this.drawing.replaceChildren(...frame(width), ...axes(scales, width, xTitle), ...dots, ...this.#names(width));
    this.#ring();
  }

  // The chosen ones come first; then what lies furthest out.
  #names(/** @type {number} */ width) {
    const [values, along] = [this.known.map(({ value }) => value), this.known.map((each) => each.along)];
    const chosen = this.points.flatMap(({ name }, at) => (this.chosen.has(name) ? [at] : []));
    const wanted = [...new Set([...chosen, ...outstanding(values, along, NAMED)])];
    const box = { left: LEFT, right: width, top: 0, bottom: HEIGHT - BOTTOM + 6 };
    return placed(this.points, wanted, box).map(({ name, x, y, anchor }) =>
      svg("text", { class: "viz-whatif-name", x, y, "text-anchor": anchor }, name),
    );
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

  /** @type {(event: MouseEvent) => number} */
  #near(event) {
    const box = this.drawing.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const far = this.points.map((point) => Math.hypot(point.x - x, point.y - y));
    const least = Math.min(...far);
    return least <= REACH ? far.indexOf(least) : -1;
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

/** @typedef {{ x: (value: number) => number, y: (value: number) => number, xs: [number, number], ys: [number, number] }} Scales */

/** @type {(known: Known[], width: number) => Scales} */
function scalesOf(known, width) {
  const ends = (/** @type {number[]} */ values) => roundEnds(Math.min(0, ...values), Math.max(0, ...values));
  const [xs, ys] = [ends(known.map(({ along }) => along)), ends(known.map(({ value }) => value))];
  const [across, high] = [width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  return {
    ...{ xs, ys },
    x: (value) => LEFT + ((value - xs[0]) / (xs[1] - xs[0])) * across,
    y: (value) => HEIGHT - BOTTOM - ((value - ys[0]) / (ys[1] - ys[0])) * high,
  };
}

/** @type {(width: number) => SVGElement[]} */
const frame = (width) => [
  svg("rect", {
    class: "viz-whatif-frame",
    x: LEFT,
    y: TOP,
    width: width - LEFT - RIGHT,
    height: HEIGHT - TOP - BOTTOM,
  }),
];

/** @type {(scales: Scales, width: number, xTitle: string) => SVGElement[]} */
function axes({ x, y, xs, ys }, width) {
  const write = (
    /** @type {string} */ text,
    /** @type {number} */ left,
    /** @type {number} */ top,
    anchor = "middle",
  ) => svg("text", { x: left, y: top, "text-anchor": anchor }, text);
  const digits = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));
  const decimals = Math.max(0, digitsFor(Math.max(...ys.map(Math.abs))) - 1);
  return [
    ...ticks(...ys).flatMap((value) => [
      svg("line", {
        class: Math.abs(value) < 1e-12 ? "viz-whatif-zero" : "",
        x1: LEFT,
        x2: width - RIGHT,
        y1: y(value),
        y2: y(value),
      }),
      write(signedFixed(value, decimals), LEFT - 6, y(value) + 4, "end"),
    ]),
    ...ticks(...xs).map((value) => write(digits(value), x(value), HEIGHT - BOTTOM + 16)),
  ];
}
