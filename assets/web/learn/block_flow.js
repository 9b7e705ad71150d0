// The followed token's vector at each part of the block, and how far it has come: by the step, or by Play.

import { button, caption } from "../core/dom.js";
import { Latest, rest } from "../core/latest.js";
import { reachedBy } from "./block_parts.js";
import { STEPS } from "./steps.js";

/** @import { Texts } from "./types.d.ts" */

const PAUSE = 1100; // milliseconds at a part
const WHOLE = 8; // the first step that is about the whole of the block

export class BlockFlow {
  #playing = new Latest();
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  at = -1; // of `ids`, the part that it has come to
  /** @type {string[]} */
  ids = [];
  play = button("", () => (this.#still.matches ? this.#go((this.at + 1) % this.ids.length) : this.#play()));
  said = caption();
  /** @type {(id: string) => string} */
  say = () => "";

  /** `moved` is told that the vector is elsewhere. @param {(at: number) => unknown} moved */
  constructor(moved) {
    this.moved = moved;
  }

  /** @type {(ids: string[], step: number, texts: Texts, say: (id: string) => string) => void} */
  show(ids, step, { block }, say) {
    this.#playing.stop();
    Object.assign(this, { ids, say });
    this.play.textContent = this.#still.matches ? block.next : block.play;
    const told = STEPS.slice(0, step).flatMap(({ parts }) => parts);
    this.#go(step < WHOLE ? reachedBy(ids, told) : ids.length - 1);
  }

  // From the input to the output, a part after the other.
  #play() {
    this.#playing.run(async (fresh) => {
      for (const at of this.ids.keys()) {
        this.#go(at);
        await fresh(rest(PAUSE));
      }
    });
  }

  #go(/** @type {number} */ at) {
    this.at = at;
    this.said.textContent = at < 0 ? "" : this.say(this.ids[at]);
    this.moved(at);
  }
}
