// Similarity of all tokens after some blocks, as a square of colors to point at and to walk through.

import { makeScale, picture, SIGNED } from "../core/colors.js";
import { context2d, css, el, fit, onWidth } from "../core/dom.js";
import { isolated } from "../core/token_names.js";
import { CellCanvas } from "../views/cell_canvas.js";
import { walked } from "../views/cells.js";
import { gradient } from "../views/shading.js";
import { COSINES, cut } from "./results.js";

/** @import { Context } from "../core/labels.js" */
/** @import { Acts } from "./token_similarity.js" */
/** @typedef {{ kept: number[], values: Float32Array, edges: number[] }} Cells side × side cosines of the
 *   kept tokens; edges are the places among them where blocks begin, and where the last one ends */

const [LARGEST, NAMES, LETTERS] = [440, 86, 11]; // pixels of the square and of names beside it; letters of a name
const LEGIBLE = 11; // pixels of a cell from which names are written
const AXIS = 20;
const FONT = "12px system-ui, sans-serif";

export class SimilarityMatrix extends CellCanvas {
  bar = el("i", { class: "viz-stat-bar" });
  /** @type {Cells} */
  cells = { kept: [], values: new Float32Array(), edges: [0] };
  token = -1;
  /** @type {number | null} */
  hovered = null;
  /** @type {Cell | null} */
  cell = null; // that is pointed at
  base = document.createElement("canvas"); // without marks
  canvas = el("canvas", {
    class: "viz-hidden-matrix",
    tabindex: "0",
    role: "application",
    "aria-roledescription": "matrix of tokens",
    onpointermove: (event) => this.#point(this.place(event)),
    onpointerleave: () => this.#point(null),
    onblur: () => this.#point(null),
    onclick: (event) => this.#choose(this.place(event)),
    onkeydown: (event) => this.#key(event),
  });

  /** `told` says the cell under the pointer. @param {Acts} acts @param {HTMLElement} told */
  constructor(acts, told) {
    super();
    this.acts = acts;
    this.told = told;
    const scale = el("p", { class: "viz-caption viz-stat-scale" }, "−1 ", this.bar, " 1, cosine");
    this.node = el("div", {}, this.canvas, scale);
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  /** @type {(run: Run, cells: Cells, token: number) => void} */
  show(run, cells, token) {
    Object.assign(this, { run, cells, token });
    const side = cells.edges.length - 1;
    if (this.view.n !== side) {
      this.renew(side);
      this.cell = null;
    }
    const what = side < cells.kept.length ? "blocks of tokens" : "tokens";
    const walk = "Arrow keys walk through the cells, Enter chooses the row's token.";
    this.canvas.setAttribute("aria-label", `Cosine of ${side} × ${side} ${what}. ${walk}`);
    this.draw();
  }

  mark(/** @type {number | null} */ hovered) {
    this.hovered = hovered;
    this.marks();
  }

  // The first token of a block.
  first(/** @type {number} */ block) {
    return this.cells.kept[this.cells.edges[block]];
  }

  // Pixels of a cell.
  get each() {
    return this.side / this.view.n;
  }

  draw() {
    const [room, { n }] = [this.node.clientWidth, this.view];
    if (!(room > 0) || !n) return;
    this.left = this.top = Math.min(LARGEST, room - NAMES) / n >= LEGIBLE ? NAMES : AXIS;
    this.side = Math.min(LARGEST, room - this.left - 2);
    const whole = this.left + this.side + 2;
    fit(this.canvas, whole, whole);
    const context = fit(this.base, whole, whole);
    context.imageSmoothingEnabled = this.each < 1;
    context.drawImage(
      picture(this.cells.values, n, n, makeScale(SIGNED, 1)),
      this.left,
      this.top,
      this.side,
      this.side,
    );
    this.bar.style.background = gradient("right", COSINES);
    this.#write(context);
    this.marks();
  }

  // The axes, and the names of both where there is room.
  #write(/** @type {Context} */ context) {
    const { left, top, side, each } = this;
    context.fillStyle = css("--body-text-color-subdued");
    context.font = FONT;
    /** @type {(text: string, align: CanvasTextAlign, place: [x: number, y: number], turned?: boolean) => void} */
    const write = (text, align, place, turned = false) => {
      context.save();
      context.translate(...place);
      if (turned) context.rotate(-Math.PI / 2);
      context.textAlign = align;
      context.fillText(text, 0, 0);
      context.restore();
    };
    write("Token", "center", [left + side / 2, 12]);
    write("Token", "center", [12, top + side / 2], true);
    for (let block = 0; left === NAMES && block < this.view.n; block++) {
      const middle = left + (block + 0.5) * each + 4;
      const name = isolated(cut(this.run?.tokens[this.first(block)] ?? "", LETTERS));
      write(name, "right", [left - 4, middle]);
      write(name, "left", [middle, top - 4], true);
    }
  }

  // The chosen token's row and column, the hovered one's, and the cell that is pointed at.
  marks() {
    const { canvas, each, left, top, side, cell } = this;
    if (!side) return;
    const context = context2d(canvas);
    const whole = left + side + 2;
    context.clearRect(0, 0, whole, whole);
    context.drawImage(this.base, 0, 0, whole, whole);
    for (const [token, color, line] of /** @type {const} */ ([
      [this.token, "--viz-mark", 1.5],
      [this.hovered, "--body-text-color", 1],
    ])) {
      const block = blockOf(this.cells, token ?? -1);
      if (block < 0) continue;
      const [from, thick] = band(block, each, side);
      context.strokeStyle = css(color, canvas);
      context.lineWidth = line;
      context.strokeRect(left, top + from, side, thick);
      context.strokeRect(left + from, top, thick, side);
    }
    if (!cell) return;
    context.strokeStyle = css("--viz-mark-key", canvas);
    context.lineWidth = 2;
    const [[down, thick], [right]] = cell.map((place) => band(place, each, side));
    context.strokeRect(left + right, top + down, thick, thick);
  }

  #choose(/** @type {Cell | null} */ cell) {
    if (cell) this.acts.choose(this.first(cell[0]));
  }

  // A walk by keys begins at the chosen token.
  #key(/** @type {KeyboardEvent} */ event) {
    if (event.key === "Enter") this.#choose(this.cell);
    const block = Math.max(0, blockOf(this.cells, this.token));
    const walk = walked(event.key, this.cell ?? [block, block], this.view.n);
    if (!walk || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#point(this.cell ? walk : [block, block]);
  }

  #point(/** @type {Cell | null} */ cell) {
    if (String(cell) === String(this.cell) || !this.side) return;
    this.cell = cell;
    this.acts.hover(cell && this.first(cell[0]));
    this.told.textContent = cell && this.run ? sentence(this.run, this.cells, cell) : "";
    this.marks();
  }
}

/** Offset and thickness of a row's frame: visible, and inside the square.
 * @type {(place: number, each: number, side: number) => [from: number, thick: number]} */
export function band(place, each, side) {
  const thick = Math.max(each, 3);
  return [Math.min(side - thick, Math.max(0, (place + 0.5) * each - thick / 2)), thick];
}

// The block that a token is in; −1 where it is left out.
export function blockOf(/** @type {Pick<Cells, "kept" | "edges">} */ { kept, edges }, /** @type {number} */ token) {
  const place = kept.indexOf(token);
  return place < 0 ? -1 : edges.findLastIndex((edge) => edge <= place);
}

/** Describe a cell. @type {(run: Pick<Run, "named">, cells: Cells, cell: Cell) => string} */
export function sentence(run, { kept, edges, values }, [row, column]) {
  const side = edges.length - 1;
  const name = (/** @type {number} */ block) => {
    const [from, to] = [kept[edges[block]], kept[edges[block + 1] - 1]];
    return from === to ? run.named(from) : `tokens ${from}–${to}`;
  };
  const value = values[row * side + column];
  const said = Number.isNaN(value) ? "not defined" : value.toFixed(4);
  return `${name(row)} and ${name(column)}: ${side < kept.length ? "mean cosine" : "cosine"} ${said}`;
}
