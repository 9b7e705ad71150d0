// The picture under its weights: patches to point at, prefix tokens beside it and never in it.

import { count, css, el, number, rounded, slider } from "../core/dom.js";
import { overlay, PatchCanvas } from "./patch_canvas.js";
import { strongestOf, tintGradient } from "./shading.js";
import { Words } from "./token_strip.js";

/** @import { Strongest } from "./shading.js" */
/** @typedef {{ chips: Scale, tints: Scale }} Scales of the prefix tokens, and of the patches */
/** @typedef {{ of: string, top: string, unit: string }} What its row or column, what the scale goes up to, and its unit */
/** @typedef {{ values: Float32Array, scales: Scales, what: What }} Painted */

const LARGEST = 600; // pixels a side, as many as the column beside the heads has
const TALLEST = 420;
const SCALE_WIDTH = 70; // color scale beside the image
const TICKS = 5;
const NARROW = 420; // pixels, below which the prefix stands above the picture and the scale below
const TOUCHED = 24; // pixels of a patch there, at most

export class Picture extends PatchCanvas {
  bar = el("i", { class: "viz-tint-bar" });
  ticks = el("span", { class: "viz-tint-ticks" });
  scaleNode = el("div", { class: "viz-tint", role: "img" }, this.bar, this.ticks);
  opacity = slider("viz-opacity", "Opacity", 80, "%", () => this.#again());
  keep = slider("viz-keep", "Show up to", 100, "% of the sum", () => this.#again());
  unit = el("p", { class: "viz-caption viz-tint-unit" });
  kept = el("p", { class: "viz-caption viz-held", role: "status" });
  /** @type {Run | null} */
  run = null;
  /** @type {CanvasImageSource | null} */
  image = null;
  /** @type {Unit[]} */
  units = [];
  /** @type {Painted | null} */
  painted = null;
  /** @type {number | null} */
  pointed = null;
  narrow = false;
  first = 0; // unit of the first patch
  query = -1;
  key = -1;
  chosen = -1;

  /** `preview` and `choose` are told units: the prefix tokens, and then the patches row by row.
   * @param {{ preview: (unit: number | null) => unknown, choose: (unit: number) => unknown }} acts */
  constructor({ preview, choose }) {
    super({
      point: (at) => preview(at === null ? null : this.first + at),
      choose: (at) => choose(this.first + at),
      from: () => this.chosen - this.first,
      beyond: () => this.first && this.prefix.focus(this.first - 1),
    });
    const label = "Prefix tokens (not patches)";
    this.prefix = new Words({ label, preview, choose, beyond: () => this.canvas.focus() });
    this.beside = el("div", { class: "viz-prefix" }, el("span", { class: "viz-caption" }, "Prefix"), this.prefix.text);
    const stage = el("div", { class: "viz-picture-stage" }, this.beside, this.canvas, this.scaleNode);
    const sliders = el("div", { class: "viz-picture-controls" }, this.opacity.node, this.keep.node);
    this.more = el("div", { hidden: true }, sliders, this.kept); // what is set and seldom changed
    this.node = el("div", {}, stage, this.unit);
  }

  /** @type {(run: Run & { grid: Grid }, image: CanvasImageSource | null, units: Unit[]) => void} */
  show(run, image, units) {
    Object.assign(this, { run, image, units });
    this.first = units.findIndex(({ tokens }) => tokens[0] >= run.grid.prefix);
    this.beside.hidden = this.first === 0;
    this.prefix.show(units.slice(0, this.first), run.segments, 0);
    this.layout();
  }

  layout() {
    const grid = this.run?.grid;
    if (!grid) return;
    this.narrow = this.node.clientWidth < NARROW;
    this.node.classList.toggle("viz-narrow", this.narrow);
    const besides = this.narrow ? 0 : SCALE_WIDTH + (this.first ? this.beside.offsetWidth + 12 : 0) + 16;
    const room = this.node.clientWidth - besides;
    const most = this.narrow ? TOUCHED : LARGEST / grid.cols;
    const patch = Math.max(3, Math.floor(Math.min(room / grid.cols, most, TALLEST / grid.rows)));
    this.resize(grid, patch);
    this.scaleNode.style.height = this.narrow ? "auto" : `${Math.max(90, patch * grid.rows)}px`;
    this.beside.style.maxHeight = this.narrow ? "none" : `${Math.max(120, patch * grid.rows)}px`;
  }

  /** Everything again from values: the prefix tokens by the scale of words, up to the largest of all; the
   * patches by a tint up to the largest patch. `titles` comes with a choice, and not while pointing.
   * @type {(values: Float32Array, scales: Scales, what: What, titles?: Titles) => void} */
  paint(values, scales, what, titles) {
    this.painted = { values, scales, what };
    this.prefix.paint(values.subarray(0, this.first), scales.chips, titles);
    this.prefix.colors.tones.forEach((tone, at) => {
      tone.dataset.number = number(values[at]);
    });
    const patches = values.subarray(this.first);
    const [share, opacity] = [Number(this.keep.input.value) / 100, Number(this.opacity.input.value) / 100];
    const found = strongestOf(patches, share);
    this.#tell(this.painted, found, share);
    this.#drawScale(this.painted, opacity);
    this.draw(this.image, overlay(patches, this.grid, scales.tints, opacity, share < 1 && found.kept));
    this.#outlines();
  }

  // The picture alone.
  blank() {
    this.painted = null;
    this.prefix.paint(null, null, () => "");
    for (const tone of this.prefix.colors.tones) delete tone.dataset.number;
    this.unit.textContent = "";
    this.draw(this.image);
    this.kept.textContent = "";
  }

  /** The units of the query and the key, and which of them is chosen. @type {(query: number, key: number, chosen: number) => void} */
  mark(query, key, chosen) {
    Object.assign(this, { query, key, chosen });
    this.prefix.mark(chosen < this.first ? chosen : -1);
    const { rows, cols } = this.grid;
    const beyond = this.first ? "; the prefix tokens are above the first row" : "";
    const label = `Picture of ${rows} rows × ${cols} columns of patches. Chosen: ${this.units[chosen]?.name ?? "none"}. Arrow keys choose a patch${beyond}.`;
    this.canvas.setAttribute("aria-label", label);
  }

  point(/** @type {number | null} */ unit) {
    this.pointed = unit;
    this.prefix.point(unit !== null && unit < this.first ? unit : null);
  }

  #outlines() {
    const { first, canvas } = this;
    this.outline(this.key - first, css("--viz-mark-key", canvas), 2);
    this.outline(this.query - first, css("--viz-mark", canvas), 3);
    if (this.pointed !== null) this.outline(this.pointed - first, "#ffffff", 2);
  }

  /** Describe the number of shaded patches, their total, and the weight on prefix tokens.
   * @type {(painted: Painted, found: Strongest, share: number) => void} */
  #tell({ values, what }, { count: many, held: sum, whole }, share) {
    const patches = values.length - this.first;
    const prefix = values.subarray(0, this.first).reduce((sum, value) => sum + (value > 0 ? value : 0), 0);
    const held =
      share < 1
        ? `The strongest ${count(many)} of ${count(patches)} patches ${many === 1 ? "holds" : "hold"} ${percent(sum / whole)} of the weight on patches`
        : `All ${count(patches)} patches are shaded`;
    const all = prefix + whole;
    const beside = this.first
      ? ` The prefix tokens hold ${percent(prefix / all)} of the whole ${what.of}, and are not counted.`
      : "";
    this.kept.textContent = `${held}.${beside}`;
  }

  /** @type {(painted: Painted, opacity: number) => void} */
  #drawScale({ scales: { tints }, what: { top, unit } }, opacity) {
    const [along, across, from] = this.narrow ? ["right", "bottom", "left"] : ["top", "right", "bottom"];
    this.bar.style.backgroundImage = `${tintGradient(along, tints, opacity)}, linear-gradient(to ${across}, #222222 50%, #dddddd 50%)`;
    this.unit.textContent = `Shading, shown on dark and on light: ${number(tints.low)} to ${number(tints.high)}${top ? ` (${top})` : ""}, ${unit}.${this.first ? " Each prefix token has its own number." : ""}`;
    const shares = Array.from({ length: TICKS }, (_, at) => at / (TICKS - 1));
    this.ticks.replaceChildren(
      ...shares.map((share) => el("span", { style: `${from}:${100 * share}%` }, rounded(tints.at(share)))),
    );
    const label = `Color scale from ${number(tints.low)} to ${number(tints.high)}, ${unit}`;
    this.scaleNode.setAttribute("aria-label", label);
  }

  #again() {
    if (this.painted) this.paint(this.painted.values, this.painted.scales, this.painted.what);
  }
}

const percent = (/** @type {number} */ share) => `${(100 * (share || 0)).toFixed(1)}%`;
