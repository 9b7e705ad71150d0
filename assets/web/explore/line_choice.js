// The controls of the lines: which heads they are of, between which texts, and up to which share of the weight.

import { inkOn } from "../core/colors.js";
import { button, control, controls, el, isDark, options } from "../core/dom.js";
import { Emitter } from "../core/emitter.js";
import { headsOf } from "../core/selection_address.js";
import { headColor, parts } from "./lines_drawing.js";
import { PAIRS } from "./strongest_lines.js";

/** @import { Selection } from "./types.d.ts" */

const PAIR_NAMES = { all: "all", AA: "A → A", AB: "A → B", BA: "B → A", BB: "B → B" };

/** Emits when other heads are chosen. @extends {Emitter<[others: boolean]>} */
export class LineChoice extends Emitter {
  #followed = "";
  dark = false; // the theme of the chips
  /** @type {Set<Head>} */ heads = new Set();
  chips = el("div", { class: "viz-chips", role: "group", "aria-label": "Heads whose lines are drawn" });
  #share = el("input", { type: "range", id: "viz-share", min: 1, max: 100, value: 90, oninput: () => this.#slid() });
  #said = el("output", { for: "viz-share" });
  #pair = el("select", { id: "viz-pair", onchange: () => this.tell(false) }, ...options(Object.entries(PAIR_NAMES)));
  #pairs = control("From text → to text", this.#pair);
  node = controls(this.chips, this.#pairs, control("Strongest lines up to", this.#share, this.#said));

  constructor(/** @type {Selection} */ selection) {
    super();
    this.selection = selection;
    this.#slid();
  }

  show(/** @type {Run} */ run) {
    this.#pairs.hidden = !(run.segments.includes(0) && run.segments.includes(1));
    this.#pair.value = "all";
    this.#follow();
  }

  // Another head on the page: a set that was chosen here stays; one alone, or the page's set, follows it.
  follow() {
    if (this.heads.size === 1 || [...this.heads].join() === this.#followed) this.#follow();
  }

  #follow() {
    const heads = headsOf(this.selection.head);
    this.heads = new Set(heads.length ? heads : [this.selection.head]);
    this.#followed = [...this.heads].join();
  }

  get pair() {
    return PAIRS[this.#pair.value];
  }

  get share() {
    return Number(this.#share.value) / 100;
  }

  #slid() {
    this.#said.textContent = `${this.#share.value} % of each query's weight`;
    this.tell(false);
  }

  draw(/** @type {Run} */ { nHeads }) {
    this.dark = isDark();
    const every = [...Array(nHeads).keys()];
    const held = this.chips.contains(document.activeElement) && document.activeElement?.textContent;
    const nodes = [...new Set([...every, ...this.heads])].map((head) => this.#chip(head));
    nodes.push(this.#several("all", every), this.#several("none", []));
    this.chips.replaceChildren(`Heads of layer ${this.selection.layer}`, ...nodes);
    nodes.find((node) => node.textContent === held)?.focus();
  }

  #chip(/** @type {Head} */ head) {
    const on = this.heads.has(head);
    const toggle = () => this.#choose(on ? [...this.heads].filter((other) => other !== head) : [...this.heads, head]);
    const told = { title: `Head ${this.selection.layer}.${head}`, "aria-pressed": String(on) };
    const node = button(String(head), toggle, { class: "viz-chip", "data-line-head": head, ...told });
    node.style.setProperty("--viz-head", headColor(head));
    node.style.setProperty("--viz-head-ink", inkOn(parts(headColor(head))));
    return node;
  }

  #several(/** @type {string} */ text, /** @type {Head[]} */ heads) {
    return button(text, () => this.#choose(heads), { "data-line-heads": text });
  }

  #choose(/** @type {Head[]} */ heads) {
    this.heads = new Set(heads);
    this.tell(true);
  }
}
