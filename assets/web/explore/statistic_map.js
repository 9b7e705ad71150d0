// One statistic of every head as a small map with its scale, and the heads that lead by it.

import { makeScale, rgbText, shade, theme } from "../core/colors.js";
import { amount, button, el } from "../core/dom.js";
import { headsOf } from "../core/selection_address.js";
import { gradient } from "../views/shading.js";
import { headNamed, rank } from "./head_statistics.js";

/** @import { HeadOrder, HeadStatistics, HeadValue, Selection } from "./types.d.ts" */

const LISTED = 6;
const NAMED = 12; // heads along the axis with a number

export class StatisticMap {
  #drawn = "";
  /** @type {Set<string> | null} */ #matched = null;
  title = el("h3");
  what = el("p", { class: "viz-caption" });
  /** @type {Map<string, HTMLElement>} */ cells = new Map();
  grid = el("div", { class: "viz-stat-cells", "aria-hidden": "true", onclick: ({ target }) => this.#select(target) });
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  list = el("div", { class: "viz-stat-list", role: "group", "aria-label": "Heads by this statistic" });

  /** @param {Selection} selection @param {HeadStatistics} measures @param {HeadOrder} order */
  constructor(selection, measures, order) {
    this.selection = selection;
    this.measures = measures;
    this.order = order;
    this.node = el(
      "section",
      { class: "viz-statistic", "aria-label": "One statistic of all heads" },
      el("div", { class: "viz-stat-heading" }, this.title, this.what),
      ...[this.grid, this.scale, this.list],
    );
    order.on(() => this.#update());
    selection.on((changed) => (changed.has("layer") || changed.has("head")) && this.#mark());
  }

  // The atlas has had all layers computed; what is left is to say that they are painted.
  show(/** @type {Run} */ run) {
    this.draw();
    this.node.dataset.painted = run.key;
  }

  // Draw again only what a new layer, order or search has changed: there may be thousands of heads.
  #update() {
    const { order, measures } = this;
    const { hide, renorm, words } = measures.kept;
    const kept = [hide, renorm, words].join();
    const { shown, key } = order.source;
    const drawn = [measures.run?.key, kept, key, order.statistic, order.lowest, shown.complete(order.statistic)].join();
    if (drawn !== this.#drawn || order.matched !== this.#matched) this.draw();
    [this.#drawn, this.#matched] = [drawn, order.matched];
  }

  // Empty cells hold the place until all layers are known.
  draw() {
    const { measures, order } = this;
    if (!measures.run) return;
    const { shown, table } = order.source;
    const { title, unit, meaning, edge, over, most } = shown.text(order.statistic);
    const complete = shown.complete(order.statistic);
    const heads = shown.heads(order.statistic);
    const known = complete ? heads.filter(({ value }) => value != null) : [];
    const highest = Math.max(0, ...known.map(({ value }) => Number(value)));
    const scale = makeScale("head", highest);
    this.title.textContent = `${title}, by head`;
    const limit = most === 1 ? "" : `In this run at most ${amount(most, 2)} ${unit}.`;
    const apart = measures.kept.words && !table ? "Over tokens; sub-words are not merged." : "";
    const said = [`${meaning[0].toUpperCase()}${meaning.slice(1)}.`, over, limit, edge, apart];
    this.what.textContent = said.filter(Boolean).join(" ");
    this.#map(measures.run, heads, complete ? scale : null, unit);
    const unknown = el("i", { class: "viz-swatch", style: `background: ${rgbText(theme().masked)}` });
    this.scale.replaceChildren(
      ...["0", el("i", { class: "viz-stat-bar", style: `background: ${gradient("right", scale)}` })],
      ...[complete ? `${amount(highest, 2)} ${unit}` : "…"],
      ...(complete && known.length < heads.length ? [unknown, "not known"] : []),
    );
    this.list.replaceChildren(
      order.lowest ? "Lowest:" : "Highest:",
      ...rank(known, order.lowest)
        .slice(0, LISTED)
        .map(({ name, value }) => this.#ranked(name, amount(value, 2))),
    );
    this.#mark();
  }

  /** Rows of layers and columns of heads, each axis with its numbers.
   * @type {(run: Run, heads: HeadValue[], scale: Scale | null, unit: string) => void} */
  #map({ nLayers, nHeads }, heads, scale, unit) {
    const axis = (/** @type {string | number} */ text, /** @type {string} */ style) =>
      el("span", { class: "viz-stat-axis", style }, String(text));
    const across = Math.ceil(nHeads / NAMED);
    const head = (/** @type {number} */ at) => axis(at % across ? "" : at, `grid-area: 2 / ${at + 3}`);
    const layer = (/** @type {number} */ at) => axis(at, `grid-area: ${at + 3} / 2`);
    this.cells = new Map(heads.map((one) => [one.name, this.#cell(one, scale, unit)]));
    this.grid.style.gridTemplateColumns = `14px 18px repeat(${nHeads}, minmax(0, 62px))`;
    this.grid.replaceChildren(
      axis("Head", "grid-area: 1 / 3 / auto / -1"),
      axis("Layer", `grid-area: 3 / 1 / span ${nLayers} / auto; writing-mode: sideways-lr`),
      ...Array.from({ length: nHeads }, (_, at) => head(at)),
      ...Array.from({ length: nLayers }, (_, at) => layer(at)),
      ...this.cells.values(),
    );
  }

  /** @type {(one: HeadValue, scale: Scale | null, unit: string) => HTMLElement} */
  #cell({ layer, head, name, value }, scale, unit) {
    const said = value == null ? "not known" : `${amount(value, 3)} ${unit}`;
    const { statistic, source } = this.order;
    const title = source.table?.said(statistic, { layer, head }) ?? `Layer ${layer}, head ${head}: ${said}`;
    const cell = el("i", { class: "viz-stat-cell", title, "data-stat": name });
    cell.style.gridArea = `${layer + 3} / ${head + 3}`;
    if (scale) cell.style.background = rgbText(shade(value ?? NaN, scale));
    cell.classList.toggle("viz-out", this.order.matched !== null && !this.order.matched.has(name));
    return cell;
  }

  #ranked(/** @type {string} */ name, /** @type {string} */ amount) {
    return button(`${name}  ${amount}`, () => this.selection.set(headNamed(name)), { "data-ranked": name });
  }

  #select(/** @type {EventTarget | null} */ target) {
    const name = target instanceof HTMLElement && target.dataset.stat;
    if (name) this.selection.set(headNamed(name));
  }

  #mark() {
    const { layer, head } = this.selection;
    const names = new Set(headsOf(head).map((one) => `${layer}.${one}`));
    for (const [name, cell] of this.cells) cell.classList.toggle("viz-chosen", names.has(name));
    for (const one of this.list.querySelectorAll("button"))
      one.ariaPressed = String(names.has(one.dataset.ranked ?? ""));
  }
}
