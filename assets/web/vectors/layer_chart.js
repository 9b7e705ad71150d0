// A chart of lines over layers or steps, in SVG: axes with titles, the chosen one, and its values in words.

import { el, onWidth, svg } from "../core/dom.js";
import { layerNear, layerPlace, roundEnds, roundStep, TICKS } from "../views/scales.js";

/** @typedef {{ name: string, values: number[], hue: string }} Line a value a layer, NaN where it is not defined */
/** @typedef {{ lines: Line[], at: number, low: number | null, high: number | null }} Shown */
/** @typedef {(value: number) => number} Along to a place on the screen */
/** @typedef {{ xTitle: string, yTitle: string, choose: (layer: number) => unknown }} Axes `choose` gets the layer of a click */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [170, 58, 12, 8, 38];
const LABEL = 26; // pixels for a layer's number
const DOTTED = 60; // values of a line, up to which each has a dot

export class LineChart {
  drawing = svg("svg", { class: "viz-hidden-chart", role: "img", height: HEIGHT });
  legend = el("ul", { class: "viz-hidden-legend" });
  /** @type {Shown | null} */
  shown = null;
  layers = { count: 0, left: LEFT, right: LEFT };

  constructor(/** @type {string} */ title, /** @type {Axes} */ axes) {
    this.title = title;
    this.axes = axes;
    this.drawing.addEventListener("click", (event) => this.#clicked(event));
    this.node = el("div", { class: "viz-hidden-lines" }, el("h4", {}, title), this.drawing, this.legend);
    onWidth(this.node, () => requestAnimationFrame(() => this.#draw()));
  }

  /** `at` is the layer that is marked; the axis reaches from `low` to `high` at least.
   * @type {(lines: Line[], at: number, low?: number | null, high?: number | null) => void} */
  show(lines, at, low = null, high = null) {
    this.shown = { lines, at, low, high };
    this.#draw();
  }

  #draw() {
    const width = this.node.clientWidth;
    if (!width || !this.shown) return;
    const { lines, at } = this.shown;
    const { length: count } = lines[0].values;
    this.layers = { count, left: LEFT, right: width - RIGHT };
    const values = lines.flatMap((line) => line.values).filter(Number.isFinite);
    const [low, high] = roundEnds(this.shown.low ?? Math.min(0, ...values), this.shown.high ?? Math.max(...values, 0));
    const x = (/** @type {number} */ layer) => layerPlace(layer, this.layers);
    const y = (/** @type {number} */ value) =>
      HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    const now = { class: "viz-hidden-now", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM };
    const said = lines.map((line) => `${line.name} ${digits(line.values[at])}`);
    this.drawing.setAttribute("width", String(width));
    this.drawing.setAttribute("aria-label", `${this.title}. ${said.join(", ")}`);
    this.drawing.replaceChildren(
      ...this.#axes(x, y, low, high),
      ...(at < count && at >= 0 ? [svg("line", now)] : []),
      ...lines.flatMap((line) => curve(line, x, y, at)),
    );
    const key = (/** @type {Line} */ { hue, name, values: each }) => {
      const line = el("i", { class: "viz-hidden-key", style: `color: ${hue}` });
      return el("li", {}, line, `${name}: `, el("strong", {}, digits(each[at])));
    };
    this.legend.replaceChildren(...lines.map(key));
  }

  /** @type {(x: Along, y: Along, low: number, high: number) => SVGElement[]} */
  #axes(x, y, low, high) {
    const { count, right } = this.layers;
    const every = Math.max(1, roundStep(count / Math.max(2, Math.floor((right - LEFT) / LABEL))));
    const layers = Array.from({ length: Math.ceil(count / every) }, (_, at) => at * every);
    const levels = Array.from({ length: TICKS + 1 }, (_, step) => low + (step / TICKS) * (high - low));
    const middle = (TOP + HEIGHT - BOTTOM) / 2;
    /** @type {(text: string, left: number, top: number, anchor?: string, more?: Record<string, string>) => SVGElement} */
    const write = (text, left, top, anchor = "middle", more = {}) =>
      svg("text", { x: left, y: top, "text-anchor": anchor, ...more }, text);
    return [
      ...levels.flatMap((level) => [
        svg("line", { class: "viz-hidden-grid", x1: LEFT, x2: right, y1: y(level), y2: y(level) }),
        write(digits(level), LEFT - 6, y(level) + 3.5, "end"),
      ]),
      ...layers.map((layer) => write(String(layer), x(layer), HEIGHT - BOTTOM + 14)),
      write(this.axes.xTitle, (LEFT + right) / 2, HEIGHT - 6),
      write(this.axes.yTitle, 11, middle, "middle", { transform: `rotate(-90 11 ${middle})` }),
    ];
  }

  #clicked(/** @type {MouseEvent} */ event) {
    const at = event.clientX - this.drawing.getBoundingClientRect().left;
    if (this.layers.count) this.axes.choose(layerNear(at, this.layers));
  }
}

/** One line; it is broken where a value is not defined. @type {(line: Line, x: Along, y: Along, at: number) => SVGElement[]} */
function curve({ values, hue }, x, y, at) {
  const defined = (/** @type {number} */ layer) => Number.isFinite(values[layer]);
  const layers = values.map((_, layer) => layer).filter(defined);
  const path = layers.map((layer) => `${defined(layer - 1) ? "L" : "M"}${x(layer)},${y(values[layer])}`).join("");
  const dotted = layers.filter((layer) => values.length <= DOTTED || layer === at);
  const style = `color: ${hue}`;
  const dots = dotted.map((layer) => {
    const place = { cx: x(layer), cy: y(values[layer]), r: layer === at ? 4 : 2 };
    return svg("circle", { class: "viz-hidden-dot", style, ...place });
  });
  return [svg("path", { class: "viz-hidden-line", style, d: path }), ...dots];
}

/** A number as a chart says it: four digits, and a word where there is none. @param {number | null} value */
export const digits = (value) =>
  value == null || Number.isNaN(value)
    ? "not defined"
    : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-4)
      ? value.toExponential(2)
      : Number(value.toPrecision(4)).toString();
