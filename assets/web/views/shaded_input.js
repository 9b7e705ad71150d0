// The text or the picture itself, shaded by a number for each token.

import { inkOn, largest, makeScale, rgbText, shade, theme } from "../core/colors.js";
import { css, el, number, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { overlay, PatchCanvas } from "./patch_canvas.js";
import { descending, gradient, TOLD, tintGradient } from "./shading.js";
import { Words } from "./token_strip.js";

/** @typedef {{ run: Run, token: number, numbers: Float64Array, unit: string }} Row of the run's tokens, of which one is
 *   chosen */

const OPACITY = 0.8; // largest opacity of the tint on an image
const MAX_PICTURE = 440;

export class ShadedInput {
  #entering = new Latest();
  told = el("p", { class: "viz-caption viz-flow-told", role: "status" });
  body = el("div", { class: "viz-source-body" });
  scaleNode = el("p", { class: "viz-caption viz-stat-scale" });
  /** @type {Run | null} */
  run = null;
  /** @type {Row | null} */
  shown = null;
  /** @type {HTMLImageElement | null} */
  image = null;
  going = 0; // chosen last, though its row may not have come

  /** @param {(token: number) => unknown} choose */
  constructor(choose) {
    this.choose = choose;
    const tell = (/** @type {number | null} */ at) => {
      if (at !== null && this.shown) this.told.textContent = sentence(this.shown, at);
    };
    this.tell = tell;
    const label = "The tokens. Arrow keys move, Enter chooses.";
    const token = (/** @type {number} */ unit) => this.words.units[unit].tokens[0];
    this.words = new Words({
      label,
      choose: (unit) => choose(token(unit)),
      preview: (unit) => tell(unit === null ? null : token(unit)),
    });
    this.patches = new PatchCanvas({
      point: (at) => tell(at === null ? null : at + this.patches.grid.prefix),
      choose: (at, key) => this.#walk(at, { ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0),
      from: () => this.going - this.patches.grid.prefix,
      beyond: () => this.patches.grid.prefix && this.#walk(-1, 0),
    });
    this.node = el("div", { class: "viz-flow-source" }, this.words.parts, this.body, this.scaleNode, this.told);
    onWidth(this.node, () => this.#draw());
  }

  /** @type {(run: Run, token: number, row: ArrayLike<Maybe>, unit: string) => void} */
  show(run, token, row, unit) {
    if (this.run !== run) this.#enter(run);
    this.shown = { run, token, numbers: Float64Array.from(row, (value) => value ?? 0), unit };
    this.going = token;
    this.#draw();
    this.told.textContent = summary(this.shown);
  }

  #enter(/** @type {Run} */ run) {
    Object.assign(this, { run, image: null });
    this.body.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.words.parts.hidden = true;
    this.body.replaceChildren(run.grid ? this.patches.canvas : this.words.text);
    this.#entering.run(async (fresh) => {
      if (!run.grid) return;
      this.image = await fresh(run.picture());
      this.#draw();
    });
  }

  #draw() {
    if (!this.shown || !this.node.clientWidth) return;
    const { run, numbers, unit } = this.shown;
    const { grid } = run;
    const scale = makeScale("head", largest(numbers));
    const { high } = grid ? this.#drawPicture(this.shown, grid) : scale;
    if (!grid) this.#drawWords(this.shown, scale);
    const background = grid
      ? `${tintGradient("right", makeScale("head", high), OPACITY)}, linear-gradient(to bottom, #222222 50%, #dddddd 50%)`
      : gradient("right", scale, theme());
    const bar = el("i", { class: "viz-stat-bar", style: `background: ${background}` });
    const most = grid ? " (the largest on a patch; shown on dark and on light)" : "";
    this.scaleNode.replaceChildren("0 ", bar, ` ${number(high)}${most}, ${unit}.`);
  }

  /** @type {(shown: Row, scale: Scale) => void} */
  #drawWords(shown, scale) {
    const { run, token, numbers } = shown;
    this.words.show(run.shown({ hide: false, words: false }), run.segments, token);
    this.words.mark(token);
    this.words.paint(Float32Array.from(numbers), scale, (at) => sentence(shown, at), theme());
  }

  /** @type {(shown: Row, at: number) => HTMLElement} */
  #chip(shown, at) {
    const { run, token, numbers } = shown;
    const chip = el(
      "button",
      {
        type: "button",
        tabindex: "-1",
        class: "viz-word",
        "data-token": at,
        title: sentence(shown, at),
        "aria-pressed": String(at === token),
        onclick: () => this.choose(at),
        onpointerenter: () => this.tell(at),
      },
      el("bdi", {}, run.tokens[at]),
    );
    const color = shade(numbers[at], makeScale("head", largest(numbers)));
    chip.style.background = rgbText(color);
    chip.style.color = inkOn(color);
    return chip;
  }

  /** Draws the prefix tokens and the patches; returns the scale of their tints. @type {(shown: Row, grid: Grid) => Scale} */
  #drawPicture(shown, grid) {
    const { run, token, numbers } = shown;
    const { patches } = this;
    const said = (/** @type {string} */ text) => el("span", { class: "viz-caption" }, text);
    const prefix = el("p", { class: "viz-words viz-flow-prefix" }, said(grid.prefix ? "Beside the picture: " : ""));
    for (let at = 0; at < grid.prefix; at++) prefix.append(this.#chip(shown, at), said(`${number(numbers[at])} `));
    if (patches.canvas.previousSibling) patches.canvas.previousSibling.replaceWith(prefix);
    else this.body.prepend(prefix);
    const room = Math.min(MAX_PICTURE, this.node.clientWidth) - 8;
    patches.resize(grid, Math.max(3, Math.min(room / grid.cols, MAX_PICTURE / grid.rows)));
    const values = Float32Array.from(numbers.subarray(grid.prefix));
    const tints = makeScale("head", largest(values));
    patches.draw(this.image, overlay(values, grid, tints, OPACITY));
    patches.outline(token - grid.prefix, css("--viz-mark", this.node), 3);
    const beyond = grid.prefix ? "; the prefix tokens are above the first row" : "";
    const label = `Picture of ${grid.rows} rows × ${grid.cols} columns of patches, shaded. Chosen: token ${run.named(token)}. Arrow keys choose a patch${beyond}.`;
    patches.canvas.setAttribute("aria-label", label);
    return tints;
  }

  /** Left and right go through the prefix tokens too, once one of them is chosen.
   * @type {(patch: number, beside: number) => void} */
  #walk(patch, beside) {
    const { prefix } = this.patches.grid;
    const among = this.going >= 0 && this.going < prefix;
    this.going = Math.max(0, beside && among ? this.going + beside : prefix + patch);
    this.choose(this.going);
  }
}

/** The largest values in words. @type {(shown: Row) => string} */
function summary({ run, numbers }) {
  const most = descending(numbers, -1).slice(0, TOLD);
  return `Largest for ${most.map((at) => `${run.named(at)} ${number(numbers[at])}`).join(", ") || "nothing else"}.`;
}

const sentence = (/** @type {Row} */ { run, numbers }, /** @type {number} */ at) =>
  `${run.named(at)}: ${number(numbers[at])}`;
