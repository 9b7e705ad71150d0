// A point a head by two of its numbers: where points lie, which is meant by a pointer, and which have names.

import { svg } from "../core/dom.js";
import { roundEnds } from "./scales.js";
import { outstanding, placed } from "./scatter_labels.js";

/** @import { Point } from "./scatter_labels.js" */
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
