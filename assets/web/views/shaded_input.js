// The text or the picture itself, shaded by one layer's row of a depth figure.

import { inkOn, largest, makeScale, rgbText, SIGNED, shade, theme } from "../core/colors.js";
import { css, el, loadPicture, number, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { signedRamp } from "../core/signed_colors.js";
import { PatchCanvas } from "./patch_canvas.js";
import { overlay } from "./patch_canvas.js";
import { descending, gradient, TOLD, tintGradient } from "./shading.js";
import { Words } from "./token_strip.js";

/** @import { Colors, Scale } from "../core/colors.js" */
/** @import { Grid, Maybe } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @typedef {{ run: Run, query: number, row: ArrayLike<Maybe>, numbers: Float64Array, step: number, unit: string,
 *   own: boolean, signed: boolean, shown: number[] }} Row a number for each block of `step` of the `shown` tokens, NaN
 *   where the query may not attend; `own` says that the query begins with a part of its own, beside which the others are
 *   small, and `signed` that they may be below 0 */

const OPACITY = 0.8; // largest opacity of the tint on an image
const MAX_PICTURE = 440;

export class FlowSource {
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

  /** `role` says what the chosen token is: the query whose row is shown, or only chosen.
   * @param {(token: number) => unknown} choose */
  constructor(choose, role = "query") {
    this.choose = choose;
    this.role = role;
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

  /** With `hide`, the row leaves out special tokens.
   * @type {(run: Run, query: number, row: ArrayLike<Maybe>, step: number, unit: string, own?:
   *   boolean, hide?: boolean, signed?: boolean) => void} */
  show(run, query, row, step, unit, own = false, hide = false, signed = false) {
    if (this.run !== run) this.#enter(run);
    const numbers = Float64Array.from(row, (value) => value ?? 0);
    this.shown = { run, query, row, numbers, step, unit, own, signed, shown: run.visible(hide) };
    this.going = query;
    this.#draw();
    this.told.textContent = this.#summary(this.shown);
  }

  #enter(/** @type {Run} */ run) {
    Object.assign(this, { run, image: null });
    this.body.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.words.parts.hidden = true;
    this.body.replaceChildren(run.grid ? this.patches.canvas : this.words.text);
    this.#entering.run(async (fresh) => {
      if (!run.grid) return;
      this.image = await fresh(loadPicture(run.url("picture.png")));
      this.#draw();
    });
  }

  #draw() {
    if (!this.shown || !this.node.clientWidth) return;
    const { run, numbers, own, signed, unit, step, query } = this.shown;
    const { grid } = run;
    const colors = signed ? signedRamp() : theme();
    const scale = signed
      ? makeScale(SIGNED, largest(numbers.map(Math.abs)))
      : makeScale("head", largest(othersOf(this.shown)) || largest(numbers));
    const { high } = grid ? this.#drawPicture(this.shown, grid) : scale;
    if (!grid) this.#drawWords(this.shown, scale, colors);
    const background = grid
      ? `${tintGradient("right", makeScale("head", high), OPACITY)}, linear-gradient(to bottom, #222222 50%, #dddddd 50%)`
      : gradient("right", scale, colors);
    const bar = el("i", { class: "viz-stat-bar", style: `background: ${background}` });
    const blocks = step > 1 ? ` Each shade is the ${signed ? "sum" : "largest"} of ${step} tokens.` : "";
    const low = !signed ? "0" : grid ? "Below 0: not tinted. 0" : `−${number(high)}`;
    const most = `(the largest on ${own ? "a patch other than the query" : "a patch"}; shown on dark and on light)`;
    const beyond =
      own && numbers[placeOf(this.shown, query)] > high ? " (the largest on a token other than the query)" : "";
    this.scaleNode.replaceChildren(`${low} `, bar, ` ${number(high)}${grid ? ` ${most}` : beyond}, ${unit}.${blocks}`);
  }

  // Summarize the row's largest values.
  #summary(/** @type {Row} */ row) {
    const { run, numbers, step, query, own, shown } = row;
    const most = descending(numbers, own ? placeOf(row, query) : -1).slice(0, TOLD);
    const named = (/** @type {number} */ at) =>
      step > 1
        ? `tokens ${shown[at * step]}–${shown[Math.min(shown.length, (at + 1) * step) - 1]}`
        : run.named(shown[at]);
    const whose =
      this.role === "query" && query >= 0
        ? `Query ${run.named(query)}: ${own ? "apart from itself, " : ""}largest`
        : "Largest";
    return `${whose} for ${most.map((at) => `${named(at)} ${number(numbers[at])}`).join(", ") || "nothing else"}.`;
  }

  /** @type {(shown: Row, scale: Scale, colors: Colors) => void} */
  #drawWords(shown, scale, colors) {
    const { run, query } = shown;
    const units = run.shown({ hide: shown.shown.length < run.n, words: false });
    const chosen = units.places[query] ?? -1;
    this.words.show(units, run.segments, chosen);
    this.words.mark(chosen);
    const values = Float32Array.from(units, ({ tokens }) => valueAt(shown, tokens[0]) ?? 0);
    this.words.paint(values, scale, (at) => sentence(shown, units[at].tokens[0]), colors);
  }

  /** @type {(shown: Row, at: number) => HTMLElement} */
  #chip(shown, at) {
    const { run, query, numbers } = shown;
    const chip = el(
      "button",
      {
        type: "button",
        tabindex: "-1",
        class: "viz-word",
        "data-token": at,
        title: sentence(shown, at),
        "aria-pressed": String(at === query),
        onclick: () => this.choose(at),
        onpointerenter: () => this.tell(at),
      },
      el("bdi", {}, run.tokens[at]),
    );
    const color = shade(valueAt(shown, at) ?? 0, makeScale("head", largest(othersOf(shown)) || largest(numbers)));
    chip.style.background = rgbText(color);
    chip.style.color = inkOn(color);
    return chip;
  }

  /** Draws the prefix tokens and the patches; returns the scale of their tints. @type {(shown: Row, grid: Grid) => Scale} */
  #drawPicture(shown, grid) {
    const { run, query, own } = shown;
    const { patches } = this;
    const said = (/** @type {string} */ text) => el("span", { class: "viz-caption" }, text);
    const prefix = el("p", { class: "viz-words viz-flow-prefix" }, said(grid.prefix ? "Beside the picture: " : ""));
    for (const at of shown.shown.filter((token) => token < grid.prefix))
      prefix.append(this.#chip(shown, at), said(`${number(valueAt(shown, at))} `));
    if (patches.canvas.previousSibling) patches.canvas.previousSibling.replaceWith(prefix);
    else this.body.prepend(prefix);
    const room = Math.min(MAX_PICTURE, this.node.clientWidth) - 8;
    patches.resize(grid, Math.max(3, Math.min(room / grid.cols, MAX_PICTURE / grid.rows)));
    const values = valuesOf(shown, grid.prefix);
    const others = own ? values.filter((_, at) => at !== query - grid.prefix) : values;
    const tints = makeScale("head", largest(others) || largest(values));
    patches.draw(this.image, overlay(values, grid, tints, OPACITY));
    patches.outline(query - grid.prefix, css("--viz-mark", this.node), 3);
    const chosen = query < 0 ? "where the head reads" : `${this.role} ${run.named(query)}`;
    const beyond = grid.prefix ? "; the prefix tokens are above the first row" : "";
    const label = `Picture of ${grid.rows} rows × ${grid.cols} columns of patches, shaded. Chosen: ${chosen}. Arrow keys choose a patch${beyond}.`;
    patches.canvas.setAttribute("aria-label", label);
    return tints;
  }

  /** Left and right go through the prefix tokens too, once one of them is the query.
   * @type {(patch: number, beside: number) => void} */
  #walk(patch, beside) {
    const { prefix } = this.patches.grid;
    const among = this.going >= 0 && this.going < prefix;
    this.going = Math.max(0, beside && among ? this.going + beside : prefix + patch);
    this.choose(this.going);
  }
}

// The block that a token is in; -1 where it is hidden.
const placeOf = (/** @type {Row} */ { shown, step }, /** @type {number} */ at) => {
  const place = shown.length === 0 || shown[at] === at ? at : shown.indexOf(at);
  return place < 0 ? -1 : Math.floor(place / step);
};
const valueAt = (/** @type {Row} */ row, /** @type {number} */ at) => row.row[placeOf(row, at)];
const valuesOf = (/** @type {Row} */ shown, /** @type {number} */ from) =>
  Float32Array.from({ length: shown.run.n - from }, (_, at) => valueAt(shown, from + at) ?? 0);
// Without the query's own part, where that would leave the others pale.
const othersOf = (/** @type {Row} */ row) =>
  row.own && row.query >= 0 ? row.numbers.filter((_, at) => at !== placeOf(row, row.query)) : row.numbers;
const sentence = (/** @type {Row} */ shown, /** @type {number} */ at) =>
  `${shown.run.named(at)}: ${number(valueAt(shown, at))}`;
