// Colors of numbers from −1 by 0 to 1; on a dark page 0 is dark, so that what is strong is bright.

import { isDark } from "./dom.js";

const STOPS = {
  light: [
    [43, 92, 158],
    [143, 184, 222],
    [246, 246, 244],
    [235, 165, 127],
    [168, 50, 31],
  ],
  dark: [
    [146, 190, 240],
    [62, 104, 158],
    [28, 32, 40],
    [160, 78, 52],
    [255, 168, 130],
  ],
};
const UNDEFINED = { light: [216, 207, 196], dark: [87, 73, 60] };
const theme = () => (isDark() ? "dark" : "light");

export const signed = () => STOPS[theme()];

// A function from a number to [red, green, blue], for the theme as it is now.
export function signedColors() {
  const [stops, none] = [signed(), UNDEFINED[theme()]];
  return (value) => {
    if (value == null || Number.isNaN(value)) return none;
    const place = Math.min(3.9999, Math.max(0, (value + 1) * 2));
    const [from, to] = [stops[Math.floor(place)], stops[Math.floor(place) + 1]];
    return from.map((part, i) => Math.round(part + (place % 1) * (to[i] - part)));
  };
}
