// Numbers over the tokens of an input, some below 0: chips with their numbers, or the patches of its picture.

import { el } from "../core/dom.js";
import { View } from "../core/view.js";
import { descending } from "../views/shading.js";
import { TokenChoice, tokensOf } from "../views/token_choice.js";
import { fixed, signedBar } from "./results.js";

/** @import { Acts, Chosen } from "../views/token_choice.js" */
/** @typedef {{ run: Chosen, values: Maybe[], unit: string, say: (at: number) => string, why?: string }} Shown a number a
 *   token, null where there is none; `say` puts one in words, and `why` says why there are none */

const LISTED = 6;
const SIZE = { widest: 380, tallest: 300 };

export class Shares extends View {
  /** @type {Shown | null} */
  shown = null;
  token = -1; // that is chosen
  told = el("p", { class: "viz-caption viz-pool-told", role: "status" });
  top = el("p", { class: "viz-pool-top" });
  scale = el("p", { class: "viz-caption viz-stat-scale" });

  /** Without acts of its own, what is chosen is chosen here alone. @param {string} label @param {Acts | null} acts */
  constructor(label, acts = null) {
    super();
    const own = {
      hover: (/** @type {number | null} */ at) => this.mark(at),
      choose: (/** @type {number} */ at) => this.pick(at),
    };
    this.tokens = new TokenChoice(acts ?? own, SIZE);
    const named = { class: "viz-pool-shares", role: "group", "aria-label": label };
    this.node = el("div", named, this.tokens.node, this.scale, this.told, this.top);
  }

  show(/** @type {Shown} */ shown) {
    const { run, unit, say, why = "" } = shown;
    const values = Float32Array.from(shown.values, (value) => value ?? NaN);
    this.shown = shown;
    const most = descending(values).slice(0, LISTED);
    this.top.classList.toggle("viz-pool-most", most.length > 0 && !run.grid);
    this.top.textContent = most.length ? `Most: ${most.map(say).join("; ")}.` : why;
    const write = (/** @type {number} */ value) => (Number.isNaN(value) ? "" : fixed(value));
    this.tokens.show(run, this.token, why ? null : { values, say, write });
    const end = fixed(this.tokens.scale.high);
    const bar = signedBar(values.some((value) => value < 0) ? `−${end}` : "0", end, unit);
    this.scale.replaceChildren(...(why ? [] : bar));
    this.mark(null);
  }

  fail(/** @type {string} */ why) {
    this.show({ run: tokensOf([], null, ""), values: [], unit: "", say: String, why });
  }

  // Choose a token, which stays marked.
  pick(/** @type {number} */ token) {
    this.token = token;
    const { run, shades } = this.tokens;
    if (run) this.tokens.show(run, token, shades);
    this.mark(this.tokens.hovered);
  }

  // Point at a token, or at none; that one or the chosen one is told.
  mark(/** @type {number | null} */ token) {
    const told = token ?? this.token;
    this.told.textContent = told >= 0 && this.shown?.values.length ? this.shown.say(told) : "";
    this.tokens.mark(token);
  }
}
