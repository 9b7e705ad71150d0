// The vectors of all positions as a heat map: a row for each position, a column for each dimension.

import { makeScale, picture, SIGNED } from "../core/colors.js";
import { caption, el, fit, onWidth } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { asksFor } from "./cover.js";
import { fixed } from "./printed.js";
import { StepView } from "./step_view.js";
import { sinusoids } from "./untrained.js";

/** @import { Acts } from "./types.d.ts" */

const [TALL, LEFT] = [260, 34]; // pixels: at most of the rows, and for their numbers
const ROW = 12; // pixels of a row where there is room
const FULL = 0.98; // of the numbers are paler than the full color
const ASKED = 2; // the dimension of the sinusoidal table that an exercise asks for

export class PositionTable extends StepView {
  #asked = new Latest((sentence) => this.said.replaceChildren(sentence));
  title = el("h4");
  canvas = el("canvas", {
    role: "img",
    onclick: (event) => this.#choose(event),
    onpointermove: (event) => this.#tell(event),
    onpointerleave: () => this.#rest(),
  });
  said = caption();
  sines = el("input", { type: "checkbox", onchange: () => this.#draw() });
  label = el("label", { class: "viz-control" });
  node = el("section", { class: "viz-learn-positions", hidden: true }, this.title, this.label, this.canvas, this.said);
  /** @type {(Numbers & { key: string }) | null} */
  ran = null;

  constructor(/** @type {Acts} */ acts) {
    super(acts);
    onWidth(this.node, () => requestAnimationFrame(() => this.#draw()));
  }

  async draw() {
    const { run, texts, numbers } = this.shown;
    this.node.hidden = !numbers.embedding?.position; // the model adds none
    if (this.node.hidden) return;
    this.title.textContent = texts.embedding.table;
    this.label.replaceChildren(this.sines, ` ${texts.embedding.sines}`);
    await this.#asked.run(async (fresh) => {
      this.ran = { ...(await fresh(run.numbers("learn/positions"))), key: run.key }; // the run keeps them
      this.#draw();
    });
  }

  // What is drawn: the model's own vectors, or sines and cosines in their place.
  get found() {
    const { ran, sines, shown } = this;
    if (!ran?.shape[0] || ran.key !== shown.run.key) return null;
    if (!sines.checked) return ran;
    const [rows, columns] = ran.shape;
    const values = Float32Array.from(Array.from({ length: rows }, (_, at) => sinusoids(at, columns)).flat());
    return { shape: ran.shape, values };
  }

  // From which on a number has the full color: a few are far larger than all others.
  get full() {
    const amounts = this.found?.values.map(Math.abs).sort() ?? [];
    return amounts[Math.floor(FULL * (amounts.length - 1))] || 1;
  }

  #draw() {
    const { found, shown, canvas, node } = this;
    if (!found || !node.clientWidth) return;
    const [[rows, columns], full] = [found.shape, this.full];
    const high = Math.min(ROW, TALL / rows);
    const wide = Math.min(ROW, (node.clientWidth - LEFT) / columns);
    const context = fit(canvas, LEFT + wide * columns, high * rows + 2);
    const drawn = picture(found.values, rows, columns, makeScale(SIGNED, full));
    context.imageSmoothingEnabled = false;
    context.drawImage(drawn, LEFT, 0, wide * columns, high * rows);
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
    if (!found) return;
    const [rows, columns] = found.shape;
    this.said.textContent = shown.texts.embedding.tableSaid(
      rows,
      columns,
      fixed(this.full, 2),
      rows < shown.run.n ? shown.run.n : null,
    );
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
    if (!found) return;
    const [row, column] = this.#at(event);
    const value = fixed(found.values[row * found.shape[1] + column], 3);
    const asked = this.sines.checked && column === ASKED ? asksFor("sine") : {};
    this.said.replaceChildren(el("span", asked, shown.texts.embedding.tableCell(row, column, value)));
  }

  #choose(/** @type {MouseEvent} */ event) {
    const [query, around] = this.#at(event);
    this.acts.choose({ query });
    this.acts.choose({ around });
  }
}
