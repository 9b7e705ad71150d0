// Heads placed by what they do: a point a head, by two statistics.

import { control, controls, el, number, onWidth, options, svg } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { headName } from "./cells.js";
import { section } from "./headed.js";
import { roundEnds, ticks } from "./scales.js";
import { outstanding, placed } from "./scatter_labels.js";

/** @import { Point } from "./scatter_labels.js" */
/** @typedef {{ words: Record<string, { title: string }>, arrays: Record<string, Maybe[][]> }} Numbers of every head, by
 *   their names */

const INSET = { height: 316, left: 60, right: 16, top: 12, bottom: 42 };
const BELOW = INSET.height - INSET.bottom + 16; // the numbers across
const NAMED = 8; // names along each axis

export class HeadPlane {
  /** @type {Numbers | null} */
  table = null;
  /** @type {HeadPlace} */
  chosen = { layer: 0, head: 0 };
  /** @type {(Point & { at: HeadPlace, told: string })[]} */
  points = [];
  x = el("select", { "aria-label": "Across" });
  y = el("select", { "aria-label": "Up" });
  drawing = svg("svg", { class: "viz-plane", height: INSET.height });
  told = el("p", { class: "viz-caption", role: "status" });
  tab = "";
  usual = { x: "", y: "" };
  #titles = "";

  /** `usual` are the names of what is across and up at first; `tab` keeps others in its link.
   * @param {(place: HeadPlace) => unknown} choose @param {{ title: string, tab: string, usual: { x: string, y: string } }} more */
  constructor(choose, { title, tab, usual }) {
    [this.tab, this.usual] = [tab, usual];
    const fields = controls(control("Up:", this.y), control("Across:", this.x));
    this.node = section(...["viz-placed", title, title], ...[fields, this.drawing, this.told]);
    for (const field of [this.x, this.y]) field.addEventListener("change", () => this.draw());
    this.drawing.addEventListener("pointermove", (event) => this.#tell(nearest(this.points, this.drawing, event)));
    this.drawing.addEventListener("pointerleave", () => this.#tell(-1));
    this.drawing.addEventListener("click", (event) => {
      const at = nearest(this.points, this.drawing, event);
      if (at >= 0) choose(this.points[at].at);
    });
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  /** @type {(table: Numbers, chosen: HeadPlace) => void} */
  show(table, chosen) {
    this.table = table;
    this.chosen = chosen;
    const titles = Object.entries(table.words).map(([name, { title }]) => /** @type {const} */ ([name, title]));
    if (this.#titles !== String(titles)) {
      for (const axis of /** @type {const} */ (["x", "y"])) {
        const before = this[axis].value || this.usual[axis];
        this[axis].replaceChildren(...options(titles));
        if (before in table.words) this[axis].value = before;
        if (!this.#titles) inLink(`${this.tab}.${axis}`, this[axis]);
      }
      this.#titles = String(titles);
    }
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    const { table } = this;
    if (!width || !table) return;
    const [across, up] = [table.arrays[this.x.value], table.arrays[this.y.value]];
    const known = up.flatMap((row, layer) =>
      row.flatMap((value, head) => {
        const along = across[layer][head];
        return value === null || along === null ? [] : [{ at: { layer, head }, along, value }];
      }),
    );
    const scales = scalesOf(known, width, INSET);
    const titles = [this.x, this.y].map(({ value }) => table.words[value].title);
    this.points = known.map(({ at, along, value }) => ({
      ...{ at, name: headName(at), x: scales.x(along), y: scales.y(value) },
      told: `Head ${headName(at)}: ${number(value)} up, ${number(along)} across`,
    }));
    const isChosen = (/** @type {string} */ name) => name === headName(this.chosen);
    const dots = this.points.map(({ name, ...point }) =>
      svg("circle", {
        ...{ cx: point.x, cy: point.y, r: isChosen(name) ? 7 : 5, "data-head": name },
        class: isChosen(name) ? "viz-chosen" : "",
      }),
    );
    const names = namesOf("viz-plane-name", this.points, known, isChosen, NAMED, width, INSET);
    const middle = (INSET.top + INSET.height - INSET.bottom) / 2;
    const lines = [
      svg(
        "text",
        { x: (INSET.left + width - INSET.right) / 2, y: INSET.height - 6, "text-anchor": "middle" },
        titles[0],
      ),
      svg("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, titles[1]),
      ...ticks(...scales.xs).map((value) => tick(scales.x(value), BELOW, "middle", value)),
      ...ticks(...scales.ys).map((value) => tick(INSET.left - 6, scales.y(value) + 4, "end", value)),
    ];
    this.drawing.setAttribute("width", String(width));
    this.drawing.setAttribute("role", "img"); // not before it has a name
    this.drawing.setAttribute("aria-label", `${known.length} heads. Up: ${titles[1]}. Across: ${titles[0]}.`);
    this.drawing.replaceChildren(frameOf("viz-plane-frame", width, INSET), ...lines, ...dots, ...names);
    this.#tell(-1);
  }

  #tell(/** @type {number} */ at) {
    this.told.textContent = this.points[at]?.told ?? "Point at a head for its numbers; click it to choose it.";
  }
}

/** @type {(x: number, y: number, anchor: string, value: number) => SVGElement} */
const tick = (x, y, anchor, value) =>
  svg("text", { x, y, "text-anchor": anchor }, String(Number(value.toPrecision(3))));

/** @typedef {{ at: HeadPlace, along: number, value: number }} Known a head of which both numbers are known */
/** @typedef {{ height: number, left: number, right: number, top: number, bottom: number }} Inset margins, pixels */
/** @typedef {{ x: (value: number) => number, y: (value: number) => number, xs: [number, number], ys: [number, number] }} Scales */

const REACH = 16; // pixels within which a point is meant

/**
 * Scales from values to pixels; both axes include 0.
 * @type {(known: Known[], width: number, inset: Inset) => Scales}
 */
export function scalesOf(known, width, { height, left, right, top, bottom }) {
  const ends = (/** @type {number[]} */ values) => roundEnds(Math.min(0, ...values), Math.max(0, ...values));
  const [xs, ys] = [ends(known.map(({ along }) => along)), ends(known.map(({ value }) => value))];
  return {
    ...{ xs, ys },
    x: (value) => left + ((value - xs[0]) / (xs[1] - xs[0])) * (width - left - right),
    y: (value) => height - bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (height - top - bottom),
  };
}

/** @type {(name: string, width: number, inset: Inset) => SVGElement} */
export const frameOf = (name, width, { height, left, right, top, bottom }) =>
  svg("rect", { class: name, x: left, y: top, width: width - left - right, height: height - top - bottom });

/** The number of the point that is meant; -1 where none is near.
 * @type {(points: Point[], drawing: Element, event: MouseEvent) => number} */
export function nearest(points, drawing, event) {
  const box = drawing.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const far = points.map((point) => Math.hypot(point.x - x, point.y - y));
  const least = Math.min(...far);
  return least <= REACH ? far.indexOf(least) : -1;
}

/** Names where there is room: the chosen ones first, then what lies furthest out, so many along each axis.
 * @type {(name: string, points: Point[], known: Known[], chosen: (name: string) => boolean, most: number, width: number,
 *   inset: Inset) => SVGElement[]} */
export function namesOf(name, points, known, chosen, most, width, { height, left, bottom }) {
  const first = points.flatMap((point, at) => (chosen(point.name) ? [at] : []));
  const [values, along] = [known.map((each) => each.value), known.map((each) => each.along)];
  const wanted = [...new Set([...first, ...outstanding(values, along, most)])];
  const box = { left, right: width, top: 0, bottom: height - bottom + 6 };
  return placed(points, wanted, box).map(({ name: text, x, y, anchor }) =>
    svg("text", { class: name, x, y, "text-anchor": anchor }, text),
  );
}
