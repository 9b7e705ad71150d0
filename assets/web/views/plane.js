// A plane of points: its axes, its points, and which is meant by the pointer.

import { css, el, fit, onWidth } from "../core/dom.js";
import { fullHeight } from "./full_screen.js";
import { PlaneScale, ticks } from "./scales.js";

/** @typedef {{ draw: () => unknown, point: (at: number) => unknown, choose: (at: number) => unknown,
 *   tallest?: number }} Acts `point` is told the point under the pointer, -1 where none is */

const [LEFT, RIGHT, TOP, BOTTOM] = [58, 12, 10, 40];
const REACH = 13; // pixels within which a point is meant

export class Plane {
  /** @type {PlaneScale | null} */
  scale = null;
  /** @type {[width: number, height: number]} pixels */
  size = [0, 0];

  /** @param {Record<string, string>} attributes @param {Acts} acts */
  constructor(attributes, { draw, point, choose, tallest = 430 }) {
    this.tallest = tallest; // pixels
    this.canvas = el("canvas", attributes);
    this.node = el("div", {}, this.canvas);
    const near = (/** @type {MouseEvent} */ event) => {
      const page = this.canvas.getBoundingClientRect();
      return this.scale?.nearest(event.clientX - page.left, event.clientY - page.top, REACH) ?? -1;
    };
    this.canvas.addEventListener("pointermove", (event) => point(near(event)));
    this.canvas.addEventListener("pointerleave", () => point(-1));
    this.canvas.addEventListener("click", (event) => near(event) >= 0 && choose(near(event)));
    onWidth(this.node, () => requestAnimationFrame(() => draw()));
  }

  /** Empty but for its axes, across and up, to be drawn on; null where there is no room.
   * @type {(points: ArrayLike<number>, titles: string[], alike?: boolean) =>
   *   { context: CanvasRenderingContext2D, scale: PlaneScale } | null} */
  enter(points, titles, alike) {
    const width = this.node.clientWidth;
    if (!width) return null;
    const height = fullHeight(this.node) || Math.min(this.tallest, Math.max(260, Math.round(width * 0.75)));
    const box = { left: LEFT, right: width - RIGHT, top: TOP, bottom: height - BOTTOM };
    const scale = new PlaneScale(points, box, alike);
    [this.scale, this.size] = [scale, [width, height]];
    const context = fit(this.canvas, width, height);
    drawAxes(context, scale, height, titles);
    return { context, scale };
  }
}

/** Axes by the share of the variance that each shows. @type {(shares: number[]) => string[]} */
export const components = (shares) =>
  shares.map((share, at) => `Component ${at + 1}: ${(100 * share).toFixed(1)}% of the variance`);

/** The frame, numbers along it and what each axis is; the canvas is so many pixels high.
 * @type {(context: CanvasRenderingContext2D, scale: PlaneScale, height: number, titles: string[]) => void} */
function drawAxes(context, scale, height, [across, up]) {
  const { left, right, top, bottom } = scale.box;
  const digits = (/** @type {number} */ value) => String(Number(value.toPrecision(4)));
  context.strokeStyle = css("--border-color-primary");
  context.fillStyle = css("--body-text-color-subdued");
  context.font = "12px system-ui, sans-serif";
  context.strokeRect(left, top, right - left, bottom - top);
  context.textAlign = "right";
  for (const value of ticks(scale.low[1], scale.high[1])) context.fillText(digits(value), left - 5, scale.y(value) + 4);
  context.textAlign = "center";
  for (const value of ticks(scale.low[0], scale.high[0])) context.fillText(digits(value), scale.x(value), bottom + 14);
  context.font = "12px system-ui, sans-serif";
  context.fillText(across, (left + right) / 2, height - 6);
  context.save();
  context.translate(12, (top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(up, 0, 0);
  context.restore();
}

/** @type {(context: CanvasRenderingContext2D, place: [x: number, y: number], color: string, width: number) => void} */
export function ring(context, place, color, width) {
  [context.strokeStyle, context.lineWidth] = [color, width];
  context.beginPath();
  context.arc(...place, 7.5, 0, 2 * Math.PI);
  context.stroke();
}

/** @type {(context: CanvasRenderingContext2D, place: [x: number, y: number], radius: number) => void} */
export function dot(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
