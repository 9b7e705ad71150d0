// The finding as a sentence on top, and progress while it is computed.

import { button, el } from "../core/dom.js";
import { Work } from "../views/work.js";
import { emphasized } from "./wording.js";

/** @import { HeadEffects } from "../core/payloads.d.ts" */

const WAITING = "What changes when a head or a word is removed?";

export class Finding {
  heading = el("h2", { class: "viz-whatif-finding" }, WAITING);
  second = el("p", { class: "viz-whatif-second" });
  work = new Work();
  start = button("", () => this.begin(), { class: "viz-small viz-whatif-go", id: "viz-whatif-start", hidden: true });
  /** @type {HeadEffects | null} */
  effects = null;

  constructor(/** @type {() => unknown} */ begin) {
    this.begin = begin;
    this.wait = el("div", { class: "viz-whatif-wait" }, this.start, this.work.node);
    this.node = el("header", { class: "viz-whatif-top" }, this.heading, this.second);
  }

  // Clear; `n` tokens are to be measured.
  enter(/** @type {number} */ n) {
    this.effects = null;
    this.start.textContent = `Measure all heads (${n} tokens)`;
    this.draw();
  }

  show(/** @type {HeadEffects | null} */ effects) {
    this.effects = effects;
    this.draw();
  }

  draw() {
    const { effects } = this;
    const [before, strong, after] = emphasized(effects?.sentence ?? WAITING, effects?.flip ?? "");
    this.heading.replaceChildren(before, ...(strong ? [el("b", {}, strong)] : []), after);
    this.second.textContent = effects?.second ?? "";
  }
}
