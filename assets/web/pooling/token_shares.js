// Numbers over the tokens of an input: chips with their numbers, or the patches of its picture.

import { caption, context2d, count, css, el, loadPicture, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { signedColors } from "../core/signed_colors.js";
import { PatchCanvas } from "../views/patch_canvas.js";
import { fixed, signedBar, tint } from "./results.js";

/** @typedef {{ tokens: string[], values: Maybe[], grid: Grid | null, picture: string, unit: string,
 *   say: (at: number) => string }} Shown a number a token, null where there is none; `say` puts one in words */

const [MOST, LISTED, WIDEST, TALLEST] = [400, 6, 380, 300];

export class Shares {
  /** @type {Shown | null} */
  shown = null;
  high = 1;
  /** @type {number | null} */
  pointed = null; // patch
  /** @type {HTMLImageElement | null} */
  image = null;
  address = ""; // of the image
  told = el("p", { class: "viz-caption viz-pool-told", role: "status" });
  top = el("p", { class: "viz-pool-top" });
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  chips = el("p", { class: "viz-words", dir: "auto" });
  note = caption();
  patches = new PatchCanvas({
    point: (at) => this.#point(at),
    choose: (at) => this.#point(at),
    from: () => this.pointed ?? -1,
    beyond: () => {},
  });
  #loading = new Latest();

  constructor(/** @type {string} */ label) {
    const { top, chips, patches, note, scale, told } = this;
    patches.canvas.addEventListener("blur", () => this.#point(null));
    const named = { class: "viz-pool-shares", role: "group", "aria-label": label };
    this.node = el("div", named, top, chips, patches.canvas, note, scale, told);
    onWidth(this.node, () => this.#drawPicture());
  }

  show(/** @type {Shown} */ shown) {
    const { tokens, values, grid, picture, unit, say } = shown;
    this.shown = shown;
    this.high = Math.max(1e-9, ...values.map((value) => Math.abs(value ?? 0)));
    this.pointed = null;
    this.told.textContent = "";
    const order = [...values.keys()].filter((at) => values[at]);
    const most = order.sort((a, b) => Number(values[b]) - Number(values[a])).slice(0, LISTED);
    this.top.textContent = most.length ? `Most: ${most.map(say).join("; ")}.` : "";
    const first = grid ? grid.prefix : Math.min(tokens.length, MOST);
    const beside = grid && first ? [el("span", { class: "viz-caption" }, "Beside the picture: ")] : [];
    this.chips.replaceChildren(...beside, ...tokens.slice(0, first).map((_, at) => this.#chip(shown, at)));
    const cut = !grid && tokens.length > MOST;
    this.note.textContent = cut ? `The first ${MOST} of ${count(tokens.length)} tokens.` : "";
    const end = fixed(this.high);
    this.scale.replaceChildren(...signedBar(values.some((value) => Number(value) < 0) ? `−${end}` : "0", end, unit));
    this.patches.canvas.hidden = !grid;
    if (grid) this.#load(picture);
  }

  fail(/** @type {string} */ sentence) {
    this.shown = null;
    this.patches.canvas.hidden = true;
    this.top.textContent = sentence;
    for (const node of [this.chips, this.note, this.scale, this.told]) node.replaceChildren();
  }

  /** @type {(shown: Shown, at: number) => HTMLElement} */
  #chip({ tokens, values, say }, at) {
    const value = values[at];
    const onpointerenter = () => this.told.replaceChildren(say(at));
    const chip = el("span", { class: "viz-word viz-pool-chip", "data-token": at, title: say(at), onpointerenter });
    chip.append(el("bdi", {}, tokens[at]), el("span", { class: "viz-pool-number" }, fixed(value)));
    return tint(chip, value && value / this.high);
  }

  #load(/** @type {string} */ picture) {
    return this.#loading.run(async (fresh) => {
      if (this.address !== picture) this.image = await fresh(loadPicture(picture)); // a run may have kept none
      this.address = picture;
      this.#drawPicture();
    });
  }

  #drawPicture() {
    const [grid, width] = [this.shown?.grid, this.node.clientWidth];
    if (!grid || !width) return;
    const { patches } = this;
    patches.resize(grid, Math.max(3, Math.min(Math.min(WIDEST, width) / grid.cols, TALLEST / grid.rows)));
    patches.draw(this.image, this.#overlay(grid));
    if (this.pointed !== null) patches.frame(this.pointed, css("--viz-mark", patches.canvas), 2);
    const walk = "Arrow keys walk through the patches.";
    patches.canvas.setAttribute("aria-label", `Picture of ${grid.rows} × ${grid.cols} patches, shaded. ${walk}`);
  }

  // A pixel a patch: the stronger, the less of the picture is seen.
  #overlay(/** @type {Grid} */ { rows, cols, prefix }) {
    const canvas = el("canvas");
    [canvas.width, canvas.height] = [cols, rows];
    const pixels = new ImageData(cols, rows);
    const color = signedColors();
    for (let at = 0; at < rows * cols; at++) {
      const value = (this.shown?.values[prefix + at] ?? 0) / this.high;
      pixels.data.set([...color(value), 255 * (0.15 + 0.7 * Math.sqrt(Math.abs(value)))], 4 * at);
    }
    context2d(canvas).putImageData(pixels, 0, 0);
    return canvas;
  }

  #point(/** @type {number | null} */ at) {
    if (!this.shown?.grid || this.pointed === at) return;
    this.pointed = at;
    this.told.textContent = at === null ? "" : this.shown.say(this.shown.grid.prefix + at);
    this.#drawPicture();
  }
}
