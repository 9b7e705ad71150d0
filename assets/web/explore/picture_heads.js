// The atlas of a picture: the same picture under every head's weights of one query, a row of heads a layer.

import { largest } from "../core/colors.js";
import { context2d, css, el, fit, onSight, onWidth } from "../core/dom.js";
import { headsOf } from "../core/selection_address.js";
import { View } from "../core/view.js";
import { HeadCells } from "../views/head_cells.js";
import { overlay } from "../views/patch_canvas.js";
import { scaleOf } from "../views/shading.js";

const MOST = 132; // pixels a side
const PHONE = 900; // pixels of a window in which they are folded at first
const GAP = 4;
const FRAME = 8; // padding and border of a button, both sides
const LABEL = 20; // room for the numbers of layers
const ASKED_FOR = ["shared", "log", "sqrt", "percentile"]; // scales that a single row can have; else up to its largest

export class PictureHeads extends View {
  #latest;
  /** @type {CanvasImageSource | null} */ #image = null;
  /** @type {Map<number, Numbers>} */ #layers = new Map(); // the rows of each layer that came
  /** @type {Map<number, string>} */ #drawn = new Map(); // as what each layer was drawn
  #of = ""; // which run and query they are of, and what is kept
  #kept = { hide: false, renorm: false }; // how those rows are shown
  #seen = false; // whether the heads came into sight
  heads = el("div", { role: "group", "aria-label": "All layers and heads" });
  caption = el("p", { class: "viz-caption" });
  node = el(
    "details",
    { class: "viz-folded", hidden: true, open: window.innerWidth > PHONE },
    ...[el("summary", {}, "All layers and heads"), this.caption, this.heads],
  );

  constructor(/** @type {PageSelection} */ selection, /** @type {(sentence: string) => unknown} */ say) {
    super(selection);
    this.#latest = this.latest(say);
    this.grid = new HeadCells(this.heads, {
      ...{ kind: "viz-picture", sizes: [0, 0], parts: ["canvas"], walks: true },
      choose: (place) => selection.set(place),
    });
    onWidth(this.node, () => this.draw());
    onSight(this.heads, (seen) => {
      this.#seen = seen;
      if (seen) this.load();
    });
  }

  show(/** @type {Run} */ run, /** @type {CanvasImageSource | null} */ image) {
    this.#latest.stop();
    [this.run, this.#image, this.#of] = [run, image, ""];
    this.#layers.clear();
    this.#drawn.clear();
    this.stale();
    this.node.hidden = !run.grid;
    if (run.grid) this.grid.enter(run.nLayers, run.nHeads);
    this.#size();
  }

  // The chosen layer first; the others only once they are in sight, one after the other. What is here already is
  // not asked for again, and the answer to an older query is dropped.
  load() {
    const run = this.run;
    const { layer: chosen, query, hide, renorm } = this.selection;
    const kept = { hide, renorm, words: false };
    if (!run?.grid) return;
    const of = `${run.key}:${hide}:${renorm}:${query}`;
    const all = Array.from({ length: run.nLayers }, (_, at) => at);
    const wanted = [chosen, ...(this.#seen ? all.filter((layer) => layer !== chosen) : [])];
    return this.#latest.run(async (/** @type {Fresh} */ fresh) => {
      const missing = wanted.filter((layer) => this.#of !== of || !this.#layers.has(layer));
      const asked = missing.slice(0, 1).map((layer) => run.rows(layer, query, kept));
      for (const [at, layer] of missing.entries()) {
        if (at + 1 < missing.length) asked.push(run.rows(missing[at + 1], query, kept)); // the next, while this is drawn
        asked.at(-1)?.catch(() => {}); // told to who waits for it
        const rows = await fresh(asked[at]);
        if (this.#of !== of) this.#layers.clear();
        [this.#of, this.#kept] = [of, { hide, renorm }];
        this.#layers.set(layer, rows);
        this.draw();
      }
      this.draw();
      if (this.#layers.size === run.nLayers) this.painted(of);
    });
  }

  // Draw for the query that the numbers belong to, even if another was chosen since.
  draw() {
    const run = this.run;
    if (!run?.grid || !this.#of) return;
    const query = Number(this.#of.split(":").at(-1));
    const looks = `where query ${run.named(query)} looks`;
    const tint = `Each is shaded by its own attention weights${this.#fixed ? "" : ", up to its largest on a patch"}`;
    const hidden = this.#kept.hide ? " Special tokens are hidden." : "";
    const divided = this.#kept.renorm ? " Rows are divided by their sums over the tokens shown." : "";
    this.caption.textContent = `Every head: ${looks}. ${tint}; click one to choose it.${hidden}${divided}`;
    this.#size();
    for (const layer of this.#layers.keys()) {
      const { scale } = this.selection;
      const as = `${this.#of}:${scale}:${this.#canvases[0]?.width}:${css("--body-text-color")}:${!!this.#image}`;
      if (this.#drawn.get(layer) !== as) this.#drawLayer(layer);
      this.#drawn.set(layer, as);
    }
    const { layer, head } = this.selection;
    this.grid.mark(headsOf(head).map((one) => ({ layer, head: one })));
  }

  get #fixed() {
    return ASKED_FOR.includes(this.selection.scale);
  }

  // Fit a layer's heads in one row.
  #size() {
    const run = this.run;
    if (!run?.grid || !this.node.clientWidth) return;
    const { rows, cols } = run.grid; // in patches
    const room = (this.node.clientWidth - LABEL) / run.nHeads - GAP - FRAME;
    const side = Math.max(12, Math.min(MOST, room, (MOST * cols) / rows));
    const [width, height] = [side, (side * rows) / cols];
    if (this.#canvases[0]?.style.width === `${width}px`) return;
    for (const canvas of this.#canvases) fit(canvas, width, height);
  }

  get #canvases() {
    return [...this.heads.querySelectorAll("canvas")];
  }

  #drawLayer(/** @type {number} */ layer) {
    const run = this.run;
    const found = this.#layers.get(layer);
    if (!run?.grid || !found) return;
    const { grid } = run;
    const first = run.visible(this.#kept.hide).findIndex((token) => token >= grid.prefix); // place of the first patch
    for (const [head, cell] of this.grid.cells[layer].entries()) {
      cell.hidden = head >= found.shape[0];
      if (cell.hidden) continue;
      const canvas = /** @type {HTMLCanvasElement} */ (cell.lastChild);
      const row = found.values.subarray(head * found.shape[1] + first, (head + 1) * found.shape[1]);
      const scale = scaleOf(this.#fixed ? this.selection.scale : "head", row);
      const [context, { width, height }] = [context2d(canvas), canvas];
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.imageSmoothingEnabled = false;
      context.clearRect(0, 0, width, height);
      if (this.#image) context.drawImage(this.#image, 0, 0, width, height);
      context.drawImage(overlay(row, grid, scale, 1), 0, 0, width, height);
      cell.ariaLabel = `Head ${layer}.${head}`;
      cell.title = `Head ${layer}.${head}: largest weight on a patch ${largest(row).toFixed(4)}`;
    }
  }
}
