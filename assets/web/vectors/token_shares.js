// Numbers over the tokens of an input: chips with their numbers, or the patches of its picture; one may be chosen.

import { signedColors } from "../core/colors.js";
import { caption, context2d, count, css, el, loadPicture, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { oneStop } from "../views/one_stop.js";
import { PatchCanvas } from "../views/patch_canvas.js";
import { fixed, signedBar, tint } from "./results.js";

/** @typedef {{ tokens: string[], values: Maybe[], grid: Grid | null, picture: string, unit: string,
 *   say: (at: number) => string, why?: string }} Shown a number a token, null where there is none; `say` puts one in
 *   words, and `why` says why there are none */
/** @typedef {{ hover: (token: number | null) => unknown, choose: (token: number) => unknown }} Acts */

const [MOST, LISTED, WIDEST, TALLEST] = [2000, 6, 380, 300];

export class Shares {
  /** @type {Shown | null} */
  shown = null;
  high = 1;
  /** @type {number | null} */
  pointed = null; // token
  token = -1; // that is chosen
  /** @type {HTMLImageElement | null} */
  image = null;
  address = ""; // of the image
  told = el("p", { class: "viz-caption viz-pool-told", role: "status" });
  top = el("p", { class: "viz-pool-top" });
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  chips = el("p", { class: "viz-words", dir: "auto" });
  note = caption();
  patches = new PatchCanvas({
    point: (at) => this.acts.hover(at === null ? null : this.#prefix + at),
    choose: (at) => {
      this.acts.hover(this.#prefix + at); // also where a key led to it
      this.acts.choose(this.#prefix + at);
    },
    from: () => (this.pointed ?? this.token) - this.#prefix,
    beyond: () => {},
  });
  #loading = new Latest();

  /** Without acts of its own, what is chosen is only pointed at. @param {string} label @param {Acts | null} acts */
  constructor(label, acts = null) {
    const { top, chips, patches, note, scale, told } = this;
    const point = (/** @type {number | null} */ at) => this.mark(at);
    this.acts = acts ?? { hover: point, choose: point };
    this.chooses = acts !== null;
    const named = { class: "viz-pool-shares", role: "group", "aria-label": label };
    patches.canvas.addEventListener("blur", () => this.acts.hover(null));
    chips.addEventListener("pointerleave", () => this.acts.hover(null));
    if (acts) oneStop(chips);
    this.node = el("div", named, chips, patches.canvas, note, scale, told, top);
    onWidth(this.node, () => this.#drawPicture());
  }

  get #prefix() {
    return this.shown?.grid?.prefix ?? 0;
  }

  show(/** @type {Shown} */ shown) {
    const { tokens, values, grid, picture, unit, say, why = "" } = shown;
    this.shown = shown;
    this.high = Math.max(1e-9, ...values.map((value) => Math.abs(value ?? 0)));
    const order = [...values.keys()].filter((at) => values[at]);
    const most = order.sort((a, b) => Number(values[b]) - Number(values[a])).slice(0, LISTED);
    this.top.classList.toggle("viz-pool-most", most.length > 0 && !grid);
    this.top.textContent = most.length ? `Most: ${most.map(say).join("; ")}.` : why;
    const first = grid ? grid.prefix : Math.min(tokens.length, MOST);
    const beside = grid && first ? [el("span", { class: "viz-caption" }, "Beside the picture: ")] : [];
    this.chips.replaceChildren(...beside, ...tokens.slice(0, first).map((_, at) => this.#chip(shown, at)));
    const cut = !grid && tokens.length > MOST;
    this.note.textContent = cut ? `The first ${MOST} of ${count(tokens.length)} tokens.` : "";
    const end = fixed(this.high);
    const bar = signedBar(values.some((value) => Number(value) < 0) ? `−${end}` : "0", end, unit);
    this.scale.replaceChildren(...(why ? [] : bar));
    this.patches.canvas.hidden = !grid;
    this.mark(null);
    if (grid) this.#load(picture);
  }

  fail(/** @type {string} */ why) {
    this.show({ tokens: [], values: [], grid: null, picture: "", unit: "", say: String, why });
  }

  // Choose a token, which stays marked.
  pick(/** @type {number} */ token) {
    this.token = token;
    if (!this.chooses) return;
    for (const chip of this.#all()) chip.setAttribute("aria-pressed", String(chip.dataset.token === String(token)));
    this.#drawPicture();
  }

  // Point at a token, or at none.
  mark(/** @type {number | null} */ token) {
    this.pointed = token;
    this.told.textContent = token === null || !this.shown ? "" : this.shown.say(token);
    for (const chip of this.#all()) chip.classList.toggle("viz-pointed", chip.dataset.token === String(token));
    this.#drawPicture();
  }

  #all() {
    return /** @type {NodeListOf<HTMLElement>} */ (this.chips.querySelectorAll(".viz-word"));
  }

  /** @type {(shown: Shown, at: number) => HTMLElement} */
  #chip({ tokens, values, say }, at) {
    const { acts, chooses } = this;
    const hover = () => acts.hover(at);
    const pressed = { type: "button", "aria-pressed": String(at === this.token), onclick: () => acts.choose(at) };
    const more = { title: say(at), onpointerenter: hover, ...(chooses && { onfocus: hover, ...pressed }) };
    const chip = el(chooses ? "button" : "span", { class: "viz-word viz-pool-chip", "data-token": at, ...more });
    const value = values[at];
    chip.append(el("bdi", {}, tokens[at]));
    if (value != null) chip.append(el("span", { class: "viz-pool-number" }, fixed(value)));
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
    if (this.token >= 0) patches.frame(this.token - grid.prefix, css("--viz-mark", patches.canvas), 3);
    if (this.pointed !== null) patches.frame(this.pointed - grid.prefix, css("--body-text-color"), 2);
    const walk = `Arrow keys ${this.chooses ? "choose a patch" : "walk through the patches"}.`;
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

  // The middle of a patch on the screen, for tests and tools.
  box(/** @type {number} */ token) {
    return this.patches.box(token - this.#prefix);
  }
}
