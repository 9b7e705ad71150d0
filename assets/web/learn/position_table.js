// The vectors of all positions as a heat map: a row for each position, a column for each dimension.

import { rgbText } from "../core/colors.js";
import { caption, el, fit, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { signedColors } from "../core/signed_colors.js";
import { fixed } from "./printed.js";

/** @import { Acts, Shown } from "./types.d.ts" */

const [TALL, LEFT] = [260, 34]; // pixels: at most of the rows, and for their numbers
const ROW = 12; // pixels of a row where there is room
const FULL = 0.98; // of the numbers are paler than the full color

export class PositionTable {
  #asked = new Latest((sentence) => this.said.replaceChildren(sentence));
  title = el("h4");
  canvas = el("canvas", {
    role: "img",
    onclick: (event) => this.#choose(event),
    onpointermove: (event) => this.#tell(event),
    onpointerleave: () => this.#rest(),
  });
  said = caption();
  node = el("section", { class: "viz-learn-positions", hidden: true }, this.title, this.canvas, this.said);
  /** @type {(Numbers & { key: string }) | null} */
  found = null;
  /** @type {Shown | null} */
  shown = null;
  full = 1; // from which on a number has the full color: a few are far larger than all others

  constructor(/** @type {Acts} */ { choose }) {
    this.choose = choose;
    onWidth(this.node, () => requestAnimationFrame(() => this.redraw()));
  }

  /** @param {Shown} shown @param {boolean} has whether the model adds a vector of the position */
  async show(shown, has) {
    this.shown = shown;
    this.node.hidden = !has;
    if (!has) return;
    const { run, texts } = shown;
    this.title.textContent = texts.embedding.table;
    if (this.found?.key !== run.key)
      await this.#asked.run(async (fresh) => {
        this.found = { ...(await fresh(run.numbers("learn/positions"))), key: run.key };
        const amounts = this.found.values.map(Math.abs).sort();
        this.full = amounts[Math.floor(FULL * (amounts.length - 1))] || 1;
      });
    this.redraw();
  }

  redraw() {
    const { found, shown, canvas, node } = this;
    const [rows, columns] = found?.shape ?? [];
    if (!found || !rows || found.key !== shown?.run.key || !node.clientWidth) return;
    const high = Math.min(ROW, TALL / rows);
    const wide = Math.min(ROW, (node.clientWidth - LEFT) / columns);
    const context = fit(canvas, LEFT + wide * columns, high * rows + 2);
    const color = signedColors();
    found.values.forEach((value, at) => {
      context.fillStyle = rgbText(color(value / this.full));
      context.fillRect(LEFT + (at % columns) * wide, Math.floor(at / columns) * high, wide + 0.5, high + 0.5);
    });
    const style = getComputedStyle(node);
    context.fillStyle = style.color;
    context.font = `12px ${style.fontFamily}`;
    for (let row = 0; row < rows; row += Math.ceil(14 / high)) context.fillText(String(row), 0, row * high + 11);
    context.strokeStyle = style.getPropertyValue("--viz-mark");
    context.lineWidth = 2;
    if (shown.place.query < rows)
      context.strokeRect(LEFT, shown.place.query * high, wide * columns - 1, Math.max(3, high));
    this.#rest();
    canvas.ariaLabel = this.said.textContent;
  }

  #rest() {
    const { found, shown } = this;
    if (!found || !shown) return;
    const [rows, columns] = found.shape;
    this.said.textContent = shown.texts.embedding.tableSaid(rows, columns, fixed(this.full, 2));
  }

  /** The position and dimension under the pointer. @type {(event: MouseEvent) => [row: number, column: number]} */
  #at({ offsetX, offsetY }) {
    const [rows, columns] = this.found?.shape ?? [0, 0];
    const { clientWidth, clientHeight } = this.canvas;
    const place = (/** @type {number} */ share, /** @type {number} */ n) =>
      Math.max(0, Math.min(n - 1, Math.floor(share * n)));
    return [place(offsetY / clientHeight, rows), place((offsetX - LEFT) / (clientWidth - LEFT), columns)];
  }

  #tell(/** @type {MouseEvent} */ event) {
    const { found, shown } = this;
    if (!found || !shown) return;
    const [row, column] = this.#at(event);
    const value = fixed(found.values[row * found.shape[1] + column], 3);
    this.said.textContent = shown.texts.embedding.tableCell(row, column, value);
  }

  #choose(/** @type {MouseEvent} */ event) {
    const [query, around] = this.#at(event);
    this.choose({ query });
    this.choose({ around });
  }
}
