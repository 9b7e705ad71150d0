// The color scale with its units, and the colors that stand outside it.

import { el, fit, css, number } from "../core/dom.js";
import { rgbText, theme } from "../core/colors.js";

const SHARE = "Attention weight, share of the query's total";
const SAYS = {
  head: `${SHARE} (linear, up to this map's largest weight)`,
  row: "Attention weight ÷ the largest weight of its row (linear, each row up to its own largest)",
  layer: `${SHARE} (linear, up to the largest weight of this layer's heads)`,
  all: `${SHARE} (linear, up to the largest weight of all heads)`,
  shared: `${SHARE} (linear, 0 to 1 for every head)`,
  log: `${SHARE} (logarithmic, the same for every head)`,
};
export const TICKS = 5;

export class Legend {
  constructor() {
    this.canvas = el("canvas", { role: "img" });
    this.title = el("span", { class: "viz-legend-title" });
    this.swatches = el("span", { class: "viz-swatches" });
    this.node = el("div", { class: "viz-legend" }, this.title, this.canvas, this.swatches);
  }

  // `most` is the largest weight that is drawn, in the scale's own unit.
  draw(scale, hasMasked, most) {
    const colors = theme();
    const width = 230;
    const context = fit(this.canvas, width, 30);
    const [left, right] = [14, width - 22];
    for (let x = left; x < right; x++) {
      const step = Math.round(((x - left) / (right - left - 1)) * (colors.ramp.length - 1));
      context.fillStyle = rgbText(colors.ramp[step]);
      context.fillRect(x, 0, 1, 12);
    }
    context.fillStyle = css("--body-text-color");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    for (let at = 0; at < TICKS; at++) {
      const share = at / (TICKS - 1);
      context.fillText(tick(scale, share), left + share * (right - left), 26);
    }
    this.title.textContent = sentence(scale, most);
    this.canvas.setAttribute("aria-label", `Color scale from ${number(scale.low)} to ${number(scale.high)}`);
    const outside = [["exactly 0", colors.zero], ...(hasMasked ? [["masked", colors.masked]] : [])];
    this.swatches.replaceChildren(...outside.map(([name, color]) => swatch(name, color)));
  }
}

// The text of a tick at a share of the scale's length.
export function tick(scale, share) {
  const value = scale.at(share);
  return scale.name === "log" ? `10${superscript(Math.round(Math.log10(value)))}` : short(value);
}

// What the colors mean, in units.
export function sentence(scale, most) {
  if (scale.waiting) return `${SHARE} (linear, 0 to 1 until the heads are computed)`;
  const beyond = most > scale.high * 1.0001 ? "; larger weights, up to " + short(most) + ", have the last color" : "";
  return SAYS[scale.name] + beyond;
}

const superscript = (exponent) => String(exponent).replace(/./g, (c) => ({ "-": "⁻" })[c] ?? "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]);
export const short = (value) => (value === 0 ? "0" : value >= 0.1 ? value.toFixed(2) : value.toPrecision(2));

function swatch(name, color) {
  const box = el("i", { class: "viz-swatch" });
  box.style.background = rgbText(color);
  return el("span", {}, box, name);
}
