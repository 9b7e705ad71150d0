// All heads as a grid, a row a layer: each in the color of its number, which is written where there is room.

import { inkOn, makeScale, rgbText, shade, SIGNED } from "../core/colors.js";
import { el } from "../core/dom.js";
import { headsOf } from "../core/selection_address.js";
import { HeadCells } from "./head_cells.js";

/** @import { Options } from "./head_cells.js" */
/** @typedef {{ values: Maybe[][], signed?: boolean, said: (place: HeadPlace, value: Maybe) => string,
 *   write?: (value: Maybe) => string | Node[], label?: (place: HeadPlace) => string }} HeadNumbers `said` describes a
 *   head, `write` and `label` are for its cell, in the order of the parts that the options name */

/** The color of each value: from 0 to the largest, or signed about 0.
 * @type {(values: Maybe[][], signed?: boolean) => { high: number, scale: Scale, of: (value: Maybe) => Rgb }} */
function coloring(values, signed = false) {
  const high = Math.max(0, ...values.flat().map((value) => Math.abs(value ?? 0)));
  const scale = makeScale(signed ? SIGNED : "head", high);
  return { high, scale, of: (value) => shade(value ?? NaN, scale) };
}

export class HeadGrid {
  /** @type {HeadNumbers | null} */
  numbers = null;
  colors = coloring([]);
  #shape = "";

  /** Each cell has a tooltip, unless `options.tell` is told which head is under the pointer.
   * @param {string} label @param {Options} options */
  constructor(label, options) {
    this.told = Boolean(options.tell);
    this.node = el("div", { class: `${options.kind}-grid`, role: "group", "aria-label": label });
    this.heads = new HeadCells(this.node, options);
  }

  show(/** @type {HeadNumbers} */ numbers) {
    this.numbers = numbers;
    const [{ length }, [{ length: nHeads }]] = [numbers.values, numbers.values];
    if (this.#shape !== `${length}:${nHeads}`) this.heads.enter(length, nHeads);
    this.#shape = `${length}:${nHeads}`;
    this.draw();
  }

  draw() {
    if (!this.numbers) return;
    const { values, signed, write = () => "", label = () => "" } = this.numbers;
    this.colors = coloring(values, signed);
    this.heads.cells.forEach((row, layer) => {
      row.forEach((cell, head) => {
        const value = values[layer][head] ?? null;
        const ground = this.colors.of(value);
        const [, number, name] = cell.children;
        Object.assign(cell.style, { background: rgbText(ground), color: inkOn(ground) });
        number?.replaceChildren(...write(value));
        name?.replaceChildren(label({ layer, head }));
        cell[this.told ? "ariaDescription" : "title"] = this.said({ layer, head });
        cell.dataset.value = String(value ?? "");
      });
    });
  }

  said(/** @type {HeadPlace} */ place) {
    return this.numbers?.said(place, this.numbers.values[place.layer]?.[place.head] ?? null) ?? "";
  }

  mark(/** @type {number} */ layer, /** @type {Head} */ head) {
    this.heads.mark(headsOf(head).map((one) => ({ layer, head: one })));
  }
}
