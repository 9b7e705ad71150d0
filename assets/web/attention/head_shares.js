// All heads as a grid: what each one brought to the score that is explained.

import { inkOn, rgbText } from "../core/colors.js";
import { el } from "../core/dom.js";
import { signedColors } from "../core/signed_colors.js";
import { HeadCells } from "../views/head_cells.js";
import { shareSaid } from "./routes_layout.js";

/** @import { Explained, Head, HeadPlace } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */

const WRITTEN = 0.12; // of the largest: smaller shares are colored, not written

export class HeadShares {
  /** @type {Explained | null} */ #found = null;
  #of = "";
  node = el("div", {
    class: "viz-share-grid",
    role: "group",
    "aria-label": "What each head brings. Arrow keys move, Enter chooses.",
  });

  /** @param {(place: HeadPlace) => unknown} choose @param {(sentence: string) => unknown} say */
  constructor(choose, say) {
    const tell = (/** @type {HeadPlace | null} */ place) => {
      if (place && this.#found) say(this.#sentence(this.#found, place));
    };
    this.heads = new HeadCells(this.node, { kind: "viz-share", sizes: [30, 22], parts: ["span"], choose, tell });
  }

  /** @type {(run: Run, found: Explained) => void} */
  show(run, found) {
    this.#found = found;
    const of = `${run.nLayers}:${run.nHeads}`;
    if (this.#of !== of) this.heads.enter(run.nLayers, run.nHeads);
    this.#of = of;
    this.draw();
  }

  draw() {
    const found = this.#found;
    if (!found) return;
    const largest = Math.max(...found.heads.flat().map(Math.abs)) || 1;
    this.heads.cells.forEach((row, layer) => {
      row.forEach((cell, head) => {
        const share = found.heads[layer]?.[head] ?? 0;
        const color = signedColors()(share / largest);
        Object.assign(cell.style, { background: rgbText(color), color: inkOn(color) });
        cell.children[1].textContent = Math.abs(share) < WRITTEN * largest ? "" : shareSaid(share, found);
        cell.ariaDescription = this.#sentence(found, { layer, head });
      });
    });
  }

  mark(/** @type {number} */ layer, /** @type {Head} */ head) {
    this.heads.mark(typeof head === "number" ? [{ layer, head }] : []);
  }

  /** @type {(found: Explained, place: HeadPlace) => string} */
  #sentence(found, { layer, head }) {
    const share = found.heads[layer]?.[head] ?? 0;
    const part = found.large ? ` (${((100 * share) / found.score).toFixed(1)}%)` : "";
    return `Head ${layer}.${head} brings ${share.toFixed(4)}${part}`.replaceAll("-", "−");
  }
}
