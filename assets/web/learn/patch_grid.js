// A picture as the model cuts it: its patches row by row, and the chosen one with its pixels.

import { el, fit } from "../core/dom.js";
import { Latest } from "../core/latest.js";

/** @import { Shown, Texts } from "./types.d.ts" */

const [WIDEST, CLOSE] = [320, 120]; // pixels of the picture, and of the patch beside it

export class PatchGrid {
  #loading = new Latest();
  picture = el("canvas", { role: "img" });
  patch = el("canvas", { role: "img" });
  said = el("figcaption", { class: "viz-caption" });
  node = el("figure", { class: "viz-learn-patches", hidden: true }, this.picture, this.patch, this.said);
  /** @type {{ key: string, image: HTMLImageElement } | null} */
  found = null;

  /** @param {Shown} shown */
  async show({ run, place, texts }) {
    this.node.hidden = !run.grid;
    if (!run.grid) return;
    await this.#loading.run(async (fresh) => {
      if (this.found?.key !== run.key) {
        const image = await fresh(run.picture());
        this.found = image && { key: run.key, image };
      }
    });
    this.node.hidden = this.found?.key !== run.key;
    if (this.found && !this.node.hidden) this.#draw(run, place.query, this.found.image, texts);
  }

  #draw(
    /** @type {Run} */ run,
    /** @type {number} */ query,
    /** @type {HTMLImageElement} */ image,
    /** @type {Texts} */ texts,
  ) {
    const { rows, cols, prefix } = /** @type {NonNullable<Run["grid"]>} */ (run.grid);
    const side = Math.min(WIDEST / cols, WIDEST / rows);
    const [wide, high, at] = [side * cols, side * rows, query - prefix];
    const [row, col] = [Math.floor(at / cols), at % cols];
    const context = fit(this.picture, wide, high);
    context.imageSmoothingEnabled = false;
    context.drawImage(image, 0, 0, wide, high);
    context.strokeStyle = "#9ca3af";
    for (let line = 1; line < cols; line++) context.strokeRect(line * side, -1, 0, high + 2);
    for (let line = 1; line < rows; line++) context.strokeRect(-1, line * side, wide + 2, 0);
    this.patch.hidden = at < 0;
    this.said.textContent = at < 0 ? texts.tokens.before(run.tokens[query]) : texts.tokens.patch(query, row, col);
    this.picture.setAttribute("aria-label", texts.tokens.grid(rows, cols));
    if (at < 0) return;
    context.strokeStyle = getComputedStyle(this.node).getPropertyValue("--viz-mark") || "#d97706";
    context.lineWidth = 3;
    context.strokeRect(col * side, row * side, side, side);
    const close = fit(this.patch, CLOSE, CLOSE);
    const [x, y] = [image.naturalWidth / cols, image.naturalHeight / rows];
    close.imageSmoothingEnabled = false;
    close.drawImage(image, col * x, row * y, x, y, 0, 0, CLOSE, CLOSE);
    this.patch.setAttribute("aria-label", this.said.textContent);
  }
}
