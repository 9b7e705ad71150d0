// The axes of two principal components, and the points of a plane.

import { css } from "../core/dom.js";
import { ticks } from "./scales.js";

/** @import { PlaneScale } from "./scales.js" */

/** An axis by the share of the variance that it shows. @type {(shares: number[], number: 0 | 1) => string} */
export const component = (shares, number) =>
  `Component ${number + 1}: ${(100 * shares[number]).toFixed(1)}% of the variance`;

/** The frame, numbers along it and what each axis is; the canvas is so many pixels high.
 * @type {(context: CanvasRenderingContext2D, scale: PlaneScale, height: number, shares: number[]) => void} */
export function drawAxes(context, scale, height, shares) {
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
  context.fillText(component(shares, 0), (left + right) / 2, height - 6);
  context.save();
  context.translate(12, (top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(component(shares, 1), 0, 0);
  context.restore();
}

/** @type {(context: CanvasRenderingContext2D, place: [x: number, y: number], radius: number) => void} */
export function dot(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
