// Shading of words and images: what a row and a column say, and color scales.

import { inkOn, largest, makeScale, rgbText, SIGNED, shade, theme } from "../core/colors.js";
import { el, number } from "../core/dom.js";

export const TOLD = 3; // strongest ones named in a sentence
const STEPS = 64;
/** @type {Record<string, string>} */ const CURVED = { log: ", logarithmic", sqrt: ", square root" };
/** @type {Rgb} */
const TINT = [255, 59, 20]; // a red that pictures seldom have, light or dark

export const ROW = {
  unit: "share of the query's total",
  says: "The weight by which this head mixes each key's value into the query token's output; not how long that value is, nor why the model answers as it does.",
};

export const COLUMN = {
  unit: "share of each query's own total",
  says: "The weight that every query gives this key. Each weight is a share of its own query's total, so a column has no fixed sum.",
};

/** The page's scale for one row or column. @type {(name: string, values: Float32Array, shared?: number | null) => Scale} */
export const scaleOf = (name, values, shared = null) =>
  makeScale(name === "row" ? "head" : name, largest(values), shared, values);

/** The scale in words: its ends, and what lies beyond them. @type {(scale: Scale, unit: string, values: Values) => string} */
export function scaleText(scale, unit, values) {
  const beyond =
    largest(values) > scale.high * 1.0001 ? `; larger ones, up to ${number(largest(values))}, are clipped` : "";
  return `${unit}${CURVED[scale.name] ?? ""}${beyond}`;
}

// What lies on a patch: one color, the more opaque the larger the weight, whatever the picture and the
// page are; of numbers with a sign, their own colors. Red, green, blue and opacity, each 0 … 255; a masked patch has the color of masked cells.
/** @type {(value: number, scale: Scale, opacity: number) => [number, number, number, number]} */
export function tintOf(value, scale, opacity) {
  if (scale.name === SIGNED) {
    const amount = Math.abs(value) / scale.high || 0;
    return [...shade(value, scale), Math.round(255 * opacity * (0.2 + 0.8 * Math.sqrt(amount)))];
  }
  if (Number.isNaN(value)) return [...theme().masked, Math.round(255 * 0.66 * opacity)];
  return [...TINT, Math.round(255 * opacity * Math.min(1, Math.max(0, value > 0 ? scale.share(value) : 0)))];
}

/** CSS gradients of the scale: as the words show it, and as a tint lies on a picture.
 * @type {(to: string, scale: Scale, colors?: Colors) => string} */
export function gradient(to, scale, colors = theme(scale)) {
  return ramped(to, (share) => rgbText(shade(scale.at(share), scale, colors)));
}

/** A scale's colors as a bar within a line. @type {(scale: Scale, background?: string) => HTMLElement} */
export const scaleBar = (scale, background = gradient("right", scale)) =>
  el("i", { class: "viz-stat-bar", style: `background: ${background}` });

/** A colored square before its words; by its color or its style. @type {(words: string, square: Rgb | string) => HTMLElement} */
export function swatch(words, square) {
  const style = typeof square === "string" ? square : `background: ${rgbText(square)}`;
  return el("span", {}, el("i", { class: "viz-swatch", style }), words);
}

/** @type {(to: string, scale: Scale, opacity: number) => string} */
export function tintGradient(to, scale, opacity) {
  return ramped(to, (share) => {
    const [red, green, blue, alpha] = tintOf(scale.at(share), scale, opacity);
    return `rgb(${red} ${green} ${blue} / ${(alpha / 255).toFixed(3)})`;
  });
}

/** @type {(to: string, color: (share: number) => string) => string} */
const ramped = (to, color) =>
  `linear-gradient(to ${to}, ${Array.from({ length: 17 }, (_, step) => color(step / 16)).join(", ")})`;

/** @typedef {readonly [background: string, ink: string]} Pair */
/** @type {WeakMap<Rgb, Pair>} */
const pairs = new WeakMap();

// The background of a value and the ink on it, the same pair for the same color. In so many steps
// that no eye sees them, and few enough that most chips keep their color from row to row.
/** @type {(value: number, scale: Scale, colors: Colors) => Pair} */
export function pairOf(value, scale, colors) {
  const share = Math.min(1, Math.max(0, scale.share(value)));
  const step = Math.round(Math.round(share * (STEPS - 1)) * ((colors.ramp.length - 1) / (STEPS - 1)));
  const color = Number.isNaN(value) ? colors.masked : value === 0 ? colors.zero : colors.ramp[step];
  const pair = pairs.get(color) ?? /** @type {Pair} */ ([rgbText(color), inkOn(color)]);
  pairs.set(color, pair);
  return pair;
}

/** The places of all values above 0, the largest first. @type {(values: Values) => number[]} */
export const descending = (values) =>
  Array.from(values, (_, at) => at)
    .filter((at) => values[at] > 0)
    .sort((a, b) => values[b] - values[a]);

// The fewest values, largest first, that together hold a share of the sum (as the script of DINO
// keeps them, Caron et al., 2021). Gives which are kept, how many, and what they hold.
/** @typedef {{ kept: Uint8Array, count: number, held: number, whole: number }} Strongest */
/** @type {(values: Float32Array, share: number) => Strongest} */
export function strongestOf(values, share) {
  const order = descending(values);
  const whole = order.reduce((sum, at) => sum + values[at], 0);
  const kept = new Uint8Array(values.length);
  let [sum, count] = [0, 0];
  for (const at of order) {
    if (sum >= share * whole) break;
    sum += values[at];
    kept[at] = 1;
    count++;
  }
  return { kept, count, held: sum, whole };
}
