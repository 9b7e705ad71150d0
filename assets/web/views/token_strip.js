// Tokens as chips in their order: shaded without being built again, walked by arrows, chosen by click.

import { theme } from "../core/colors.js";
import { button, count, el } from "../core/dom.js";
import { numbered } from "../core/token_names.js";
import { ChipColors } from "./chip_colors.js";
import { STEPS } from "./one_stop.js";

/** @import { Shades } from "./chip_colors.js" */
/** @typedef {{ label: string, preview: (unit: number | null) => unknown, choose: (unit: number) => unknown,
 *   beyond?: () => unknown }} Acts `preview` is told the unit under the pointer or the focus, or null; `choose`
 *   one that was clicked; `beyond` of an arrow that would leave the chips */

const MOST = 600; // chips at a time; a longer text comes in parts
const MOVE = 400;

export class Words {
  text = el("p", { class: "viz-words", dir: "auto", role: "group" });
  part = el("span");
  far = this.#mover("Go there", () => this.strongest - MOST / 2);
  earlier = this.#mover("Earlier", () => this.start - MOVE);
  later = this.#mover("Later", () => this.start + MOVE);
  parts = el("p", { class: "viz-caption viz-parts", hidden: true }, this.part, this.far, this.earlier, this.later);
  side = "key";
  start = 0;
  strongest = -1;
  /** @type {Unit[] | Shown} */
  units = [];
  /** @type {number[]} */
  segments = [];
  /** @type {HTMLButtonElement[]} */
  chips = [];
  colors = new ChipColors();
  /** @type {Shades | null} of the last choice, with its titles */
  chosen = null;
  /** @type {Titles | null} */
  titles = null;
  /** @type {number | undefined} */
  #around;
  #marked = -1;
  #revealed = -1;
  /** @type {HTMLElement | undefined} */
  #pointed;

  constructor(/** @type {Acts} */ { label, preview, choose, beyond = () => {} }) {
    const [{ text }, unit] = [this, (/** @type {Event} */ event) => this.#unit(event.target)];
    this.beyond = beyond;
    text.setAttribute("aria-label", label);
    text.addEventListener("pointerover", (event) => {
      const at = unit(event); // the gaps between chips keep what is previewed
      if (at !== null) this.colors.tip(at);
      if (at !== null && event.pointerType !== "touch") preview(at);
    });
    text.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && preview(null));
    text.addEventListener("focusin", (event) => text.querySelector(":focus-visible") && preview(unit(event)));
    text.addEventListener("focusout", () => preview(null));
    text.addEventListener("click", (event) => {
      const at = unit(event);
      if (at !== null) choose(at);
    });
    text.addEventListener("keydown", (event) => this.#key(event));
  }

  /** Units are what is shown as one: a token, or a word of several. Chips are built only when they change,
   * and the part that was gone to stays until another unit is chosen.
   * @type {(units: Unit[] | Shown, segments: number[], around: number) => void} */
  show(units, segments, around) {
    const stays = around === this.#around || this.#holds(around) || units.length <= MOST;
    this.#around = around;
    if (this.units === units && stays) return;
    Object.assign(this, { units, segments, strongest: -1, chosen: null, titles: null });
    this.#build(Math.max(0, around) - MOST / 2);
  }

  /** Change colors alone, of the chips in sight: the others follow when they come into it. `titles`
   * says each chip's exact number, and comes only with a choice.
   * @type {(values: Float32Array | null, scale: Scale | null, titles?: Titles, colors?: Colors) => void} */
  paint(values, scale, titles, colors = theme()) {
    const shown = values && scale && { values, scale, colors };
    if (titles) {
      [this.chosen, this.titles] = [shown, titles];
      this.strongest = values ? largestAt(values, this.units.length) : -1;
    }
    this.colors.paint(shown, titles);
    if (titles) this.#tell();
  }

  mark(/** @type {number} */ unit) {
    for (let i = 0; i < this.chips.length; i++) {
      const chosen = this.start + i === unit;
      const chip = this.chips[i];
      if (chip.getAttribute("aria-pressed") !== String(chosen)) chip.setAttribute("aria-pressed", String(chosen));
      const place = chosen || (i === 0 && !this.#holds(unit)) ? 0 : -1;
      if (chip.tabIndex !== place) chip.tabIndex = place;
    }
    this.#marked = unit;
    this.reveal();
  }

  // Bring the chosen chip into sight, once for each choice.
  reveal() {
    if (this.#revealed !== this.#marked && this.#scrollTo(this.#marked)) this.#revealed = this.#marked;
  }

  // Outline the unit whose row is previewed.
  point(/** @type {number | null} */ unit) {
    this.#pointed?.classList.remove("viz-pointed");
    this.#pointed = unit === null ? undefined : this.chips[unit - this.start];
    this.#pointed?.classList.add("viz-pointed");
  }

  focus(/** @type {number} */ unit) {
    const visible = /** @type {FocusOptions} */ ({ focusVisible: true });
    this.chips[unit - this.start]?.focus(visible);
  }

  #build(/** @type {number} */ from) {
    const { units, segments } = this;
    this.start = Math.max(0, Math.min(from, units.length - MOST));
    const stop = Math.min(units.length, this.start + MOST);
    this.chips = [];
    const nodes = [];
    for (let at = this.start; at < stop; at++) {
      const { name, tokens } = units[at];
      if (at && segments[tokens[0]] !== segments[units[at - 1].tokens[0]]) nodes.push(el("hr", {}));
      const chip = el(
        "button",
        {
          type: "button",
          class: "viz-word viz-toned",
          tabindex: "-1",
          "data-token": tokens[0],
          "data-unit": at,
          dir: "auto",
          "aria-pressed": "false",
        },
        el("span", {}, name),
      );
      this.chips.push(chip);
      nodes.push(chip);
    }
    this.text.replaceChildren(...nodes);
    this.colors.show(this.chips, this.start);
    this.parts.hidden = stop - this.start === units.length;
    this.#revealed = -1;
    this.earlier.disabled = this.start === 0;
    this.later.disabled = stop === units.length;
    this.#tell();
  }

  // Describe the visible part, and whether it includes the strongest token.
  #tell() {
    if (this.parts.hidden || !this.chips.length) return;
    const { units, strongest } = this;
    const [from, to] = [units[this.start], units[this.start + this.chips.length - 1]];
    const of = "places" in units ? units.places.length : units.length;
    this.far.hidden = strongest < 0 || this.#holds(strongest);
    const { name, tokens } = units[Math.max(0, strongest)];
    const elsewhere = `; the strongest ${this.side} ${numbered(tokens[0], name)} is in another part`;
    const part = `Tokens ${count(from.tokens[0])} to ${count(to.tokens[to.tokens.length - 1])} of ${count(of)}`;
    this.part.textContent = `${part}${this.far.hidden ? "" : elsewhere}.`;
  }

  // Within its box only: scrollIntoView would move the page too. Whether there was a box to see it in.
  #scrollTo(/** @type {number} */ unit) {
    const chip = this.chips[unit - this.start];
    const box = this.text.parentElement;
    if (!chip || !box?.clientHeight) return false;
    const [inner, outer] = [chip.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom)
      box.scrollTop += inner.top - outer.top - box.clientHeight / 2;
    return true;
  }

  /** @type {(text: string, from: () => number) => HTMLButtonElement} */
  #mover(text, from) {
    return button(text, (event) => {
      const strongest = event.currentTarget === this.far ? this.strongest : null;
      this.#build(from());
      if (this.titles) this.paint(this.chosen?.values ?? null, this.chosen?.scale ?? null, this.titles);
      this.mark(this.#marked);
      this.#scrollTo(strongest ?? this.start);
    });
  }

  #holds(/** @type {number} */ unit) {
    return unit >= this.start && unit < this.start + this.chips.length;
  }

  #unit(/** @type {EventTarget | null} */ target) {
    const chip = target instanceof Element && target.closest(".viz-word");
    return chip instanceof HTMLElement ? Number(chip.dataset.unit) : null;
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const unit = this.#unit(event.target);
    if (unit === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const [by, last] = [STEPS[event.key], this.start + this.chips.length - 1];
    if (!by) return;
    event.preventDefault();
    if (by === 1 && unit === last) return this.beyond();
    const to = Math.max(this.start, Math.min(last, unit + by));
    for (const chip of this.chips) chip.tabIndex = -1;
    this.chips[to - this.start].tabIndex = 0;
    this.focus(to);
  }
}

/** The place of the largest, or -1 where none is above 0. @type {(values: Float32Array, length: number) => number} */
function largestAt(values, length) {
  let found = -1;
  for (let at = 0; at < length; at++) if (values[at] > (found < 0 ? 0 : values[found])) found = at;
  return found;
}
