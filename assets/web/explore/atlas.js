// The atlas: every layer and head at once, one small exact map each; click or arrows choose a head.

import { amount, el, onWidth } from "../core/dom.js";
import { Latest, sentenceOf } from "../core/latest.js";
import { AS_IT_RAN } from "../core/run.js";
import { headsOf, mapName } from "../core/selection_address.js";
import { fullHeight, fullScreen } from "../views/full_screen.js";
import { choosing } from "./atlas_choosing.js";
import { AtlasCanvas, LEFT, TOP } from "./atlas_canvas.js";
import { atlasSaves } from "./atlas_saves.js";
import { headNamed, MAP_CHANGE } from "./head_statistics.js";

/** @import { HeadOrder, HeadStatistics, HeadValue, MapChanges, Selection } from "./types.d.ts" */

const CHANGE = "Each head's change from the reference, on the same scale as the large map.";
const KEPT = ["hide", "renorm", "words"];

export class Atlas {
  #latest = new Latest();
  /** @type {Run | null} */ run = null;
  /** @type {Map<string, HTMLElement>} */ cells = new Map();
  /** @type {HeadValue[]} */ places = []; // in the order shown
  /** @type {Map<string, number>} */ at = new Map(); // the place of a head
  #standing = "";
  /** @type {Set<string> | null} */ #matched = null;
  /** @type {HTMLElement[]} */ #rows = [];
  /** @type {HTMLElement[]} */ #marked = [];
  grid = el("div", {
    class: "viz-atlas-grid",
    role: "grid",
    "aria-label": "Layers and heads",
    "aria-multiselectable": "true",
    onpointerleave: () => this.#tell(),
  });
  kept = el("p", { class: "viz-caption" });
  caption = el("p", { class: "viz-caption viz-atlas-caption" });

  /** `expect` is told which head the next click may choose.
   * @param {Selection} selection @param {HeadStatistics} measures @param {HeadOrder} order
   * @param {(place: HeadPlace) => unknown} expect */
  constructor(selection, measures, order, expect) {
    this.selection = selection;
    this.measures = measures;
    this.order = order;
    this.drawing = new AtlasCanvas(selection, order);
    this.canvas = this.drawing.node;
    this.stage = el("div", { class: "viz-stage" }, this.canvas, this.grid);
    this.node = el("section", { class: "viz-atlas", "aria-label": "Atlas of all heads" });
    const open = fullScreen(this.node, () => this.run && this.layout(this.run));
    const title = el("div", { class: "viz-map-head" }, el("h3", {}, "All layers and heads"), open);
    this.node.append(
      title,
      order.node,
      this.kept,
      this.stage,
      this.caption,
      atlasSaves(() => this.run, measures, this.selection, this.drawing),
    );
    choosing(this, expect);
    selection.on((changed) => {
      if (changed.has("scale")) this.draw();
      else if (changed.has("layer") || changed.has("head")) this.#mark();
      if (KEPT.some((name) => changed.has(name))) this.#redo();
    });
    order.on(() => this.run && this.#arrange(this.run));
    onWidth(this.node, () => this.run && this.layout(this.run));
  }

  // Show how far each head is from the reference's, for as long as that is asked for.
  follow(/** @type {MapChanges} */ changes) {
    this.drawing.changes = changes;
    let drawn = false;
    changes.on(() => {
      const shown = changes.against !== null;
      if (shown || drawn) this.draw();
      drawn = shown;
      this.#keptSaid();
    });
  }

  // A new run: empty cells hold the place, so that nothing below moves as layers come.
  enter(/** @type {Run} */ run) {
    this.#latest.stop();
    this.run = null; // until its cells are there
    this.drawing.enter(run);
    this.measures.enter(run);
    this.run = run;
    this.cells = new Map(this.measures.heads("").map(({ name }) => [name, this.#cell(name)]));
    this.#rows = Array.from({ length: run.nLayers }, () => el("div", { role: "row", class: "viz-atlas-row" }));
    this.grid.replaceChildren(...this.#rows);
    [this.#standing, this.#matched, this.#marked] = ["", null, []];
    this.#arrange(run);
    this.#mark();
  }

  // Redraw the same heads with other switches: their maps, and statistics that change.
  #redo() {
    if (!this.run) return;
    delete this.node.dataset.painted;
    this.show(this.run).catch((fault) => {
      this.kept.textContent = sentenceOf(fault);
    });
  }

  #paintedAll(/** @type {Run} */ run) {
    this.#keptSaid();
    this.node.dataset.painted = run.key;
    this.node.dataset.kept = this.selection.kept;
    this.#label();
  }

  #keptSaid() {
    const { changes } = this.drawing;
    const change = changes?.against ? changes.fault || CHANGE : "";
    this.kept.textContent = [keptSentence(this.selection), change].filter(Boolean).join(" ");
  }

  // Each layer is painted as soon as the server has swept it, which sweeps the next meanwhile.
  show(/** @type {Run} */ run) {
    const { measures } = this;
    const { hide, renorm, words } = this.selection;
    const kept = { hide, renorm, words };
    return this.#latest.run(async (fresh) => {
      let swept = sweep(run, 0, kept);
      measures.begin(kept, await fresh(run.statisticsSaid(kept)));
      for (let layer = 0; layer < run.nLayers; layer++) {
        const [thumbnails, statistics] = await fresh(swept);
        if (layer + 1 < run.nLayers) swept = sweep(run, layer + 1, kept);
        this.drawing.add(layer, thumbnails);
        this.draw(layer);
        measures.add(statistics);
        this.#tell();
      }
      if (this.selection.scale === "all") this.draw(); // the largest of all is known only now
      this.#paintedAll(run);
    });
  }

  layout(/** @type {Run} */ run) {
    const { drawing, grid } = this;
    if (!drawing.layout(run, this.stage.clientWidth, fullHeight(this.stage))) return;
    const pitch = `repeat(${run.nLayers}, ${drawing.cell + drawing.label}px)`;
    Object.assign(grid.style, { left: `${LEFT}px`, top: `${TOP}px`, gridTemplateRows: pitch });
    grid.style.setProperty("--viz-label", `${drawing.label}px`);
    for (const row of this.#rows) row.style.gridTemplateColumns = `repeat(${run.nHeads}, ${drawing.cell}px)`;
    this.draw();
  }

  draw(/** @type {number | undefined} */ only = undefined) {
    this.drawing.draw(this.places, only);
  }

  #cell(/** @type {string} */ name) {
    return el("div", {
      role: "gridcell",
      class: "viz-atlas-cell",
      tabindex: "-1",
      "data-head": name,
      "aria-selected": "false",
      "aria-label": this.measures.sentence(name),
      onpointerenter: () => this.#tell(name),
      onfocus: () => this.#tell(name),
    });
  }

  // Put the cells where the order has them, and dim those that a search leaves out.
  #arrange(/** @type {Run} */ run) {
    const { order, cells } = this;
    this.places = order.heads();
    const over = order.source.key && `${order.source.key} ${order.statistic}`; // which the labels say
    const standing = `${this.places.map(({ name }) => name)} ${order.ranked && order.words} ${over}`;
    if (standing !== this.#standing) {
      const focused = document.activeElement;
      this.#standing = standing;
      this.at = new Map(this.places.map(({ name }, at) => [name, at]));
      const stand = this.places.map(({ name }) => cells.get(name) ?? "");
      for (const [at, row] of this.#rows.entries())
        row.replaceChildren(...stand.slice(at * run.nHeads, (at + 1) * run.nHeads));
      if (focused !== document.activeElement && focused instanceof HTMLElement && this.grid.contains(focused))
        focused.focus({ preventScroll: true });
      this.#label();
      this.drawing.cell = 0; // drawn anew
    }
    this.layout(run);
    const { matched } = order;
    if (matched !== this.#matched)
      for (const [name, cell] of cells) cell.classList.toggle("viz-out", matched !== null && !matched.has(name));
    this.#matched = matched;
    this.#tell();
  }

  #mark() {
    const { layer, head } = this.selection;
    const heads = headsOf(head);
    for (const cell of this.#marked) [cell.ariaSelected, cell.tabIndex] = ["false", -1];
    const every = heads.length ? heads : [...Array(this.run?.nHeads ?? 0).keys()];
    this.#marked = every.flatMap((one) => this.cells.get(`${layer}.${one}`) ?? []);
    for (const cell of this.#marked) cell.ariaSelected = "true";
    if (this.#marked.length) this.#marked[0].tabIndex = 0;
    this.#tell();
  }

  #label() {
    for (const [name, cell] of this.cells) cell.ariaLabel = this.#sentence(name);
  }

  // Describe a head, or the chosen one.
  #tell(name = "") {
    const { layers } = this.measures;
    if (!this.run) return;
    const waiting = !name && layers.length < this.run.nLayers;
    this.caption.textContent = waiting
      ? `Computing all heads: layer ${layers.length} of ${this.run.nLayers} …`
      : this.#sentence(name || this.selection.name);
  }

  // Describe a head, rank first; for several heads, list them.
  #sentence(/** @type {string} */ name) {
    const { measures, order } = this;
    const at = this.at.get(name);
    if (at === undefined) return mapName(this.selection.layer, this.selection.head).replace("l", "L");
    const { table } = order.source;
    const said = table?.said(order.statistic, headNamed(name)).replace(/\.$/, "") ?? measures.sentence(name);
    if (!order.ranked) return said;
    const { title, unit } = order.source.shown.text(order.statistic);
    const told = table !== null || order.statistic in measures.own || order.statistic === MAP_CHANGE;
    const value = told ? "" : ` · ${title.toLowerCase()} ${amount(this.places[at].value, 3)} ${unit}`;
    return `${said}${value} · number ${at + 1} of ${this.places.length}`;
  }
}

/** What the small maps leave out; "" if they are as they ran.
 * @type {(kept: { hide: boolean, renorm: boolean, words: boolean }) => string} */
function keptSentence({ hide, renorm, words }) {
  const parts = [hide && "special tokens hidden", renorm && "rows renormalized", words && "sub-words merged"];
  const said = parts.filter(Boolean).join(", ");
  const over = hide || renorm ? "Statistics use the same settings" : "Statistics are of the maps as they ran";
  return said && `Maps with ${said}. ${over}${words ? ", without merging sub-words" : ""}.`;
}

/** A layer's maps and statistics; a fault is told to who waits for them.
 * @type {(run: Run, layer: number, kept?: Switches) => Promise<[Numbers, LayerStatistics]>} */
export function sweep(run, layer, kept = AS_IT_RAN) {
  const swept = Promise.all([run.thumbnails(layer, kept), run.statistics(layer, kept)]);
  swept.catch(() => {});
  return swept;
}
