// Colors of numbers from −1 by 0 to 1; on a dark page 0 is dark, so that what is strong is bright.

import { mixed } from "./colors.js";
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
    return mixed(stops[Math.floor(place)], stops[Math.floor(place) + 1], place % 1);
  };
}
