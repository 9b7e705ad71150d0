// One statistic of every head as a small second map with its scale, and the heads that have most of it.

import { amount, el } from "./dom.js";
import { makeScale, rgbText, shade, theme } from "./colors.js";

const STATISTICS = {
  entropy: ["Entropy", "nats", "how evenly each query spreads its weight"],
  distance: ["Mean distance", "tokens", "how far away the keys are, weighted"],
  previous: ["On the previous token", "share", "heads that look at the previous token"],
  next: ["On the next token", "share", "heads that look at the next token"],
  diagonal: ["On the query itself", "share", "heads that look at the same token"],
  first: ["On the first token", "share", "heads that look at the first token"],
  special: ["On special tokens", "share", "heads that look at special tokens"],
  largest: ["Largest single weight", "share", "heads with one weight that stands out"],
};
const LISTED = 6;

export class StatisticMap {
  constructor(selection) {
    this.selection = selection;
    this.choice = el("select", { id: "viz-statistic", onchange: () => this.draw() },
      ...Object.entries(STATISTICS).map(([name, [title]]) => el("option", { value: name }, title)));
    this.least = el("input", { type: "checkbox", onchange: () => this.draw() });
    this.what = el("p", { class: "viz-caption" });
    this.cells = el("div", { class: "viz-stat-cells", "aria-hidden": "true" });
    this.scale = el("p", { class: "viz-caption viz-stat-scale" });
    this.list = el("div", { class: "viz-stat-list", role: "group", "aria-label": "Heads by this statistic" });
    this.node = el("section", { class: "viz-statistic", "aria-label": "One statistic of all heads", hidden: true },
      el("h3", {}, "Heads by a statistic"),
      el("div", { class: "viz-controls" },
        el("label", { class: "viz-control" }, "Statistic", this.choice),
        el("label", { class: "viz-control viz-check" }, this.least, "Lowest first")),
      this.what, this.cells, this.scale, this.list);
    selection.on((changed) => (changed.has("layer") || changed.has("head")) && this.#mark());
  }

  // All layers, as the atlas has just asked for them, so nothing is computed twice.
  async show(run) {
    this.run = run;
    this.node.hidden = true;
    const layers = await Promise.all(Array.from({ length: run.nLayers }, (_, layer) => run.statistics(layer)));
    if (this.run !== run) return;
    this.layers = layers;
    this.node.hidden = false;
    this.draw();
    this.node.dataset.painted = run.key;
  }

  draw() {
    if (!this.layers) return;
    const name = this.choice.value;
    const [title, unit, meaning] = STATISTICS[name];
    const heads = this.layers.flatMap((known, layer) => known[name].map((value, head) => ({ layer, head, value })));
    const known = heads.filter(({ value }) => value !== null);
    const highest = Math.max(...known.map(({ value }) => value), 0);
    const scale = makeScale("head", highest);
    this.what.textContent = `${title}: ${meaning}. Mean over the real queries${name === "largest" ? ", here the largest of all" : ""}.`;
    this.cells.style.gridTemplateColumns = `repeat(${this.run.nHeads}, minmax(6px, 22px))`;
    this.cells.replaceChildren(...heads.map((one) => this.#cell(one, scale, unit)));
    const { ramp } = theme();
    const stops = [0, 64, 128, 192, 255].map((step) => rgbText(ramp[step])).join(", ");
    const bar = el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` });
    this.scale.replaceChildren("0 ", bar, ` ${amount(highest, 2)} ${unit} (rows = layers, columns = heads)`);
    const order = known.toSorted((a, b) => (this.least.checked ? a.value - b.value : b.value - a.value));
    this.list.replaceChildren(...order.slice(0, LISTED).map(({ layer, head, value }) =>
      el("button", { type: "button", class: "viz-small", "data-ranked": `${layer}.${head}`, onclick: () => this.selection.set({ layer, head }) },
        `${layer}.${head}  ${amount(value, 2)}`)));
    this.#mark();
  }

  #cell({ layer, head, value }, scale, unit) {
    const said = value === null ? "not known" : `${amount(value, 3)} ${unit}`;
    const cell = el("i", {
      class: "viz-stat-cell", title: `Layer ${layer}, head ${head}: ${said}`, "data-stat": `${layer}.${head}`,
      onclick: () => this.selection.set({ layer, head }),
    });
    cell.style.background = rgbText(shade(value === null ? NaN : value, scale));
    return cell;
  }

  #mark() {
    const { layer, head } = this.selection;
    for (const cell of this.cells.children) cell.classList.toggle("viz-chosen", cell.dataset.stat === `${layer}.${head}`);
    for (const button of this.list.children) button.setAttribute("aria-pressed", String(button.dataset.ranked === `${layer}.${head}`));
  }
}
