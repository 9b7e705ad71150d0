// The color scale with its units, and the colors that stand outside it.

import { CHANGE, rgbText, theme } from "../core/colors.js";
import { css, el, fit, number, rounded } from "../core/dom.js";
import { swatch } from "../views/shading.js";

export const TICKS = 5;
const CLIPPED_TICKS = 3; // where the ends say that weights are clipped, there is room for no more
const [WIDTH, LEFT, RIGHT] = [230, 14, 208]; // canvas width, and the ends of the ramp

export class Legend {
  canvas = el("canvas", { role: "img" });
  title = el("span", { class: "viz-legend-title" });
  swatches = el("span", { class: "viz-swatches" });
  node = el("div", { class: "viz-legend" }, this.title, this.canvas, this.swatches);

  /** `most` is the largest weight that is drawn, in the scale's own unit.
   * @type {(scale: Scale, scales: Vocabulary["scales"], hasMasked: boolean, most: number,
   *   more?: { alone?: boolean, signed?: Signed | null }) => void} */
  draw(scale, scales, hasMasked, most, { alone = false, signed: shown = null } = {}) {
    const colors = theme(scale);
    const context = fit(this.canvas, WIDTH, 30);
    for (let x = LEFT; x < RIGHT; x++) {
      const share = (x - LEFT) / (RIGHT - LEFT - 1);
      context.fillStyle = rgbText(colors.ramp[Math.round(share * (colors.ramp.length - 1))]);
      context.fillRect(x, 0, 1, 12);
    }
    context.fillStyle = css("--body-text-color");
    context.font = "11px system-ui, sans-serif";
    for (const [share, text, align] of ticks(scale, most, shown)) {
      context.textAlign = align;
      context.fillText(text, align === "center" ? LEFT + share * (RIGHT - LEFT) : share * WIDTH, 26);
    }
    this.title.textContent = shown ? shown.legend : sentence(scale, scales, most);
    this.canvas.setAttribute("aria-label", `Color scale from ${number(scale.low)} to ${number(scale.high)}`);
    const beside = shown ? (hasMasked ? [[shown.words.empty, colors.masked]] : []) : outside(colors, hasMasked);
    const named = /** @type {[string, Rgb][]} */ (beside);
    this.swatches.replaceChildren(
      ...named.map(([name, color]) => swatch(name, color)),
      ...(alone && shown ? [hatched(shown.words.alone)] : []),
    );
  }
}

/** The ticks: their shares of the scale's length, their texts, which are true weights, and where each text stands by
 * its tick. Where weights are clipped, the ends say so, and have room for it.
 * @type {(scale: Scale, most?: number, shown?: Signed | null) => [share: number, text: string, align: "left" | "center" | "right"][]} */
export function ticks(scale, most = 0, shown = null) {
  const over = isOver(scale, most);
  const clipped = over || (scale.low > 0 && scale.name !== "log");
  const steps = clipped ? CLIPPED_TICKS : TICKS;
  return Array.from({ length: steps }, (_, at) => {
    const share = at / (steps - 1);
    const value = scale.at(share);
    if (scale.name === CHANGE)
      return [
        share,
        shown?.write ? shown.write(value) || (share === 0.5 ? "0" : "") : signedText(value), // only the middle is 0
        share === 0 ? "left" : share === 1 ? "right" : "center",
      ];
    if (scale.name === "log") return [share, `10${superscript(Math.round(Math.log10(value)))}`, "center"];
    if (clipped && !share) return [share, `${value > 0 ? "≤ " : ""}${rounded(value)}`, "left"];
    if (clipped && share === 1) return [share, `${over ? "≥ " : ""}${rounded(value)}`, "right"];
    return [share, rounded(value), "center"];
  });
}

const isOver = (/** @type {Scale} */ scale, /** @type {number} */ most) => most > scale.high * 1.0001;

/**
 * Meaning of the colors, with units.
 * @type {(scale: Scale, scales: Vocabulary["scales"], most: number) => string}
 */
export function sentence(scale, scales, most) {
  const { measures, says } = scales[scale.name];
  if (scale.waiting) return `${measures} (linear, 0 to 1 until the heads are computed)`;
  const beyond = isOver(scale, most) ? `; larger weights, up to ${rounded(most)}, are clipped` : "";
  return `${measures} (${says})${beyond}`;
}

/** The colors that are not of the scale. @type {(colors: { zero: Rgb, masked: Rgb }, hasMasked: boolean) => [string, Rgb][]} */
export const outside = ({ zero, masked }, hasMasked) => [
  ["exactly 0", zero],
  .../** @type {[string, Rgb][]} */ (hasMasked ? [["masked", masked]] : []),
];

const hatched = (/** @type {string} */ text) => el("span", {}, el("i", { class: "viz-swatch viz-hatched" }), text);

/** A number with its sign, "+0.32", "−0.32" or "0". @type {(value: number) => string} */
export const signedText = (value) => (value === 0 ? "0" : `${value < 0 ? "−" : "+"}${rounded(Math.abs(value))}`);

const superscript = (/** @type {number} */ exponent) =>
  [...String(exponent)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("");
