// Tokens as chips in their order: shaded without being built again, walked by arrows, chosen by click.

import { theme } from "../core/colors.js";
import { count, el } from "../core/dom.js";
import { pairOf } from "./shading.js";

const MOST = 600; // chips at a time; a longer text comes in parts
const MOVE = 400;
const MARGIN = "240px"; // in which a few chips have room, each on a line of its own
const FEW = "scrollMargin" in IntersectionObserver.prototype ? 8 : 1; // chips that come into sight together

export class Words {
  // `preview` is told the unit under the pointer or the focus, or null; `choose` one that was clicked;
  // `beyond` of an arrow that would leave the chips.
  constructor({ label, preview, choose, beyond = () => {} }) {
    Object.assign(this, { preview, choose, beyond, units: [], chips: [], seen: new Set(), start: 0, side: "key" });
    this.text = el("p", { class: "viz-words", dir: "auto", role: "group", "aria-label": label });
    this.part = el("span", {});
    this.far = this.#mover("Go there", () => this.strongest - MOST / 2);
    this.parts = el(
      "p",
      { class: "viz-caption viz-parts", hidden: true },
      this.part,
      this.far,
      this.#mover("Earlier", () => this.start - MOVE),
      this.#mover("Later", () => this.start + MOVE),
    );
    this.text.addEventListener("pointerover", (event) => this.#pointed(event));
    this.text.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && this.preview(null));
    this.text.addEventListener(
      "focusin",
      (event) => event.target.matches(":focus-visible") && this.preview(this.#unit(event.target)),
    );
    this.text.addEventListener("focusout", () => this.preview(null));
    this.text.addEventListener("click", (event) => this.#clicked(event));
    this.text.addEventListener("keydown", (event) => this.#key(event));
  }

  // Units are what is shown as one: a token, or a word of several. Chips are built only when they change,
  // and the part that was gone to stays until another unit is chosen.
  show(units, segments, around) {
    const stays = around === this.around || this.#holds(around) || units.length <= MOST;
    this.around = around;
    if (this.units === units && stays) return;
    Object.assign(this, { units, segments, strongest: -1, values: null, titles: null, shown: null });
    this.#build(Math.max(0, around) - MOST / 2);
  }

  // Change colors alone, of the chips in sight: the others follow when they come into it. `titles`
  // says each chip's exact number, and comes only with a choice.
  paint(values, scale, titles, colors = theme()) {
    this.shown = { values, scale, colors };
    if (titles)
      Object.assign(this, { values, scale, titles, strongest: values ? largestAt(values, this.units.length) : -1 });
    for (const at of this.seen) this.#color(at);
    if (titles) this.#tell();
  }

  mark(unit) {
    for (let i = 0; i < this.chips.length; i++) {
      const chosen = this.start + i === unit;
      const chip = this.chips[i];
      if (chip.getAttribute("aria-pressed") !== String(chosen)) chip.setAttribute("aria-pressed", String(chosen));
      const place = chosen || (i === 0 && !this.#holds(unit)) ? 0 : -1;
      if (chip.tabIndex !== place) chip.tabIndex = place;
    }
    this.marked = unit;
    this.reveal();
  }

  // Bring the chosen chip into sight, once for each choice.
  reveal() {
    if (this.revealed !== this.marked && this.#scrollTo(this.marked)) this.revealed = this.marked;
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
    this.titled = [];
    const nodes = [];
    for (let at = this.start; at < stop; at++) {
      const { name, tokens } = units[at];
      if (at && segments[tokens[0]] !== segments[units[at - 1].tokens[0]]) nodes.push(el("hr", {}));
      const chip = el(
        "button",
        {
          type: "button",
          class: "viz-word",
          tabindex: "-1",
          "data-token": tokens[0],
          "data-unit": at,
          dir: "auto",
          "aria-pressed": "false",
        },
        name,
      );
      this.chips.push(chip);
      nodes.push(chip);
    }
    this.text.replaceChildren(...nodes);
    this.#watch();
    this.parts.hidden = stop - this.start === units.length;
    this.revealed = null;
    const [, earlier, later] = this.parts.querySelectorAll("button");
    [earlier.disabled, later.disabled] = [this.start === 0, stop === units.length];
    this.#tell();
  }

  // Which part is shown, and whether the strongest is in it.
  #tell() {
    if (this.parts.hidden || !this.chips.length) return;
    const [from, to] = [this.units[this.start], this.units[this.start + this.chips.length - 1]];
    const { name, tokens } = this.units[this.strongest] ?? {};
    const elsewhere = tokens && !this.#holds(this.strongest);
    this.far.hidden = !elsewhere;
    this.part.textContent = `Tokens ${count(from.tokens[0])} to ${count(to.tokens.at(-1))} of ${count(this.units.places?.length ?? this.units.length)}${elsewhere ? `; the strongest ${this.side} ${tokens[0]} “${name}” is in another part` : ""}.`;
  }

  // Within its box only: scrollIntoView would move the page too. Whether there was a box to see it in.
  #scrollTo(unit) {
    const chip = this.chips[unit - this.start];
    const box = this.text.parentElement;
    if (!chip || !box?.clientHeight) return false;
    const [inner, outer] = [chip.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom)
      box.scrollTop += inner.top - outer.top - box.clientHeight / 2;
    return true;
  }

  #color(at) {
    const {
      titles,
      shown: { values, scale, colors },
    } = this;
    if (titles && this.titled[at] !== titles) {
      this.titled[at] = titles;
      this.chips[at].title = titles(this.start + at);
    }
    const pair = values ? pairOf(values[this.start + at], scale, colors) : ["", ""];
    if (this.painted[at] === pair) return;
    const { style } = this.chips[at];
    style.backgroundColor = pair[0];
    if (this.painted[at]?.[1] !== pair[1]) style.color = pair[1];
    this.painted[at] = pair;
  }

  // The first chip of each few is watched, for the browser looks at each in every frame; the others
  // are less than the margin away, in the page and in a box that scrolls.
  #watch() {
    this.sight?.disconnect();
    this.seen = new Set();
    this.sight = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const first = Number(target.dataset.unit) - this.start;
          if (this.chips[first] !== target) continue;
          for (let at = first; at < Math.min(first + FEW, this.chips.length); at++) {
            if (isIntersecting) this.seen.add(at);
            else this.seen.delete(at);
            if (isIntersecting && this.shown) this.#color(at);
          }
        }
      },
      { rootMargin: MARGIN, scrollMargin: MARGIN },
    );
    for (let at = 0; at < this.chips.length; at += FEW) this.sight.observe(this.chips[at]);
  }

  #mover(text, from) {
    return el(
      "button",
      {
        type: "button",
        class: "viz-small",
        onclick: (event) => {
          const strongest = event.currentTarget === this.far ? this.strongest : null;
          this.#build(from());
          if (this.titles) this.paint(this.values, this.scale, this.titles);
          this.mark(this.marked);
          this.#scrollTo(strongest ?? this.start);
        },
      },
      text,
    );
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
    const moves = {
      ArrowLeft: unit - 1,
      ArrowUp: unit - 1,
      ArrowRight: unit + 1,
      ArrowDown: unit + 1,
      Home: this.start,
      End: last,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    if (moves[event.key] > last) return this.beyond();
    const to = Math.max(this.start, moves[event.key]);
    for (const chip of this.chips) chip.tabIndex = -1;
    this.chips[to - this.start].tabIndex = 0;
    this.focus(to);
  }
}

// The place of the largest, or -1 where none is above 0.
function largestAt(values, length) {
  let found = -1;
  for (let at = 0; at < length; at++) if (values[at] > (found < 0 ? 0 : values[found])) found = at;
  return found;
}
