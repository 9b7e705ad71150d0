// Opens a link such as ?learn=1&seed=17: a step, a seat, and the queried token of its sentence.

import { isSeat } from "./result_code.js";

const PLACE = { layer: 2, head: 0 }; // head of the built-in model that the lesson uses
const ASKED = "[MASK]";

export class LessonOpening {
  #first; // whether the first run is to be opened there
  #loudest = false;

  /** @param {string} search the query part of an address */
  constructor(search) {
    const params = new URLSearchParams(search);
    const seat = params.get("seed") ?? "";
    this.step = Number(params.get("learn")) || 0;
    this.seat = isSeat(seat) ? seat : "";
    this.#first = params.has("learn") && !params.has("query");
  }

  /** Where the first run of no seat opens; null for other runs, and if nothing is asked. @param {Run} run */
  place({ tokens }) {
    const query = this.#first ? tokens.indexOf(ASKED) : -1;
    this.#first = false;
    this.#loudest = query >= 0;
    return query < 0 ? null : { ...PLACE, query };
  }

  /** The key with the largest weight there, once; null later on. @param {number[] | undefined} weights */
  key(weights) {
    if (!this.#loudest || !weights) return null;
    this.#loudest = false;
    return weights.indexOf(Math.max(...weights));
  }
}
