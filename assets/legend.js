// The color scale with its units, and the colors that stand outside it.

import { el, fit, css, number } from "./dom.js";
import { rgbText, theme } from "./colors.js";

const SAYS = {
  head: "linear, up to this map's largest weight",
  shared: "linear, 0 to 1 for every head",
  log: "logarithmic, the same for every head",
};
const TICKS = 5;

export class Legend {
  constructor() {
    this.canvas = el("canvas", { role: "img" });
    this.title = el("span", { class: "viz-legend-title" });
    this.swatches = el("span", { class: "viz-swatches" });
    this.node = el("div", { class: "viz-legend" }, this.title, this.canvas, this.swatches);
  }

  draw(scale, hasMasked) {
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
    for (let tick = 0; tick < TICKS; tick++) {
      const share = tick / (TICKS - 1);
      const value = scale.at(share);
      const text = scale.name === "log" ? `10${superscript(Math.round(Math.log10(value)))}` : short(value);
      context.fillText(text, left + share * (right - left), 26);
    }
    this.title.textContent = `Attention weight, share of the query's total (${SAYS[scale.name]})`;
    this.canvas.setAttribute(
      "aria-label", `Color scale from ${number(scale.low)} to ${number(scale.high)}`,
    );
    const outside = [["exactly 0", colors.zero], ...(hasMasked ? [["masked", colors.masked]] : [])];
    this.swatches.replaceChildren(...outside.map(([name, color]) => swatch(name, color)));
  }
}

const superscript = (exponent) =>
  String(exponent).replace(/./g, (c) => ({ "-": "⁻" })[c] ?? "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]);
const short = (value) => (value === 0 ? "0" : value >= 0.1 ? value.toFixed(2) : value.toPrecision(2));

function swatch(name, color) {
  const box = el("i", { class: "viz-swatch" });
  box.style.background = rgbText(color);
  return el("span", {}, box, name);
}
