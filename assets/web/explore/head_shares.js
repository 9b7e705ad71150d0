// All heads as a grid, in the measure that is chosen.

import { inkOn, makeScale, rgbText, shade } from "../core/colors.js";
import { el } from "../core/dom.js";
import { signedColors } from "../core/signed_colors.js";
import { HeadCells } from "../views/head_cells.js";

const WRITTEN = 0.12; // of the largest: smaller shares are colored, not written

/** @typedef {{ values: Maybe[][], signed: boolean, write: (value: number) => string,
 *   said: (value: number, place: HeadPlace) => string }} HeadNumbers `write` is for a cell, `said` follows "Head 5.11 " */

export class HeadShares {
  /** @type {HeadNumbers | null} */ #numbers = null;
  #of = "";
  node = el("div", {
    class: "viz-share-grid",
    role: "group",
    "aria-label": "A number of each head. Arrow keys move, Enter chooses.",
  });

  /** @param {(place: HeadPlace) => unknown} choose @param {(sentence: string) => unknown} say
   * @param {(place: HeadPlace) => unknown} [press] */
  constructor(choose, say, press) {
    const tell = (/** @type {HeadPlace | null} */ place) => {
      if (place && this.#numbers) say(this.#sentence(this.#numbers, place));
    };
    this.heads = new HeadCells(this.node, {
      kind: "viz-share",
      sizes: [30, 22],
      parts: ["span"],
      numbered: true,
      choose,
      tell,
      press,
    });
  }

  /** @type {(run: Run, numbers: HeadNumbers) => void} */
  show(run, numbers) {
    this.#numbers = numbers;
    const of = `${run.nLayers}:${run.nHeads}`;
    if (this.#of !== of) this.heads.enter(run.nLayers, run.nHeads);
    this.#of = of;
    this.draw();
  }

  draw() {
    const numbers = this.#numbers;
    if (!numbers) return;
    const { values, signed, write } = numbers;
    const largest = Math.max(...values.flat().map((value) => Math.abs(value ?? 0))) || 1;
    const [colors, scale] = [signedColors(), makeScale("head", largest)];
    this.heads.cells.forEach((row, layer) => {
      row.forEach((cell, head) => {
        const value = values[layer]?.[head] ?? null;
        const color = signed ? colors(value === null ? null : value / largest) : shade(value ?? NaN, scale);
        Object.assign(cell.style, { background: rgbText(color), color: inkOn(color) });
        const small = value === null || Math.abs(value) < WRITTEN * largest;
        cell.children[1].textContent = small ? "" : write(value);
        cell.ariaDescription = this.#sentence(numbers, { layer, head });
      });
    });
  }

  mark(/** @type {number} */ layer, /** @type {Head} */ head) {
    this.heads.mark(typeof head === "number" ? [{ layer, head }] : []);
  }

  /** @type {(numbers: HeadNumbers, place: HeadPlace) => string} */
  #sentence({ values, said }, { layer, head }) {
    const value = values[layer]?.[head];
    return `Head ${layer}.${head} ${value == null ? "has no number here" : said(value, { layer, head })}`.replaceAll(
      "-",
      "−",
    );
  }
}
