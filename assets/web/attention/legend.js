// The color scale with its units, and the colors that stand outside it.

import { rgbText, theme } from "../core/colors.js";
import { css, el, fit, number, rounded } from "../core/dom.js";

/** @import { Rgb, Scale, Vocabulary } from "./types.d.ts" */

export const TICKS = 5;
const [WIDTH, LEFT, RIGHT] = [230, 14, 208]; // of the canvas, and from where to where the ramp goes

export class Legend {
  canvas = el("canvas", { role: "img" });
  title = el("span", { class: "viz-legend-title" });
  swatches = el("span", { class: "viz-swatches" });
  node = el("div", { class: "viz-legend" }, this.title, this.canvas, this.swatches);

  /** `most` is the largest weight that is drawn, in the scale's own unit.
   * @type {(scale: Scale, scales: Vocabulary["scales"], hasMasked: boolean, most: number) => void} */
  draw(scale, scales, hasMasked, most) {
    const colors = theme();
    const context = fit(this.canvas, WIDTH, 30);
    for (let x = LEFT; x < RIGHT; x++) {
      const step = Math.round(((x - LEFT) / (RIGHT - LEFT - 1)) * (colors.ramp.length - 1));
      context.fillStyle = rgbText(colors.ramp[step]);
      context.fillRect(x, 0, 1, 12);
    }
    context.fillStyle = css("--body-text-color");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    for (const [share, text] of ticks(scale)) context.fillText(text, LEFT + share * (RIGHT - LEFT), 26);
    this.title.textContent = sentence(scale, scales, most);
    this.canvas.setAttribute("aria-label", `Color scale from ${number(scale.low)} to ${number(scale.high)}`);
    this.swatches.replaceChildren(...outside(colors, hasMasked).map(([name, color]) => swatch(name, color)));
  }
}

/** The ticks: their shares of the scale's length, and their texts. @type {(scale: Scale) => [number, string][]} */
export const ticks = (scale) =>
  Array.from({ length: TICKS }, (_, at) => {
    const share = at / (TICKS - 1);
    const value = scale.at(share);
    return [share, scale.name === "log" ? `10${superscript(Math.round(Math.log10(value)))}` : rounded(value)];
  });

/** What the colors mean, in units. @type {(scale: Scale, scales: Vocabulary["scales"], most: number) => string} */
export function sentence(scale, scales, most) {
  const { measures, says } = scales[scale.name];
  if (scale.waiting) return `${measures} (linear, 0 to 1 until the heads are computed)`;
  const beyond = most > scale.high * 1.0001 ? `; larger weights, up to ${rounded(most)}, are clipped` : "";
  return `${measures} (${says})${beyond}`;
}

/** The colors that are not of the scale. @type {(colors: { zero: Rgb, masked: Rgb }, hasMasked: boolean) => [string, Rgb][]} */
export const outside = ({ zero, masked }, hasMasked) => [
  ["exactly 0", zero],
  .../** @type {[string, Rgb][]} */ (hasMasked ? [["masked", masked]] : []),
];

const superscript = (/** @type {number} */ exponent) =>
  [...String(exponent)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("");

/** @type {(name: string, color: Rgb) => HTMLElement} */
export const swatch = (name, color) =>
  el("span", {}, el("i", { class: "viz-swatch", style: `background: ${rgbText(color)}` }), name);
