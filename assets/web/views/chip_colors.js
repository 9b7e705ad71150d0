// The colors and the numbers of chips: only those in sight are changed, the others when they come into it.

import { idle } from "../core/dom.js";
import { pairOf } from "./shading.js";

/** @import { Pair } from "./shading.js" */
/** @typedef {(unit: number) => string} Titles */
/** @typedef {{ values: Float32Array, scale: Scale, colors: Colors }} Shades */

const MARGIN = "240px"; // in which a few chips have room, each on a line of its own
/** @type {Pair} */
const NONE = ["", ""];

export class ChipColors {
  /** @type {HTMLElement[]} */
  #chips = [];
  /** @type {HTMLElement[]} in each chip, what is shaded: few rules of the page's style fit it, and to style
   * hundreds of buttons anew takes nine times as long */
  tones = [];
  #start = 0;
  /** @type {Set<number>} chips in sight */
  #seen = new Set();
  /** @type {Shades | null} */
  #shown = null;
  /** @type {Titles | null} */
  #titles = null;
  /** @type {Pair[]} */
  #painted = [];
  /** @type {Titles[]} */
  #titled = [];
  #describing = false; // as soon as the browser has time
  /** @type {IntersectionObserver | undefined} */
  #sight;

  /** New chips, the first of them of the unit `start`. @type {(chips: HTMLElement[], start: number) => void} */
  show(chips, start) {
    [this.#chips, this.#start, this.#shown, this.#titles] = [chips, start, null, null];
    this.tones = chips.map((chip) => /** @type {HTMLElement} */ (chip.firstElementChild));
    [this.#painted, this.#titled] = [[], []];
    this.#watch();
  }

  /** `titles` says each chip's exact number; without it the numbers stay. @type {(shown: Shades | null,
   * titles?: Titles) => void} */
  paint(shown, titles) {
    this.#shown = shown;
    if (titles) this.#titles = titles;
    for (const at of this.#seen) this.#color(at);
    if (titles) this.#describe();
  }

  // The number of the chip under the pointer.
  tip(/** @type {number} */ unit) {
    const at = unit - this.#start;
    this.tones[at].title = this.#titles?.(unit) ?? "";
  }

  // Update screen-reader text of visible chips; for hundreds it takes as long as the rest of a
  // click.
  #describe() {
    if (this.#describing) return;
    this.#describing = true;
    idle().then(() => {
      this.#describing = false;
      const titles = this.#titles;
      if (!titles) return;
      for (const at of this.#seen) {
        if (this.#titled[at] === titles) continue;
        this.#titled[at] = titles;
        this.#chips[at].ariaDescription = titles(this.#start + at); // of all, for a title styles its node anew
        if (this.tones[at].title) this.tip(this.#start + at);
      }
    });
  }

  #color(/** @type {number} */ at) {
    const [shown, tone] = [this.#shown, this.tones[at]];
    const pair = shown ? pairOf(shown.values[this.#start + at], shown.scale, shown.colors) : NONE;
    if (this.#painted[at] === pair) return;
    tone.style.backgroundColor = pair[0];
    if (this.#painted[at]?.[1] !== pair[1]) tone.style.color = pair[1];
    this.#painted[at] = pair;
  }

  // The first chip of each few is watched, for the browser looks at each in every frame; the others
  // are less than the margin away, in the page and in a box that scrolls.
  #watch() {
    this.#sight?.disconnect();
    this.#seen = new Set();
    const chips = this.#chips;
    const few = "scrollMargin" in IntersectionObserver.prototype ? 8 : 1; // come into sight together
    const places = new Map(chips.map((chip, at) => [/** @type {Element} */ (chip), at]));
    const come = (/** @type {IntersectionObserverEntry[]} */ entries) => {
      for (const { target, isIntersecting } of entries) {
        const first = chips === this.#chips ? places.get(target) : undefined;
        if (first === undefined) continue;
        for (let at = first; at < Math.min(first + few, chips.length); at++) {
          if (isIntersecting) this.#seen.add(at);
          else this.#seen.delete(at);
          if (isIntersecting && this.#shown) this.#color(at);
        }
      }
      this.#describe();
    };
    this.#sight = new IntersectionObserver(come, { rootMargin: MARGIN, scrollMargin: MARGIN });
    for (let at = 0; at < chips.length; at += few) this.#sight.observe(chips[at]);
  }
}
