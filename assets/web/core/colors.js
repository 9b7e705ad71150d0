// Weights to colors: one ramp whose lightness never turns, and own colors for zero and masked.

import { context2d, isDark } from "./dom.js";

/** @typedef {[number, number, number]} Rgb */
/** @typedef {{ ramp: Rgb[], packed: Uint32Array, masked: Rgb, zero: Rgb }} Colors */
/** @typedef {{ name: string, low: number, high: number, waiting?: boolean, linear?: boolean,
 *   share: (value: number) => number, at: (share: number) => number }} Scale */
/** @typedef {ArrayLike<number>} Values NaN = masked */

// Dark to light, after seaborn's "mako"; reversed on a light page, where it ends in white.
const STOPS = [
  "#0b0405",
  "#28192f",
  "#3b2f5e",
  "#40498e",
  "#366a9f",
  "#348ba6",
  "#38aaac",
  "#54c9ad",
  "#a0dfb9",
  "#def5e5",
];
export const SIGNED = "signed"; // from −largest by 0 to largest
export const CHANGE = "change"; // the same by the square root of the amount, so that small changes show
const LOG_FLOOR = 1e-4;
const BETWEEN = [0.01, 0.99]; // the shares of the weights that the scale by percentiles leaves out, below and above
const STEPS = 256;

/** @type {(hex: string) => Rgb} */
export const rgb = (hex) => [
  parseInt(hex.slice(1, 3), 16),
  parseInt(hex.slice(3, 5), 16),
  parseInt(hex.slice(5, 7), 16),
];
export const pack = (/** @type {Rgb} */ [r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;

/** A color between two. @type {(from: Rgb, to: Rgb, share: number) => Rgb} */
export const mixed = (from, to, share) =>
  /** @type {Rgb} */ (from.map((part, i) => Math.round(part + share * (to[i] - part))));

/** @type {(stops: Rgb[], masked: Rgb, zero: Rgb) => Colors} */
function themed(stops, masked, zero) {
  const ramp = Array.from({ length: STEPS }, (_, step) => {
    const place = (step / (STEPS - 1)) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    return mixed(stops[low], stops[low + 1], place - low);
  });
  return { ramp, packed: Uint32Array.from(ramp, pack), masked, zero };
}

const [LIGHT, DARK] = [rgb("#d8cfc4"), rgb("#57493c")]; // of masked cells
const THEMES = {
  light: themed(["#fafdfb", ...STOPS.toReversed()].map(rgb), LIGHT, rgb("#ffffff")),
  dark: themed(STOPS.map(rgb), DARK, rgb("#000000")),
};
// Of numbers from −1 by 0 to 1; on a dark page 0 is dark, so that what is strong is bright.
const SIGNED_STOPS = {
  light: ["#2b5c9e", "#8fb8de", "#f6f6f4", "#eba57f", "#a8321f"].map(rgb),
  dark: ["#92bef0", "#3e689e", "#1c2028", "#a04e34", "#ffa882"].map(rgb),
};
const SIGNED_THEMES = {
  light: themed(SIGNED_STOPS.light, LIGHT, SIGNED_STOPS.light[2]),
  dark: themed(SIGNED_STOPS.dark, DARK, SIGNED_STOPS.dark[2]),
};

const kind = () => (isDark() ? "dark" : "light");

/** The colors of a scale, on the page as it is now or on paper.
 * @type {(scale?: { name: string } | null, on?: "light" | "dark") => Colors} */
export const theme = (scale = null, on = kind()) =>
  (scale && [SIGNED, CHANGE].includes(scale.name) ? SIGNED_THEMES : THEMES)[on];
export const paper = (/** @type {Scale | null} */ scale = null) => theme(scale, "light");
/** @type {(on?: "light" | "dark") => Rgb[]} */
export const signedStops = (on = kind()) => SIGNED_STOPS[on];
export const rgbText = (/** @type {Rgb} */ [r, g, b]) => `rgb(${r} ${g} ${b})`;

/** A change as the colors take it: by the square root of its amount. @type {(share: number) => number} */
export const rooted = (share) => Math.sign(share) * Math.sqrt(Math.abs(share));

// What one scale does: `share` maps a weight to 0…1, or beyond, where it is clipped; `at` maps back for the
// legend's ticks. `shared` is the largest weight of this layer's or of all heads, null until it is known: then
// colors go up to 1. Per row, the values are those of `byRow`. `values` are what percentiles are of.
/** @type {(name: string, largest: number, shared?: number | null, values?: Float32Array | null) => Scale} */
export function makeScale(name, largest, shared = null, values = null) {
  const most = largest || 1;
  const ends = { name, low: -most, high: most };
  if (name === SIGNED)
    return { ...ends, linear: true, share: (value) => (value / most + 1) / 2, at: (share) => (2 * share - 1) * most };
  if (name === CHANGE) {
    const share = (/** @type {number} */ value) => (rooted(value / most) + 1) / 2;
    return { ...ends, share, at: (share) => (2 * share - 1) * Math.abs(2 * share - 1) * most };
  }
  if (name === "log") {
    const span = -Math.log(LOG_FLOOR);
    return {
      name,
      low: LOG_FLOOR,
      high: 1,
      share: (value) => 1 + Math.log(Math.max(value, LOG_FLOOR)) / span,
      at: (share) => Math.exp((share - 1) * span),
    };
  }
  if (name === "percentile" && values) {
    const [low, high] = percentiles(values);
    const span = high - low;
    const share = (/** @type {number} */ value) => (value - low) / span;
    if (span > 0) return { name, low, high, linear: true, share, at: (share) => low + share * span };
  }
  if (name === "sqrt")
    return { ...ends, low: 0, share: (value) => Math.sqrt(value / most), at: (share) => share * share * most };
  const together = name === "layer" || name === "all";
  const high = name === "shared" ? 1 : (together ? shared : largest) || 1;
  const waiting = together && shared === null;
  return { name, low: 0, high, waiting, linear: true, share: (value) => value / high, at: (share) => share * high };
}

/** @type {WeakMap<Float32Array, [low: number, high: number]>} */
const known = new WeakMap();

/** The 1st and the 99th percentile of the weights above 0, between two of them linearly.
 * @type {(values: Float32Array) => [low: number, high: number]} */
export function percentiles(values) {
  const before = known.get(values);
  if (before) return before;
  const sorted = values.filter((value) => value > 0).sort();
  const [low, high] = BETWEEN.map((share) => {
    const place = share * Math.max(0, sorted.length - 1);
    const from = Math.floor(place);
    const [below = 0, above = below] = sorted.subarray(from, from + 2);
    return below + (place - from) * (above - below);
  });
  known.set(values, [low, high]);
  return [low, high];
}

// Each weight as a share of its row's largest; `tops` has one for each row of cells.
/** @type {(values: Float32Array, width: number, tops: Values) => Float32Array} */
export function byRow(values, width, tops) {
  return values.map((value, at) => (value > 0 ? value / tops[Math.floor(at / width)] : value));
}

/** The largest weight of each row that is not masked. @type {(values: Values, width: number) => Float32Array} */
export function topsOf(values, width) {
  const tops = new Float32Array(width ? values.length / width : 0);
  for (let row = 0; row < tops.length; row++) tops[row] = largest(values, row * width, (row + 1) * width);
  return tops;
}

/** The largest amount of numbers with a sign, but NaN. @type {(values: Float32Array) => number} */
export function largestAmount(values) {
  let found = 0;
  for (let at = 0; at < values.length; at++) if (Math.abs(values[at]) > found) found = Math.abs(values[at]);
  return found;
}

/** Where the largest amount of numbers is; -1 of none but 0 and NaN. @type {(values: ArrayLike<number>) => number} */
export function strongestAt(values) {
  let found = -1;
  for (let at = 0; at < values.length; at++)
    if (Math.abs(values[at]) > (found < 0 ? 0 : Math.abs(values[found]))) found = at;
  return found;
}

// The largest weight that is not masked. Counted loops here and below: a map has 512² cells and a
// frame 17 milliseconds.
export function largest(/** @type {Values} */ values, from = 0, to = values.length) {
  let found = 0;
  for (let at = from; at < to; at++) if (values[at] > found) found = values[at];
  return found;
}

export function anyMasked(/** @type {Values} */ values) {
  for (let at = 0; at < values.length; at++) if (Number.isNaN(values[at])) return true;
  return false;
}

/** Packed pixels for a block of weights. @type {(values: Values, scale: Scale, colors?: Colors) => Uint32Array<ArrayBuffer>} */
export function pixels(values, scale, colors = theme(scale)) {
  const { packed } = colors;
  const masked = pack(colors.masked);
  const zero = pack(colors.zero);
  const out = new Uint32Array(values.length);
  const last = STEPS - 1;
  const { low, high, linear } = scale;
  const span = high - low;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (Number.isNaN(value)) out[i] = masked;
    else if (value === 0) out[i] = zero;
    else {
      const step = (linear ? (value - low) / span : scale.share(value)) * last; // a call a cell takes twice as long
      out[i] = packed[step > last ? last : step > 0 ? (step + 0.5) | 0 : 0];
    }
  }
  return out;
}

/** A canvas of packed pixels, to be drawn at any size.
 * @type {(packed: Uint32Array<ArrayBuffer>, height: number, width: number) => HTMLCanvasElement} */
export function pixelCanvas(packed, height, width) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  context2d(canvas).putImageData(new ImageData(new Uint8ClampedArray(packed.buffer), width, height), 0, 0);
  return canvas;
}

/** Weights with a pixel a cell. @type {(values: Values, height: number, width: number, scale: Scale, colors?: Colors) => HTMLCanvasElement} */
export const picture = (values, height, width, scale, colors = theme(scale)) =>
  pixelCanvas(pixels(values, scale, colors), height, width);

/** The color of one weight. @type {(value: number, scale: Scale, colors?: Colors) => Rgb} */
export function shade(value, scale, colors = theme(scale)) {
  if (Number.isNaN(value)) return colors.masked;
  if (value === 0) return colors.zero;
  return colors.ramp[Math.min(STEPS - 1, Math.max(0, Math.round(scale.share(value) * (STEPS - 1))))];
}

/** A function from a number from −1 to 1 to its color, for the theme as it is now; null and NaN have that of masked.
 * @returns {(value: number | null) => Rgb} */
export function signedColors() {
  const scale = makeScale(SIGNED, 1);
  const colors = theme(scale);
  return (value) => shade(value ?? NaN, scale, colors);
}

// Black or white, whichever stands out more: at least 4.58 : 1 on any color (WCAG 2.2, 1.4.3).
export const inkOn = (/** @type {Rgb} */ color) =>
  (luminance(color) + 0.05) ** 2 > 0.05 * 1.05 ? "#000000" : "#ffffff";

function luminance(/** @type {Rgb} */ color) {
  const [r, g, b] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Fewer cells by the number of the largest amount of each block, with its sign, so that a single spike is never lost.
 * @template {Values} Given
 * @param {Given} values @param {number} height @param {number} width @param {number} toHeight @param {number} toWidth
 * @returns {{ values: Given | Float32Array, height: number, width: number }} */
export function shrink(values, height, width, toHeight, toWidth) {
  if (height <= toHeight && width <= toWidth) return { values, height, width };
  const h = Math.min(height, toHeight);
  const w = Math.min(width, toWidth);
  const out = new Float32Array(h * w).fill(NaN);
  const columns = Int32Array.from({ length: width }, (_, col) => Math.floor((col * w) / width));
  for (let row = 0; row < height; row++) {
    const [from, to] = [row * width, Math.floor((row * h) / height) * w];
    for (let col = 0; col < width; col++) {
      const value = values[from + col];
      const at = to + columns[col];
      if (!(Math.abs(out[at]) >= Math.abs(value)) && !Number.isNaN(value)) out[at] = value;
    }
  }
  return { values: out, height: h, width: w };
}
