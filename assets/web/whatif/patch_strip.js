// The patches of a picture, tinted by what hiding each one changes; a click hides one.

import { context2d, css, el, loadPicture, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { PatchCanvas } from "../views/patch_canvas.js";

/** @import { Grid, Maybe } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { EffectColors } from "./effect_colors.js" */
/** @typedef {{ preview: (token: number | null) => unknown, choose: (token: number) => unknown }} Acts */

const [WIDEST, TALLEST, OPACITY] = [440, 260, 0.9];
const CHOOSES = ["", "Enter", " "]; // a click, or a key; arrows only lead to another patch

export class PatchStrip {
  #entering = new Latest();
  /** @type {Run | null} of a picture */
  run = null;
  /** @type {HTMLImageElement | null} */
  image = null;
  /** @type {Maybe[]} by token */
  values = [];
  /** @type {EffectColors | null} */
  colors = null;
  /** @type {number[]} tokens that are changed in the shown run */
  changed = [];
  at = 0; // the patch that keys have led to
  #pointed = -1;

  constructor(/** @type {Acts} */ acts) {
    this.acts = acts;
    this.patches = new PatchCanvas({
      point: (at) => this.#point(at),
      choose: (at, key) => this.#choose(at, key),
      from: () => this.at,
      beyond: () => {},
    });
    this.node = el("div", { hidden: true }, this.patches.canvas);
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  enter(/** @type {Run} */ run) {
    Object.assign(this, { run: run.grid ? run : null, image: null, values: [], colors: null, at: 0 });
    this.node.hidden = !run.grid;
    this.#entering.run(async (fresh) => {
      if (!run.grid) return;
      const label = `Picture of ${run.grid.rows} × ${run.grid.cols} patches. Arrow keys move, Enter hides a patch from all.`;
      this.patches.canvas.setAttribute("aria-label", label);
      this.draw();
      this.image = await fresh(loadPicture(run.url("picture.png")));
      this.draw();
    });
  }

  /** @type {(values: Maybe[], colors: EffectColors) => void} */
  show(values, colors) {
    Object.assign(this, { values, colors });
    this.draw();
  }

  mark(/** @type {number[]} */ changed) {
    this.changed = changed;
    this.draw();
  }

  draw() {
    const { run, patches, colors, values } = this;
    const width = this.node.clientWidth;
    if (!run?.grid || !width) return;
    const { rows, cols, prefix } = run.grid;
    patches.resize(run.grid, Math.max(3, Math.min((Math.min(WIDEST, width) - 8) / cols, TALLEST / rows)));
    patches.draw(this.image, colors && tints(values.slice(prefix), run.grid, colors));
    for (const token of this.changed) patches.outline(token - prefix, css("--viz-mark", patches.canvas), 3);
    const pointed = this.#pointed >= 0 ? this.#pointed : document.activeElement === patches.canvas ? this.at : -1;
    if (pointed >= 0) patches.frame(pointed, css("--body-text-color"), 2);
  }

  #token(/** @type {number} */ at) {
    return at + (this.run?.grid?.prefix ?? 0);
  }

  #point(/** @type {number | null} */ at) {
    this.#pointed = at ?? -1;
    this.acts.preview(at === null ? null : this.#token(at));
    this.draw();
  }

  #choose(/** @type {number} */ at, /** @type {string} */ key) {
    this.at = at;
    if (CHOOSES.includes(key)) this.acts.choose(this.#token(at));
    else this.acts.preview(this.#token(at));
    this.draw();
  }
}

/**
 * One pixel per patch, with opacity by effect.
 * @type {(values: Maybe[], grid: Grid, colors: EffectColors) => HTMLCanvasElement}
 */
function tints(values, { rows, cols }, { color, sign, largest }) {
  const canvas = el("canvas");
  [canvas.width, canvas.height] = [cols, rows];
  const pixels = new ImageData(cols, rows);
  values.forEach((value, at) => {
    const share = (value ?? 0) / (largest || 1);
    pixels.data.set([...color(sign * Math.sign(share)), Math.round(255 * OPACITY * Math.abs(share))], 4 * at);
  });
  context2d(canvas).putImageData(pixels, 0, 0);
  return canvas;
}
