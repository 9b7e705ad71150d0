// Tokens as chips in their order: shaded without being built again, walked by arrows, chosen by click.

import { theme } from "./colors.js";
import { count, el } from "./dom.js";
import { pairOf } from "./shading.js";

const MOST = 600; // chips at a time; a longer text comes in parts
const MOVE = 400;

export class Words {
  // `preview` is told the unit under the pointer or the focus, or null; `choose` one that was clicked;
  // `beyond` of an arrow that would leave the chips.
  constructor({ label, preview, choose, beyond = () => {} }) {
    Object.assign(this, { preview, choose, beyond, units: [], chips: [], seen: new Set(), start: 0 });
    this.text = el("p", { class: "viz-words", dir: "auto", role: "group", "aria-label": label });
    this.part = el("span", {});
    this.parts = el("p", { class: "viz-caption viz-parts", hidden: true }, this.part,
      this.#mover("Earlier", -MOVE), this.#mover("Later", MOVE));
    this.text.addEventListener("pointerover", (event) => this.#pointed(event));
    this.text.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.preview(null));
    this.text.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && this.preview(this.#unit(event.target)));
    this.text.addEventListener("focusout", () => this.preview(null));
    this.text.addEventListener("click", (event) => this.#clicked(event));
    this.text.addEventListener("keydown", (event) => this.#key(event));
  }

  // Units are what is shown as one: a token, or a word of several. Chips are built only when they change.
  show(units, segments, around) {
    const inside = around >= this.start && around < this.start + this.chips.length;
    if (this.units === units && (inside || units.length <= MOST)) return;
    this.units = units;
    this.segments = segments;
    this.#build(Math.max(0, around) - MOST / 2);
  }

  // Change colors alone, of the chips in sight: the others follow when they come into it. `titles`
  // says each chip's exact number, and comes only with a choice.
  paint(values, scale, titles, colors = theme()) {
    this.shown = { values, scale, colors };
    for (const at of this.seen) this.#color(at);
    if (!titles) return;
    Object.assign(this, { values, scale, titles });
    this.chips.forEach((chip, at) => { chip.title = titles(this.start + at); });
  }

  mark(unit) {
    for (let i = 0; i < this.chips.length; i++) {
      const chosen = this.start + i === unit;
      const chip = this.chips[i];
      if (chip.getAttribute("aria-pressed") !== String(chosen)) chip.setAttribute("aria-pressed", String(chosen));
      chip.tabIndex = chosen || (i === 0 && !this.#holds(unit)) ? 0 : -1;
    }
    this.marked = unit;
  }

  // Outline the unit whose row is previewed.
  point(unit) {
    this.pointed?.classList.remove("viz-pointed");
    this.pointed = this.chips[unit - this.start];
    if (unit !== null) this.pointed?.classList.add("viz-pointed");
  }

  focus(unit) {
    this.chips[unit - this.start]?.focus({ focusVisible: true });
  }

  #build(from) {
    const { units, segments } = this;
    this.start = Math.max(0, Math.min(from, units.length - MOST));
    const stop = Math.min(units.length, this.start + MOST);
    this.chips = [];
    this.painted = [];
    const nodes = [];
    for (let at = this.start; at < stop; at++) {
      const { name, tokens } = units[at];
      if (at && segments[tokens[0]] !== segments[units[at - 1].tokens[0]]) nodes.push(el("hr", {}));
      const chip = el("button", { type: "button", class: "viz-word", tabindex: "-1", "data-token": tokens[0], "data-unit": at, dir: "auto", "aria-pressed": "false" }, name);
      this.chips.push(chip);
      nodes.push(chip);
    }
    this.text.replaceChildren(...nodes);
    this.#watch();
    this.parts.hidden = stop - this.start === units.length;
    this.part.textContent = `Tokens ${count(this.start)} to ${count(stop - 1)} of ${count(units.length)}. `;
    const [earlier, later] = this.parts.querySelectorAll("button");
    [earlier.disabled, later.disabled] = [this.start === 0, stop === units.length];
  }

  #color(at) {
    const { values, scale, colors } = this.shown;
    const pair = values ? pairOf(values[this.start + at], scale, colors) : ["", ""];
    if (this.painted[at] === pair) return;
    const { style } = this.chips[at];
    style.backgroundColor = pair[0];
    if (this.painted[at]?.[1] !== pair[1]) style.color = pair[1];
    this.painted[at] = pair;
  }

  #watch() {
    this.sight?.disconnect();
    this.seen = new Set();
    this.sight = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const at = Number(target.dataset.unit) - this.start;
        if (this.chips[at] !== target) continue;
        if (isIntersecting) this.seen.add(at);
        else this.seen.delete(at);
        if (isIntersecting && this.shown) this.#color(at);
      }
    });
    for (const chip of this.chips) this.sight.observe(chip);
  }

  #mover(text, by) {
    return el("button", { type: "button", class: "viz-small", onclick: () => {
      this.#build(this.start + by);
      if (this.titles) this.paint(this.values, this.scale, this.titles);
      this.mark(this.marked);
    } }, text);
  }

  #holds(unit) {
    return unit >= this.start && unit < this.start + this.chips.length;
  }

  #unit(target) {
    const chip = target.closest?.(".viz-word");
    return chip ? Number(chip.dataset.unit) : null;
  }

  // The gaps between chips keep what is previewed.
  #pointed(event) {
    const unit = this.#unit(event.target);
    if (unit !== null && event.pointerType !== "touch") this.preview(unit);
  }

  #clicked(event) {
    const unit = this.#unit(event.target);
    if (unit !== null) this.choose(unit);
  }

  #key(event) {
    const unit = this.#unit(event.target);
    if (unit === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.start + this.chips.length - 1;
    const moves = { ArrowLeft: unit - 1, ArrowUp: unit - 1, ArrowRight: unit + 1, ArrowDown: unit + 1, Home: this.start, End: last };
    if (!(event.key in moves)) return;
    event.preventDefault();
    if (moves[event.key] > last) return this.beyond();
    const to = Math.max(this.start, moves[event.key]);
    for (const chip of this.chips) chip.tabIndex = -1;
    this.chips[to - this.start].tabIndex = 0;
    this.focus(to);
  }
}
