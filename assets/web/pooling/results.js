// Numbers, cells and color scales as the Pooling tab shows them.

import { inkOn, rgbText } from "../core/colors.js";
import { el } from "../core/dom.js";
import { signed, signedColors } from "../core/signed_colors.js";

/** @import { Rgb } from "../core/colors.js" */
/** @import { Maybe } from "../core/payloads.d.ts" */

// For labels and seeds; repeats after eight.
export const HUES = ["#4269d0", "#d08b00", "#e0503f", "#2a9d8f", "#8a5cc2", "#5c8a2f", "#c2578f", "#7a6a58"];

/** @type {(value: Maybe | undefined, digits?: number) => string} */
export const fixed = (value, digits = 3) =>
  value == null || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");

// A drift: three digits, in powers of ten where it is only rounding.
export function small(/** @type {Maybe} */ value) {
  if (value === null) return "–";
  if (value === 0) return "0";
  return Math.abs(value) < 0.0005 ? value.toExponential(1).replace("-", "−") : value.toPrecision(3);
}

/** Color a cell by a value from −1 to 1. @template {HTMLElement} Node @param {Node} node @param {Maybe} value */
export function tint(node, value) {
  if (value === null) return node;
  const color = signedColors()(value);
  node.style.background = rgbText(color);
  node.style.color = inkOn(color);
  return node;
}

/** A bar of colors between two numbers. @type {(colors: Rgb[], low: string, high: string, unit: string) => (string | Node)[]} */
export function bar(colors, low, high, unit) {
  const style = `background: linear-gradient(to right, ${colors.map(rgbText).join(", ")})`;
  return [`${low} `, el("i", { class: "viz-stat-bar", style }), ` ${high}, ${unit}`];
}

/**
 * Color bar of the signed scale, or of its upper half if it starts at 0.
 * @type {(low: string, high: string, unit: string) => (string | Node)[]}
 */
export const signedBar = (low, ...more) => bar(signed().slice(low === "0" ? 2 : 0), low, ...more);

/** @type {(text: string, most: number) => string} */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// The method that a model's own files declare, as sentence-transformers computes it.
export const OWN = "declared";

/** Badge of the model's own method. @type {(method: string) => HTMLElement[]} */
export const ownBadge = (method) => (method === OWN ? [el("span", { class: "viz-pool-own" }, "the model's own")] : []);

/** Whether the chosen method is the model's own, in a sentence. @type {(own: string, method: string) => string} */
export function ownOrNot(own, method) {
  if (!own) return "";
  return method === OWN
    ? `The chosen row is the model's own pooling, as sentence-transformers computes it: ${own}.`
    : `The chosen row is ${method}, not the model's own pooling. The model declares: ${own}.`;
}
