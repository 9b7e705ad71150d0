// Colors of numbers from −1 by 0 to 1; on a dark page 0 is dark, so that what is strong is bright.

import { isDark } from "./dom.js";

/** @type {{ stops: Rgb[], none: Rgb }} */
const LIGHT = {
  stops: [
    [43, 92, 158],
    [143, 184, 222],
    [246, 246, 244],
    [235, 165, 127],
    [168, 50, 31],
  ],
  none: [216, 207, 196],
};
/** @type {typeof LIGHT} */
const DARK = {
  stops: [
    [146, 190, 240],
    [62, 104, 158],
    [28, 32, 40],
    [160, 78, 52],
    [255, 168, 130],
  ],
  none: [87, 73, 60],
};
export const paperSigned = LIGHT;
const theme = () => (isDark() ? DARK : LIGHT);

export const signed = () => theme().stops;
export const noChange = () => theme().none;

/** A function from a number to its color, for the theme as it is now; null and NaN have their own.
 * @returns {(value: number | null) => Rgb} */
export function signedColors({ stops, none } = theme()) {
  return (value) => {
    if (value == null || Number.isNaN(value)) return none;
    const place = Math.min(3.9999, Math.max(0, (value + 1) * 2));
    const [from, to] = [stops[Math.floor(place)], stops[Math.floor(place) + 1]];
    const mixed = (/** @type {0 | 1 | 2} */ i) => Math.round(from[i] + (place % 1) * (to[i] - from[i]));
    return [mixed(0), mixed(1), mixed(2)];
  };
}

/** Fewer cells by the number of the largest amount of each block, with its sign.
 * @type {(values: Float32Array, height: number, width: number, toHeight: number, toWidth: number) =>
 *   { values: Float32Array, height: number, width: number }} */
export function shrinkSigned(values, height, width, toHeight, toWidth) {
  if (height <= toHeight && width <= toWidth) return { values, height, width };
  const [h, w] = [Math.min(height, toHeight), Math.min(width, toWidth)];
  const out = new Float32Array(h * w).fill(NaN);
  for (let row = 0; row < height; row++) {
    const to = Math.floor((row * h) / height) * w;
    for (let col = 0; col < width; col++) {
      const value = values[row * width + col];
      const at = to + Math.floor((col * w) / width);
      if (!(Math.abs(out[at]) >= Math.abs(value)) && !Number.isNaN(value)) out[at] = value;
    }
  }
  return { values: out, height: h, width: w };
}
