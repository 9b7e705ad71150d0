// The tokens or the patches at the top of a tab: one is chosen, and one is pointed at.

import { css, el, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { PatchCanvas } from "./patch_canvas.js";
import { Words } from "./token_strip.js";

/** @typedef {{ hover: (token: number | null) => unknown, choose: (token: number) => unknown }} Acts */

const [WIDEST, TALLEST] = [440, 260];

export class TokenChoice {
  #entering = new Latest();
  node = el("div", { class: "viz-token-choice" });
  /** @type {Run | null} */
  run = null;
  /** @type {HTMLImageElement | null} */
  image = null;
  beside = el("span", { class: "viz-caption" }, "Beside the picture: "); // precedes the tokens that are not patches
  /** @type {Unit[]} all tokens, or those beside the patches */
  units = [];
  token = 0;
  /** @type {number | null} */
  hovered = null;

  constructor(/** @type {Acts} */ { hover, choose }) {
    const label = "The tokens. Arrow keys move, Enter chooses.";
    const first = () => this.units.length; // of the patches
    this.patches = new PatchCanvas({
      point: (at) => hover(at === null ? null : first() + at),
      choose: (at) => choose(first() + at),
      from: () => this.token - first(),
      beyond: () => first() && this.words.focus(first() - 1),
    });
    const beyond = () => this.run?.grid && this.patches.canvas.focus();
    this.words = new Words({ label, preview: hover, choose, beyond });
    onWidth(this.node, () => requestAnimationFrame(() => this.#draw()));
  }

  show(/** @type {Run} */ run, /** @type {number} */ token) {
    if (this.run !== run) this.#enter(run);
    this.token = token;
    this.words.show(this.units, run.segments, token);
    this.words.mark(token < this.units.length ? token : -1);
    this.#draw();
  }

  mark(/** @type {number | null} */ hovered) {
    this.hovered = hovered;
    this.words.point(hovered !== null && hovered < this.units.length ? hovered : null);
    this.#draw();
  }

  // The middle of a patch on the screen, for tests and tools.
  box(/** @type {number} */ token) {
    return this.patches.box(token - this.units.length);
  }

  #enter(/** @type {Run} */ run) {
    const { grid } = run;
    Object.assign(this, { run, image: null, hovered: null });
    this.units = run.shown({ hide: false, words: false }).slice(0, grid?.prefix);
    const prefix = grid?.prefix ? [this.beside] : [];
    const picture = grid ? [this.patches.canvas] : [];
    this.node.replaceChildren(...prefix, this.words.text, this.words.parts, ...picture);
    this.#entering.run(async (fresh) => {
      if (!grid) return;
      this.image = await fresh(run.picture());
      this.#draw();
    });
  }

  #draw() {
    const { run, patches, token, hovered } = this;
    const width = this.node.clientWidth;
    if (!run?.grid || !width) return;
    const { rows, cols, prefix } = run.grid;
    patches.resize(run.grid, Math.max(3, Math.min((Math.min(WIDEST, width) - 8) / cols, TALLEST / rows)));
    patches.draw(this.image);
    patches.frame(token - prefix, css("--viz-mark", patches.canvas), 3);
    if (hovered !== null) patches.frame(hovered - prefix, css("--body-text-color"), 2);
    const label = `Picture of ${rows} × ${cols} patches. Chosen: ${run.named(token)}. Arrow keys choose a patch.`;
    patches.canvas.setAttribute("aria-label", label);
  }
}
