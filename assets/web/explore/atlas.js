// The atlas: every layer and head at once, one small exact map each; click or arrows choose a head, or a set.

import { byRow, CHANGE, largest, makeScale, picture, shrink, topsOf } from "../core/colors.js";
import { caption, context2d, el, fit, onWidth } from "../core/dom.js";
import { sentenceOf } from "../core/latest.js";
import { AS_IT_RAN } from "../core/run.js";
import { headsOf, mapName } from "../core/selection_address.js";
import { View } from "../core/view.js";
import { headName } from "../views/cells.js";
import { fullHeight, fullScreen } from "../views/full_screen.js";
import { HeadCells } from "../views/head_cells.js";
import { atlasSaves } from "./atlas_saves.js";
import { toggled } from "./head_choice.js";
import { mapOf } from "./map_changes.js";

const CHANGED = "Each head's change from the reference, on the same scale as the large map.";
const KEPT = ["hide", "renorm", "words"];
const GAP = 2;
const BESIDE = 16; // pixels of the layers' numbers
const ABOVE = 18; // and of the heads'
const LABEL = 12; // room for "3.5" under a map, where the order is not by layer and head
const [LEAST, MOST] = [8, 62]; // pixels a side

export class Atlas extends View {
  #latest = this.latest();
  /** @type {Numbers[]} */ #maps = []; // of each layer that came
  /** @type {HeadValue[]} */ places = []; // in the order shown
  /** @type {Map<string, number>} */ at = new Map(); // the place of a head
  #standing = "";
  #side = 0; // pixels of a map
  /** @type {MapChanges | null} */ changes = null; // shown in place of the maps, where they are asked for
  grid = el("div", { class: "viz-atlas-grid viz-stage", role: "group", "aria-label": "Layers and heads" });
  kept = caption();
  caption = el("p", { class: "viz-caption viz-atlas-caption" });

  /** `expect` is told which head the next click may choose.
   * @param {PageSelection} selection @param {HeadStatistics} measures @param {HeadOrder} order
   * @param {(place: HeadPlace | null) => unknown} expect */
  constructor(selection, measures, order, expect) {
    super(selection);
    this.measures = measures;
    this.order = order;
    this.heads = new HeadCells(this.grid, {
      ...{ kind: "viz-atlas", sizes: [0, 0], parts: ["canvas"], numbered: true, walks: true, aim: expect },
      choose: (place, event) => this.#choose(place, event),
      tell: (place) => this.#tell(place ? headName(place) : ""),
    });
    this.node = el("section", { class: "viz-atlas", "aria-label": "Atlas of all heads" });
    const open = fullScreen(this.node, () => this.layout());
    const title = el("div", { class: "viz-map-head" }, el("h3", {}, "All layers and heads"), open);
    this.node.append(title, order.node, this.kept, this.grid, this.caption, atlasSaves(this));
    selection.on((changed) => {
      if (changed.has("scale")) this.draw();
      else if (changed.has("layer") || changed.has("head")) this.#mark();
      if (KEPT.some((name) => changed.has(name))) this.#redo();
    }, this.signal);
    order.on(() => this.run && this.#arrange(), this.signal);
    onWidth(this.node, () => this.layout());
  }

  // Show how far each head is from the reference's, for as long as that is asked for.
  follow(/** @type {MapChanges} */ changes) {
    this.changes = changes;
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
    [this.#maps, this.#standing, this.#side] = [[], "", 0];
    this.measures.enter(run);
    this.run = run;
    this.heads.enter(run.nLayers, run.nHeads);
    this.#arrange();
    this.#mark();
  }

  // Redraw the same heads with other switches: their maps, and statistics that change.
  #redo() {
    if (!this.run) return;
    this.stale();
    this.show(this.run).catch((fault) => {
      this.kept.textContent = sentenceOf(fault);
    });
  }

  #keptSaid() {
    const change = this.changes?.against ? this.changes.fault || CHANGED : "";
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
        this.#maps[layer] = thumbnails;
        this.draw(layer);
        measures.add(statistics);
        this.#tell();
      }
      if (this.selection.scale === "all") this.draw(); // the largest of all is known only now
      this.#keptSaid();
      Object.assign(this.node.dataset, { painted: run.key, kept: this.selection.kept });
      this.#label();
    });
  }

  // Fit the width, and the height if alone in the window.
  layout() {
    const { run, grid, order } = this;
    if (!run) return;
    const high = fullHeight(grid);
    const most = high ? Math.floor((high - ABOVE) / run.nLayers) - LABEL - GAP : MOST;
    const room = Math.floor((grid.clientWidth - BESIDE) / run.nHeads) - GAP;
    const side = Math.max(LEAST, Math.min(most, room));
    grid.classList.toggle("viz-ranked", order.asked);
    if (side === this.#side) return;
    this.#side = side;
    grid.style.setProperty("--side", `${side}px`);
    for (const canvas of this.canvases) fit(canvas, side, side);
    this.draw();
  }

  get canvases() {
    return [...this.grid.querySelectorAll("canvas")];
  }

  draw(/** @type {number | undefined} */ only = undefined) {
    const { run } = this;
    if (!run || !this.#side) return;
    for (const [layer, row] of this.heads.cells.entries())
      for (const [head, cell] of row.entries())
        if (only === undefined || layer === only)
          this.#paint(run, layer, head, /** @type {HTMLCanvasElement} */ (cell.lastChild));
  }

  /** @type {(run: Run, layer: number, head: number, canvas: HTMLCanvasElement) => void} */
  #paint(run, layer, head, canvas) {
    const changed = this.changes?.against ? this.changes : null;
    const found = mapOf((changed ? changed.layers : this.#maps)[layer], head);
    const context = context2d(canvas);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!found) return;
    const { values, height, width } = shrink(found.values, found.height, found.width, canvas.width, canvas.height);
    const scale = changed ? CHANGE : this.selection.scale;
    const shown = scale === "row" ? byRow(Float32Array.from(values), width, topsOf(values, width)) : values;
    const top = changed ? changed.largest : scale === "row" ? 1 : largest(values);
    const scaled = makeScale(scale, top, run.largest(scale, layer, this.selection), found.values);
    context.drawImage(picture(shown, height, width, scaled), 0, 0, canvas.width, canvas.height);
  }

  // Put the cells where the order has them, and dim those that a search leaves out.
  #arrange() {
    const { order, heads } = this;
    this.places = order.heads();
    const standing = `${this.places.map(({ name }) => name)} ${order.ranked}`;
    if (standing !== this.#standing) {
      this.#standing = standing;
      this.at = new Map(this.places.map(({ name }, at) => [name, at]));
      heads.stand(this.places, order.ranked);
      this.#label();
    }
    this.layout();
    for (const cell of heads.cells.flat())
      cell.classList.toggle("viz-out", order.matched?.has(cell.dataset.head ?? "") === false);
    this.#tell();
  }

  // Arrows choose as they move; with Shift they only move. With Shift or Ctrl a click adds to the set of its layer.
  #choose(/** @type {HeadPlace} */ place, /** @type {Event} */ event) {
    const { type, detail, shiftKey, ctrlKey, metaKey } = /** @type {MouseEvent} */ (event);
    const { selection } = this;
    const added = shiftKey || ctrlKey || metaKey;
    if (!detail && (ctrlKey || metaKey)) return; // Ctrl + Enter runs the form
    if (!added) selection.set(place);
    else if (type === "click" && place.layer === selection.layer)
      selection.set({ head: toggled(selection.head, place.head) });
    else if (type === "click") selection.set(place);
  }

  #mark() {
    const { layer, head } = this.selection;
    const heads = headsOf(head);
    const every = heads.length ? heads : [...Array(this.run?.nHeads ?? 0).keys()];
    this.heads.mark(every.map((one) => ({ layer, head: one })));
    this.#tell();
  }

  #label() {
    for (const cell of this.heads.cells.flat()) cell.ariaLabel = this.#sentence(cell.dataset.head ?? "");
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
    const at = this.at.get(name);
    if (at === undefined) return mapName(this.selection.layer, this.selection.head).replace("l", "L");
    const rank = this.order.ranked ? ` · number ${at + 1} of ${this.places.length}` : "";
    return `${this.measures.sentence(name)}${rank}`;
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
