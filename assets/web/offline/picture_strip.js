// A picture's patches, shaded by where one of them or a prefix token looks.

import { largest, makeScale } from "../core/colors.js";
import { css, el, loadPicture, number } from "../core/dom.js";
import { overlay, PatchCanvas } from "../views/patch_canvas.js";
import { Words } from "../views/token_strip.js";

/** @import { KeptMap } from "./maps.js" */
/** @import { StripActs } from "./word_strip.js" */

const LARGEST = 340; // pixels a side
const OPACITY = 0.8;

export class PictureStrip {
  /** @type {HTMLImageElement | null} */
  image = null;
  /** @type {[row: number, weights: Float32Array] | null} */
  painted = null;
  chosen = 0;
  said = el("p", { class: "quiet" });

  /** @param {StripFacts & { grid: Grid }} facts @param {StripActs} acts */
  constructor(facts, { preview, choose }) {
    const { grid } = facts;
    this.grid = grid;
    this.patches = new PatchCanvas({
      point: (at) => preview(at === null ? null : grid.prefix + at),
      choose: (at) => choose(grid.prefix + at),
      from: () => this.chosen - grid.prefix,
      beyond: () => this.prefix.focus(grid.prefix - 1),
    });
    const label = "Prefix tokens (not patches)";
    this.prefix = new Words({ label, preview, choose, beyond: () => this.patches.canvas.focus() });
    const names = facts.tokens.slice(0, grid.prefix).map((name, at) => ({ name, tokens: [at] }));
    this.prefix.show(names, [], 0);
    const stage = el("div", { class: "stage" }, this.prefix.text, this.patches.canvas);
    this.node = el("div", {}, stage, this.said);
    this.layout();
    loadPicture(facts.picture).then((image) => {
      this.image = image;
      this.#draw();
    });
  }

  /** The chips and the patches are those of every map here. @type {(map: KeptMap, values: Float32Array) => void} */
  show(map) {
    const { rows, cols } = this.grid;
    const said = `Picture of ${rows} rows × ${cols} columns of patches. Arrow keys choose the query.`;
    this.patches.canvas.setAttribute("aria-label", `${said} Head ${map.about.name}.`);
  }

  mark(/** @type {number} */ row) {
    this.chosen = row;
    this.prefix.mark(row < this.grid.prefix ? row : -1);
  }

  paint(/** @type {number} */ row, /** @type {Float32Array} */ weights) {
    this.painted = [row, weights];
    this.prefix.paint(weights, makeScale("head", largest(weights)), (at) => number(weights[at]));
    this.prefix.point(row < this.grid.prefix ? row : null);
    const top = largest(weights, this.grid.prefix);
    this.said.textContent = `The redder a patch, the larger its weight: from 0 to ${number(top)} here.`;
    this.#draw();
  }

  layout() {
    const { rows, cols } = this.grid;
    const room = Math.min(LARGEST, document.body.clientWidth - 120);
    this.patches.resize(this.grid, Math.max(3, Math.min(room / cols, LARGEST / rows)));
    this.#draw();
  }

  #draw() {
    if (!this.painted) return;
    const [row, weights] = this.painted;
    const patches = weights.subarray(this.grid.prefix);
    const tints = makeScale("head", largest(patches));
    this.patches.draw(this.image, overlay(patches, this.grid, tints, OPACITY));
    this.patches.outline(row - this.grid.prefix, css("--viz-mark"), 3);
  }
}
