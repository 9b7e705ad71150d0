// The convention box: the same mask as the numbers that each call wants, converted before one's eyes.

import { inkOn, rgbText } from "../core/colors.js";
import { caption, control, controls, el, options } from "../core/dom.js";
import { maskColors } from "../views/mask_grid.js";
import { Mask } from "./mask_bits.js";

const SIDE = 8; // rows and columns that are written out
const ROW = 32; // numbers of the one row of a mask by key

export class Convention {
  /** @type {MasksOffered["conventions"]} */
  conventions = [];
  /** @type {string[]} */
  tokens = [];
  mask = new Mask(0);
  choice = el("select", { id: "viz-mask-convention", onchange: () => this.draw() });
  words = caption();
  scroll = el("div", { class: "viz-mask-scroll", tabindex: "0", role: "region", "aria-label": "The mask as numbers" });
  node = el(
    "details",
    { class: "viz-mask-box viz-mask-folded viz-folded", "aria-label": "Convention" },
    el("summary", {}, "As numbers, for each call"),
    ...[controls(control("As", this.choice)), this.words, this.scroll],
  );

  offer(/** @type {MasksOffered["conventions"]} */ conventions) {
    this.conventions = conventions;
    if (!this.choice.length) this.choice.append(...options(conventions.map(({ name, words }) => [name, words])));
  }

  /** @type {(tokens: string[], mask: Mask) => void} */
  show(tokens, mask) {
    Object.assign(this, { tokens, mask });
    this.draw();
  }

  draw() {
    const { tokens, mask } = this;
    const convention = this.conventions.find(({ name }) => name === this.choice.value);
    if (!convention || !mask.n) return;
    const { words, cells, byKey } = convention;
    const none = byKey && !mask.byKey;
    this.scroll.hidden = none;
    if (none) {
      this.words.textContent = `${words}: one row for all queries. In this mask queries differ, so that no row can hold it; pass it as (query, key).`;
      return;
    }
    const rows = byKey ? numbersOf(mask, cells, ROW).slice(0, 1) : numbersOf(mask, cells);
    const side = rows[0].length;
    const shape = byKey ? `${side} of ${mask.n}` : `${side} × ${side} of ${mask.n} × ${mask.n}`;
    const part = side < mask.n ? `The first ${shape} numbers` : "All numbers";
    this.words.textContent = `${part}: ${words}. Here, “may attend” is ${cells[0]} and “forbidden” is ${cells[1]}.`;
    const names = rows[0].map((_, at) => el("th", { scope: "col", title: tokens[at] }, String(at)));
    const lines = rows.map((row, at) => {
      const name = el("th", { scope: "row" }, byKey ? "all queries" : el("bdi", {}, `${at} ${tokens[at]}`));
      return el("tr", {}, name, ...row.map((number) => colored(number, number === cells[0])));
    });
    const head = el("thead", {}, el("tr", {}, el("td"), ...names));
    const says = el("caption", {}, "Rows: queries; columns: keys");
    this.scroll.replaceChildren(el("table", { class: "viz-mask-numbers" }, says, head, el("tbody", {}, ...lines)));
  }
}

/** @type {(number: string, may: boolean) => HTMLElement} */
function colored(number, may) {
  const color = maskColors()[may ? "allowed" : "forbidden"];
  return el("td", { style: `background:${rgbText(color)};color:${inkOn(color)}` }, number);
}

/** The first rows and columns, as numbers of a convention. @type {(mask: Mask, cells: string[], side?: number) => string[][]} */
export function numbersOf(mask, [may, forbidden], most = SIDE) {
  const at = Array.from({ length: Math.min(most, mask.n) }, (_, i) => i);
  return at.map((row) => at.map((col) => (mask.at(row, col) ? may : forbidden)));
}
