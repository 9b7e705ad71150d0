// The tokens of a run, or the patches of its picture beside its prefix tokens: one is chosen, one is pointed at, and
// each may be shaded by a number.

import { largest, makeScale, SIGNED, theme } from "../core/colors.js";
import { css, el, loadPicture, number, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { numbered } from "../core/token_names.js";
import { overlay, PatchCanvas } from "./patch_canvas.js";
import { Words } from "./token_strip.js";

/** @typedef {{ hover: (token: number | null) => unknown, choose: (token: number) => unknown }} Acts */
/** @typedef {Pick<Run, "grid" | "segments" | "named"> & { shown: (switches: { hide: boolean, words: boolean }) => Unit[],
 *   picture: () => Promise<HTMLImageElement | null> }} Chosen a run, as far as it is chosen from */
/** @typedef {{ values: Float32Array, say: (token: number) => string, write?: (value: number) => string }} Shades a number a
 *   token, and its sentence; with `write` it may be below 0, and stands on its chip */

const SIZE = { widest: 440, tallest: 260 };
export const OPACITY = 0.8; // largest opacity of the tint on a picture

/** How its parts are called; the picture by what it shows and which patch is chosen. */
export const CHOICE = {
  tokens: "The tokens. Arrow keys move, Enter chooses.",
  beside: "Beside the picture: ", // precedes the tokens that are not patches
  patches: "picture of patches",
  picture: (/** @type {string} */ size, /** @type {string} */ chosen) =>
    `Picture of ${size} patches. Chosen: ${chosen}. Arrow keys choose a patch.`,
};

/** Tokens that no run here has; the picture by its address.
 * @type {(tokens: string[], grid: Grid | null, picture: string) => Chosen} */
export function tokensOf(tokens, grid, picture) {
  const units = tokens.map((name, at) => ({ name, tokens: [at] }));
  const named = (/** @type {number} */ at) => numbered(at, tokens[at]);
  return { grid, segments: [], named, shown: () => units, picture: () => loadPicture(picture) };
}

export class TokenChoice {
  #entering = new Latest();
  node = el("div", { class: "viz-token-choice" });
  /** @type {Chosen | null} */
  run = null;
  /** @type {HTMLImageElement | null} */
  image = null;
  beside = el("span", { class: "viz-caption" });
  names = CHOICE;
  /** @type {Unit[]} all tokens, or those beside the patches */
  units = [];
  token = 0;
  /** @type {number | null} */
  hovered = null;
  /** @type {Shades | null} */
  shades = null;

  constructor(/** @type {Acts} */ { hover, choose }, size = SIZE) {
    this.size = size;
    const first = () => this.units.length; // of the patches
    this.patches = new PatchCanvas({
      point: (at) => hover(at === null ? null : first() + at),
      choose: (at) => choose(first() + at),
      from: () => this.token - first(),
      beyond: () => first() && this.words.focus(first() - 1),
    });
    const beyond = () => this.run?.grid && this.patches.canvas.focus();
    this.words = new Words({ label: "", preview: hover, choose, beyond });
    this.speak(CHOICE);
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  // In another language.
  speak(/** @type {typeof CHOICE} */ names) {
    this.names = names;
    this.beside.textContent = names.beside;
    this.words.text.setAttribute("aria-label", names.tokens);
    this.patches.canvas.setAttribute("aria-roledescription", names.patches);
  }

  /** @type {(run: Chosen, token: number, shades?: Shades | null) => void} */
  show(run, token, shades = null) {
    if (this.run !== run || (this.shades && !shades)) this.#enter(run);
    Object.assign(this, { token, shades });
    this.words.show(this.units, run.segments, token);
    this.words.mark(token < this.units.length ? token : -1);
    this.draw();
  }

  mark(/** @type {number | null} */ hovered) {
    this.hovered = hovered;
    this.words.point(hovered !== null && hovered < this.units.length ? hovered : null);
    this.draw();
  }

  /** Color scale of the shading: of the patches of a picture, otherwise of the words. */
  get scale() {
    const values = this.shades?.values ?? new Float32Array();
    if (this.shades?.write) return makeScale(SIGNED, largest(values.map(Math.abs)));
    return makeScale("head", largest(this.run?.grid ? values.subarray(this.units.length) : values));
  }

  #enter(/** @type {Chosen} */ run) {
    const { grid } = run;
    Object.assign(this, { run, image: null, hovered: null });
    this.units = run.shown({ hide: false, words: false }).slice(0, grid?.prefix);
    const prefix = grid?.prefix ? [this.beside] : [];
    const picture = grid ? [this.patches.canvas] : [];
    this.node.replaceChildren(...prefix, this.words.text, this.words.parts, ...picture);
    this.#entering.run(async (fresh) => {
      if (!grid) return;
      this.image = await fresh(run.picture());
      this.draw();
    });
  }

  draw() {
    const { run, shades } = this;
    if (run && shades) this.#shadeWords(shades, Boolean(run.grid || shades.write));
    if (run?.grid) this.#drawPicture(run, run.grid);
  }

  /** Beside a picture each has its number written below it. @type {(shades: Shades, written: boolean) => void} */
  #shadeWords({ values, say, write }, written) {
    const scale = write ? this.scale : makeScale("head", largest(values));
    this.words.paint(values, scale, say, theme(scale));
    if (written)
      this.words.colors.tones.forEach((tone, at) => {
        tone.dataset.number = (write ?? number)(values[this.words.start + at]);
      });
  }

  /** @type {(run: Chosen, grid: Grid) => void} */
  #drawPicture(run, { rows, cols, prefix }) {
    const { patches, token, hovered, shades, node } = this;
    const { widest, tallest } = this.size;
    const width = node.clientWidth;
    if (!width) return;
    patches.resize({ rows, cols, prefix }, Math.max(3, Math.min((Math.min(widest, width) - 8) / cols, tallest / rows)));
    patches.draw(this.image, shades && overlay(shades.values.subarray(prefix), patches.grid, this.scale, OPACITY));
    if (shades) patches.outline(token - prefix, css("--viz-mark", patches.canvas), 3);
    else patches.frame(token - prefix, css("--viz-mark", patches.canvas), 3);
    if (hovered !== null) patches.frame(hovered - prefix, css("--body-text-color"), 2);
    patches.canvas.setAttribute("aria-label", this.names.picture(`${rows} × ${cols}`, run.named(token)));
  }
}
