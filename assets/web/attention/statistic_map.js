// One statistic of every head as a small second map with its scale, and the heads that have most of it.

import { amount, el } from "../core/dom.js";
import { makeScale, rgbText, shade, theme } from "../core/colors.js";
import { measure } from "./head_statistics.js";
import { rank } from "./head_order.js";
import { Reference } from "./reference.js";
import { headsOf } from "../core/selection.js";

const LISTED = 6;

export class StatisticMap {
  constructor(selection, measures, order) {
    Object.assign(this, { selection, measures, order });
    this.title = el("h3", {});
    this.what = el("p", { class: "viz-caption" });
    this.cells = el("div", { class: "viz-stat-cells", "aria-hidden": "true" });
    this.scale = el("p", { class: "viz-caption viz-stat-scale" });
    this.list = el("div", { class: "viz-stat-list", role: "group", "aria-label": "Heads by this statistic" });
    this.reference = new Reference(measures, order);
    this.node = el(
      "section",
      { class: "viz-statistic", "aria-label": "One statistic of all heads" },
      el("div", { class: "viz-stat-heading" }, this.title, this.what),
      this.cells,
      this.scale,
      this.list,
      this.reference.node,
    );
    this.cells.addEventListener("click", ({ target }) => target.dataset.stat && this.#select(target.dataset.stat));
    order.on(() => this.#update());
    selection.on((changed) => (changed.has("layer") || changed.has("head")) && this.#mark());
  }

  // The atlas has had all layers computed; what is left is to say that they are painted.
  async show(run) {
    this.draw();
    this.node.dataset.painted = run.key;
  }

  // Draw again only what a new layer, order or search has changed: there may be thousands of heads.
  #update() {
    const { order, measures } = this;
    const drawn = [measures.run.key, order.statistic, order.lowest, measures.complete(order.statistic)].join();
    if (drawn !== this.drawn || order.matched !== this.matched) this.draw();
    Object.assign(this, { drawn, matched: order.matched });
  }

  // Empty cells hold the place until all layers are known.
  draw() {
    if (!this.measures.run) return;
    const { statistic } = this.order;
    const { title, unit, meaning, edge = "" } = measure(statistic);
    const complete = this.measures.complete(statistic);
    const heads = this.measures.heads(statistic);
    const known = complete ? heads.filter(({ value }) => value != null) : [];
    const highest = known.reduce((most, { value }) => Math.max(most, value), 0);
    this.title.textContent = `${title}, by head`;
    this.what.textContent =
      `${meaning[0].toUpperCase()}${meaning.slice(1)}. ${statistic.endsWith("largest") ? "The largest of all real queries." : "Mean over the real queries."} ${edge}`.trim();
    this.#map(heads, complete ? makeScale("head", highest) : null, unit);
    this.#legend(complete ? `${amount(highest, 2)} ${unit}` : "…", complete && known.length < heads.length);
    this.#rank(known);
    this.#mark();
  }

  // Rows of layers and columns of heads, each axis with its numbers.
  #map(heads, scale, unit) {
    const { nLayers, nHeads } = this.measures.run;
    const axis = (text, style) => el("span", { class: "viz-stat-axis", style }, text);
    const across = Math.ceil(nHeads / 12);
    const numbers = Array.from({ length: nHeads }, (_, head) =>
      axis(head % across ? "" : head, `grid-area: 2 / ${head + 3}`),
    );
    const rows = Array.from({ length: nLayers }, (_, layer) => axis(layer, `grid-area: ${layer + 3} / 2`));
    const titles = [
      axis("Head", "grid-area: 1 / 3 / auto / -1"),
      axis("Layer", `grid-area: 3 / 1 / span ${nLayers} / auto; writing-mode: sideways-lr`),
    ];
    this.cells.style.gridTemplateColumns = `14px 18px repeat(${nHeads}, minmax(0, 62px))`;
    this.cells.replaceChildren(...titles, ...numbers, ...rows, ...heads.map((one) => this.#cell(one, scale, unit)));
  }

  #cell({ layer, head, name, value }, scale, unit) {
    const said = value == null ? "not known" : `${amount(value, 3)} ${unit}`;
    const cell = el("i", { class: "viz-stat-cell", title: `Layer ${layer}, head ${head}: ${said}`, "data-stat": name });
    cell.style.gridArea = `${layer + 3} / ${head + 3}`;
    if (scale) cell.style.background = rgbText(shade(value ?? NaN, scale));
    cell.classList.toggle("viz-out", this.order.matched !== null && !this.order.matched.has(name));
    return cell;
  }

  #legend(highest, unknown) {
    const { ramp, masked } = theme();
    const stops = [0, 64, 128, 192, 255].map((step) => rgbText(ramp[step])).join(", ");
    const bar = el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` });
    const swatch = unknown
      ? [el("i", { class: "viz-swatch", style: `background: ${rgbText(masked)}` }), "not known"]
      : [];
    this.scale.replaceChildren("0", bar, highest, ...swatch);
  }

  #rank(known) {
    const order = rank(known, this.order.lowest).slice(0, LISTED);
    this.list.replaceChildren(
      this.order.lowest ? "Lowest:" : "Highest:",
      ...order.map(({ name, value }) =>
        el(
          "button",
          { type: "button", class: "viz-small", "data-ranked": name, onclick: () => this.#select(name) },
          `${name}  ${amount(value, 2)}`,
        ),
      ),
    );
  }

  #select(name) {
    const [layer, head] = name.split(".").map(Number);
    this.selection.set({ layer, head });
  }

  #mark() {
    const { layer, head } = this.selection;
    const names = new Set(headsOf(head).map((one) => `${layer}.${one}`));
    for (const cell of this.cells.children) cell.classList.toggle("viz-chosen", names.has(cell.dataset.stat));
    for (const button of this.list.children)
      button.setAttribute("aria-pressed", String(names.has(button.dataset.ranked)));
  }
}
