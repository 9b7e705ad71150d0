// A chart of lines over layers, in SVG: axes with titles, the current layer, and its values in words.

import { el } from "../core/dom.js";
import { digits } from "./results.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [170, 58, 12, 8, 38];
const TICKS = 4;

const svg = (tag, attributes = {}, ...children) => {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
};

export class LineChart {
  // `choose` gets the layer of a click; `title` names the chart, `xTitle` and `yTitle` its axes.
  constructor({ title, xTitle, yTitle, choose }) {
    Object.assign(this, { title, xTitle, yTitle, choose });
    this.drawing = svg("svg", { class: "viz-hidden-chart", role: "img", height: HEIGHT });
    this.drawing.addEventListener("click", (event) => this.#clicked(event));
    this.legend = el("ul", { class: "viz-hidden-legend" });
    this.node = el("div", { class: "viz-hidden-lines" }, el("h4", {}, title), this.drawing, this.legend);
    new ResizeObserver(
      () => this.lines && this.node.clientWidth !== this.width && requestAnimationFrame(() => this.#draw()),
    ).observe(this.node);
  }

  // `lines` are { name, values, kind }, a value a layer; `at` is the layer that is marked.
  show(lines, at, { low = null, high = null } = {}) {
    Object.assign(this, { lines, at, low, high });
    this.#draw();
  }

  #draw() {
    this.width = this.node.clientWidth;
    if (!this.width) return;
    const { lines, at } = this;
    const count = lines[0].values.length;
    const values = lines.flatMap(({ values: each }) => Array.from(each)).filter(Number.isFinite);
    const [low, high] = range(this.low ?? Math.min(0, ...values), this.high ?? Math.max(...values, 0));
    const x = (layer) => LEFT + (count > 1 ? layer / (count - 1) : 0.5) * (this.width - LEFT - RIGHT);
    const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
    Object.assign(this, { count, x });
    this.drawing.setAttribute("width", this.width);
    this.drawing.setAttribute("aria-label", `${this.title}. ${this.#sentence()}`);
    this.drawing.replaceChildren(
      ...this.#axes(x, y, low, high),
      ...(at < count && at >= 0
        ? [svg("line", { class: "viz-hidden-now", x1: x(at), x2: x(at), y1: TOP, y2: HEIGHT - BOTTOM })]
        : []),
      ...lines.flatMap((line) => curve(line, x, y, at)),
    );
    this.legend.replaceChildren(
      ...lines.map(({ name, kind, values: each }) =>
        el("li", {}, el("i", { class: `viz-hidden-key ${kind}` }), `${name}: `, el("strong", {}, digits(each[at]))),
      ),
    );
  }

  #sentence() {
    return this.lines.map(({ name, values }) => `${name} ${digits(values[this.at])}`).join(", ");
  }

  #axes(x, y, low, high) {
    const every = Math.ceil(this.count / Math.max(2, Math.floor((this.width - LEFT - RIGHT) / 26)));
    const layers = Array.from({ length: this.count }, (_, layer) => layer).filter((layer) => layer % every === 0);
    const levels = Array.from({ length: TICKS + 1 }, (_, step) => low + (step / TICKS) * (high - low));
    const middle = (TOP + HEIGHT - BOTTOM) / 2;
    return [
      ...levels.flatMap((level) => [
        svg("line", { class: "viz-hidden-grid", x1: LEFT, x2: this.width - RIGHT, y1: y(level), y2: y(level) }),
        svg("text", { x: LEFT - 6, y: y(level) + 3.5, "text-anchor": "end" }, digits(level)),
      ]),
      ...layers.map((layer) =>
        svg("text", { x: x(layer), y: HEIGHT - BOTTOM + 14, "text-anchor": "middle" }, String(layer)),
      ),
      svg("text", { x: (LEFT + this.width - RIGHT) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, this.xTitle),
      svg("text", { x: 11, y: middle, "text-anchor": "middle", transform: `rotate(-90 11 ${middle})` }, this.yTitle),
    ];
  }

  #clicked(event) {
    if (!this.count) return;
    const at = event.clientX - this.drawing.getBoundingClientRect().left;
    const layers = Array.from({ length: this.count }, (_, layer) => layer);
    this.choose(
      layers.reduce((best, layer) => (Math.abs(this.x(layer) - at) < Math.abs(this.x(best) - at) ? layer : best)),
    );
  }
}

// One line; it is broken where a value is not defined.
function curve({ values, kind }, x, y, at) {
  const points = Array.from(values, (value, layer) => (Number.isFinite(value) ? `${x(layer)},${y(value)}` : null));
  const path = points.map((point, i) => (point ? `${points[i - 1] ? "L" : "M"}${point}` : "")).join("");
  const dots = points.map((point, layer) =>
    point
      ? svg("circle", { class: `viz-hidden-dot ${kind}`, cx: x(layer), cy: y(values[layer]), r: layer === at ? 4 : 2 })
      : "",
  );
  return [svg("path", { class: `viz-hidden-line ${kind}`, d: path }), ...dots.filter(Boolean)];
}

// Ends that are round numbers.
function range(low, high) {
  if (!(high > low)) return [low, low + 1];
  const step = 10 ** Math.floor(Math.log10((high - low) / TICKS));
  const size =
    [1, 2, 2.5, 5, 10, 20].find((each) => Math.floor(low / (each * step)) * each * step + TICKS * each * step >= high) *
    step;
  const start = Math.floor(low / size) * size;
  return [start, start + TICKS * size];
}
