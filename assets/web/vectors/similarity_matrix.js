// Similarity of all tokens after some blocks, as a matrix.

import { el } from "../core/dom.js";
import { isolated } from "../core/token_names.js";
import { SquareMatrix, signedPicture } from "../views/matrix.js";
import { gradient } from "../views/shading.js";
import { COSINES } from "./results.js";

/** @import { Framed } from "../views/matrix.js" */
/** @import { Acts } from "./panel.js" */
/** @typedef {{ kept: number[], values: Float32Array, edges: number[] }} Cells side × side cosines of the
 *   kept tokens; edges are the places among them where blocks begin, and where the last one ends */

const [LARGEST, NAMES, LETTERS] = [440, 86, 11]; // pixels of the square and of names beside it; letters of a name
const LEGIBLE = 11; // pixels of a cell from which names are written
const AXIS = 20;

export class SimilarityMatrix extends SquareMatrix {
  bar = el("i", { class: "viz-stat-bar" });
  /** @type {Run | null} */
  run = null;
  /** @type {Cells} */
  cells = { kept: [], values: new Float32Array(), edges: [0] };
  token = -1;
  /** @type {number | null} */
  hovered = null;

  /** `told` says the cell under the pointer. @param {Acts} acts @param {HTMLElement} told */
  constructor(acts, told) {
    super(el("div"), "viz-hidden-matrix", "tokens", (row) => acts.choose(this.first(row)));
    this.acts = acts;
    this.told = told;
    const scale = el("p", { class: "viz-caption viz-stat-scale" }, "−1 ", this.bar, " 1, cosine");
    this.node.append(this.canvas, scale);
  }

  /** @type {(run: Run, cells: Cells, token: number) => void} */
  show(run, cells, token) {
    Object.assign(this, { run, cells, token });
    const side = cells.edges.length - 1;
    this.fill(cells.values, side);
    const what = side < cells.kept.length ? "blocks of tokens" : "tokens";
    const walk = "Arrow keys walk through the cells, Enter chooses the row's token.";
    this.canvas.setAttribute("aria-label", `Cosine of ${side} × ${side} ${what}. ${walk}`);
  }

  mark(/** @type {number | null} */ hovered) {
    this.hovered = hovered;
    this.marks();
  }

  // The first token of a block.
  first(/** @type {number} */ block) {
    return this.cells.kept[this.cells.edges[block]];
  }

  /** @override @param {number} room */
  layout(room) {
    const left = Math.min(LARGEST, room - NAMES) / this.view.n >= LEGIBLE ? NAMES : AXIS;
    return { left, top: left, side: Math.min(LARGEST, room - left - 2) };
  }

  /** @override */
  picture() {
    this.bar.style.background = gradient("right", COSINES);
    return signedPicture(this.values, this.view.n);
  }

  /** The axes, and the names of both where there is room. @override @param {CanvasRenderingContext2D} context */
  write(context) {
    this.title(context, "Token");
    context.font = "12px system-ui, sans-serif";
    for (let block = 0; this.left === NAMES && block < this.view.n; block++) {
      const middle = this.left + (block + 0.5) * this.each + 4;
      const text = cut(this.run?.tokens[this.first(block)] ?? "");
      context.textAlign = "right";
      context.fillText(isolated(text), this.left - 4, middle);
      context.save();
      context.translate(middle, this.top - 4);
      context.rotate(-Math.PI / 2);
      context.textAlign = "left";
      context.fillText(isolated(text), 0, 0);
      context.restore();
    }
  }

  /** The chosen token's row and column, and the hovered one's. @override */
  framed() {
    const hovered = this.hovered === null ? -1 : blockOf(this.cells, this.hovered);
    return /** @type {Framed[]} */ ([
      [blockOf(this.cells, this.token), "--viz-mark", 1.5],
      [hovered, "--body-text-color", 1],
    ]);
  }

  /** @override @param {Cell | null} cell */
  pointed(cell) {
    this.acts.hover(cell && this.first(cell[0]));
    this.told.textContent = cell && this.run ? sentence(this.run, this.cells, cell) : "";
  }

  /** @override @returns {Cell} */
  get start() {
    const block = Math.max(0, blockOf(this.cells, this.token));
    return [block, block];
  }
}

const cut = (/** @type {string} */ name) => (name.length > LETTERS ? `${name.slice(0, LETTERS - 1)}…` : name);

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
