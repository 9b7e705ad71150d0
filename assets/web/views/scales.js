// Scales of charts: round numbers along an axis, and a plane of points.

/** @import { Box } from "./scatter_labels.js" */

export const TICKS = 4;
const FILLED = 0.94; // share of a plane filled by its points

/** Ends of an axis that are round numbers. @type {(low: number, high: number) => [low: number, high: number]} */
export function roundEnds(low, high) {
  if (!(high > low)) return [low, low + 1];
  const unit = 10 ** Math.floor(Math.log10((high - low) / TICKS));
  const start = (/** @type {number} */ step) => Math.floor(low / step) * step;
  const steps = [1, 2, 2.5, 5, 10, 20].map((each) => each * unit);
  const step = steps.find((each) => start(each) + TICKS * each >= high) ?? 20 * unit;
  return [start(step), start(step) + TICKS * step];
}

/** The smallest round step (1, 2 or 5 times a power of 10) of at least this size. @param {number} least */
export function roundStep(least) {
  const unit = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((each) => each * unit >= least) ?? 10) * unit;
}

/** Round numbers between two ends. @type {(low: number, high: number) => number[]} */
export function ticks(low, high) {
  const step = roundStep((high - low) / TICKS);
  const first = Math.ceil(low / step);
  return Array.from({ length: 2 * TICKS + 1 }, (_, at) => (first + at) * step).filter((value) => value <= high);
}

/** @typedef {{ count: number, left: number, right: number }} Layers so many, between two places on the screen */

/** Position of a layer. @type {(layer: number, layers: Layers) => number} */
export const layerPlace = (layer, { count, left, right }) =>
  left + (count > 1 ? layer / (count - 1) : 0.5) * (right - left);

/** The layer nearest to a place. @type {(x: number, layers: Layers) => number} */
export const layerNear = (x, { count, left, right }) =>
  Math.max(0, Math.min(count - 1, Math.round(((x - left) / (right - left)) * (count - 1))));

export class PlaneScale {
  /** @param {ArrayLike<number>} points x and y in turn @param {Box} box @param {boolean} [alike] whether both axes are in
   * one unit; else each is filled, from 0 on */
  constructor(points, box, alike = true) {
    const room = [box.right - box.left, box.bottom - box.top];
    const ends = [0, 1].map((axis) => {
      let [low, high] = alike ? [Infinity, -Infinity] : [0, 0];
      for (let at = axis; at < points.length; at += 2)
        [low, high] = [Math.min(low, points[at]), Math.max(high, points[at])];
      return [low, high];
    });
    this.points = points;
    this.box = box;
    const each = ends.map(([low, high], axis) => Math.max((high - low) / (FILLED * room[axis]), 1e-12));
    this.each = alike ? each.fill(Math.max(...each)) : each; // of an axis, in a pixel
    this.low = ends.map(([low, high], axis) => (low + high) / 2 - (this.each[axis] * room[axis]) / 2);
    this.high = this.low.map((low, axis) => low + this.each[axis] * room[axis]);
  }

  x(/** @type {number} */ value) {
    return this.box.left + (value - this.low[0]) / this.each[0];
  }

  y(/** @type {number} */ value) {
    return this.box.bottom - (value - this.low[1]) / this.each[1];
  }

  /** Position of a point. @type {(at: number) => [x: number, y: number]} */
  place(at) {
    return [this.x(this.points[2 * at]), this.y(this.points[2 * at + 1])];
  }

  /** The point that is meant by a place; -1 where none is in reach. @type {(x: number, y: number, reach: number) => number} */
  nearest(x, y, reach) {
    let [best, least] = [-1, Infinity];
    for (let at = 0; at < this.points.length / 2; at++) {
      const [px, py] = this.place(at);
      const far = Math.hypot(px - x, py - y);
      if (far <= reach && far < least) [best, least] = [at, far];
    }
    return best;
  }
}
