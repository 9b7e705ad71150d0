// How it got there in a picture: one small overlay a block, with the shares of its patches and its strongest links.

import { strongestAt } from "../core/colors.js";
import { css, el, fit, svg } from "../core/dom.js";
import { afterBlocks } from "../core/states.js";
import { View } from "../core/view.js";
import { patchAt, squareOf } from "./patch_canvas.js";
import { shareSaid } from "./routes_layout.js";

/** @typedef {{ run: Run, found: Explained, token: number }} Shown */

const [SIDE, GAP, BESIDE] = [132, 10, 3]; // pixels of a picture, and between them; so many fit beside each other
const LINKS = 3; // of each block
const LINE = 14; // pixels of a line of a file, and between its pictures
const STRONG = 0.9; // opacity of the largest share
const [FOR, AGAINST] = ["rgb(255 96 32)", "rgb(56 140 255)"]; // seen on dark and on light pictures

export class PictureRoutes extends View {
  /** @type {Shown | null} */ #shown = null;
  /** @type {HTMLImageElement | null} */ #image = null;
  #side = SIDE;
  node = el("div", { class: "viz-route-pictures" });

  constructor(/** @type {(token: number) => unknown} */ choose) {
    super();
    this.choose = choose;
    this.node.addEventListener("click", (event) => this.#press(event));
  }

  /** @type {(run: Run, found: Explained, token: number) => Promise<void>} */
  async show(run, found, token) {
    const other = this.#shown?.run !== run;
    this.#shown = { run, found, token };
    if (other) {
      this.#image = null;
      const image = await run.picture();
      if (this.#shown.run !== run) return; // another one came meanwhile
      this.#image = image;
    }
    this.draw();
  }

  draw() {
    const shown = this.#shown;
    if (!shown) return;
    const { found } = shown;
    const room = this.node.clientWidth || innerWidth;
    this.#side = Math.min(SIDE, (room + GAP) / BESIDE - GAP);
    const largest = Math.max(...found.nodes.flat().map(Math.abs)) || 1;
    const all = found.nodes.map((row, state) => {
      const canvas = el("canvas", { role: "img", "aria-label": said(shown, state), title: said(shown, state) });
      this.#paint(canvas, shown, row, largest, state);
      const name = state ? `block ${state - 1}` : "input";
      return el("figure", {}, canvas, el("figcaption", {}, name, beside(shown, row)));
    });
    this.node.replaceChildren(...all);
  }

  /** @type {(canvas: HTMLCanvasElement, shown: Shown, row: number[], largest: number, state: number) => void} */
  #paint(canvas, { run, found, token }, row, largest, state) {
    if (!run.grid) return;
    const { rows, cols, prefix } = run.grid;
    const patch = this.#side / Math.max(rows, cols);
    const context = fit(canvas, patch * cols, patch * rows);
    const square = (/** @type {number} */ at) => squareOf(at - prefix, patch, { rows, cols });
    const middle = (/** @type {number} */ at) => {
      const [x, y, side] = square(at);
      return /** @type {[number, number]} */ ([x + side / 2, y + side / 2]);
    };
    if (this.#image) context.drawImage(this.#image, 0, 0, patch * cols, patch * rows);
    for (let at = prefix; at < row.length; at++) {
      const part = row[at] / largest;
      const [x, y, side] = square(at);
      context.globalAlpha = STRONG * Math.sqrt(Math.abs(part));
      context.fillStyle = part > 0 ? FOR : AGAINST;
      context.fillRect(x, y, side, side);
    }
    context.globalAlpha = 1;
    const inside = found.edges.filter(({ layer, key, query }) => layer === state && key >= prefix && query >= prefix);
    for (const { key, query, share } of inside.slice(0, LINKS)) {
      [context.strokeStyle, context.lineWidth] = [share > 0 ? FOR : AGAINST, 2];
      context.beginPath();
      context.moveTo(...middle(key));
      context.lineTo(...middle(query));
      context.stroke();
    }
    if (token >= prefix) {
      const [x, y, side] = square(token);
      [context.strokeStyle, context.lineWidth] = ["#fff", 1.5];
      context.strokeRect(x, y, side, side);
    }
  }

  /** All of it in a row, for a file. */
  get drawing() {
    const figures = [...this.node.querySelectorAll("figure")];
    const canvases = figures.map((figure) => /** @type {HTMLCanvasElement} */ (figure.querySelector("canvas")));
    const [wide, high] = [Math.max(...canvases.map((each) => each.offsetWidth)), canvases[0].offsetHeight];
    const name = { y: high + LINE, fill: css("--body-text-color"), "font-size": 12, "text-anchor": "middle" };
    const parts = canvases.flatMap((canvas, at) => {
      const x = at * (wide + LINE);
      const box = { x, y: 0, width: canvas.offsetWidth, height: canvas.offsetHeight };
      const said = figures[at].querySelector("figcaption")?.textContent ?? "";
      return [
        svg("image", { ...box, href: canvas.toDataURL() }),
        svg("text", { ...name, x: x + wide / 2, "font-family": "sans-serif" }, said),
      ];
    });
    const [width, height] = [canvases.length * (wide + LINE) - LINE, high + 2 * LINE];
    return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...parts);
  }

  #press(/** @type {MouseEvent} */ { target, offsetX, offsetY }) {
    const grid = this.#shown?.run.grid;
    if (!grid || !(target instanceof HTMLCanvasElement)) return;
    const at = patchAt(offsetX, offsetY, this.#side / Math.max(grid.rows, grid.cols), grid);
    if (at !== null) this.choose(grid.prefix + at);
  }
}

/** What the tokens before the patches hold. @type {(shown: Shown, row: number[]) => string} */
function beside({ run, found }, row) {
  const prefix = run.grid?.prefix ?? 0;
  const share = shareSaid(
    row.slice(0, prefix).reduce((sum, each) => sum + each, 0),
    found,
  );
  return share && ` · ${prefix > 1 ? "prefix" : run.tokens[0]} ${share}`;
}

/** @type {(shown: Shown, state: number) => string} */
function said({ run, found }, state) {
  const row = found.nodes[state];
  const at = Math.max(0, strongestAt(row));
  return `Shares ${afterBlocks(state)}: largest at ${run.named(at)}, ${row[at].toFixed(2)}`.replaceAll("-", "−");
}
