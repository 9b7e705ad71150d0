// One statistic of every head as a small map with its scale, and the heads that lead by it.

import { rgbText, theme } from "../core/colors.js";
import { amount, button, el } from "../core/dom.js";
import { headsOf } from "../core/selection_address.js";
import { headName } from "../views/cells.js";
import { HeadGrid } from "../views/head_grid.js";
import { scaleBar } from "../views/shading.js";
import { headNamed, rank } from "./head_statistics.js";

/** @import { HeadOrder, HeadStatistics, HeadValue, Selection } from "./types.d.ts" */

const LISTED = 6;

export class StatisticMap {
  #drawn = "";
  /** @type {Set<string> | null} */ #matched = null;
  title = el("h3");
  what = el("p", { class: "viz-caption" });
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  list = el("div", { class: "viz-stat-list", role: "group", "aria-label": "Heads by this statistic" });

  /** @param {Selection} selection @param {HeadStatistics} measures @param {HeadOrder} order */
  constructor(selection, measures, order) {
    this.selection = selection;
    this.measures = measures;
    this.order = order;
    this.grid = new HeadGrid("One statistic of all heads", {
      ...{ kind: "viz-stat", sizes: [22, 16], parts: [], numbered: true, choose: (place) => selection.set(place) },
    });
    this.node = el(
      "section",
      { class: "viz-statistic", "aria-label": "One statistic of all heads" },
      el("div", { class: "viz-stat-heading" }, this.title, this.what),
      ...[this.grid.node, this.scale, this.list],
    );
    order.on(() => this.#update());
    selection.on((changed) => (changed.has("layer") || changed.has("head")) && this.#mark());
  }

  // The atlas has had all layers computed; what is left is to say that they are painted.
  show(/** @type {Run} */ run) {
    this.draw();
    this.node.dataset.painted = run.key;
  }

  /** @type {(run: Run, heads: HeadValue[], complete: boolean, unit: string) => void} */
  #map({ nLayers, nHeads }, heads, complete, unit) {
    const { statistic, source, matched } = this.order;
    const of = (/** @type {Maybe} */ value) => (value === null ? "not known" : `${amount(value, 3)} ${unit}`);
    this.grid.show({
      values: Array.from({ length: nLayers }, (_, layer) =>
        heads.slice(layer * nHeads, (layer + 1) * nHeads).map(({ value }) => (complete ? (value ?? null) : null)),
      ),
      said: (place, value) => source.table?.said(statistic, place) ?? `Head ${headName(place)}: ${of(value)}`,
    });
    for (const cell of this.grid.heads.cells.flat())
      cell.classList.toggle("viz-out", matched !== null && !matched.has(cell.dataset.head ?? ""));
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
    this.title.textContent = `${title}, by head`;
    const limit = most === 1 ? "" : `In this run at most ${amount(most, 2)} ${unit}.`;
    const apart = measures.kept.words && !table ? "Over tokens; sub-words are not merged." : "";
    const said = [`${meaning[0].toUpperCase()}${meaning.slice(1)}.`, over, limit, edge, apart];
    this.what.textContent = said.filter(Boolean).join(" ");
    this.#map(measures.run, heads, complete, unit);
    const unknown = el("i", { class: "viz-swatch", style: `background: ${rgbText(theme().masked)}` });
    this.scale.replaceChildren(
      ...["0", scaleBar(this.grid.colors.scale)],
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

  #ranked(/** @type {string} */ name, /** @type {string} */ amount) {
    return button(`${name}  ${amount}`, () => this.selection.set(headNamed(name)), { "data-ranked": name });
  }

  #mark() {
    const { layer, head } = this.selection;
    const names = new Set(headsOf(head).map((one) => `${layer}.${one}`));
    this.grid.mark(layer, head);
    for (const one of this.list.querySelectorAll("button"))
      one.ariaPressed = String(names.has(one.dataset.ranked ?? ""));
  }
}
