// Panel: all layers' states in one plane; this layer's points strong, one token's way through all of them.

import { caption, context2d, control, controls, css, el, options } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { afterBlocks } from "../core/states.js";
import { digits } from "./layer_chart.js";
import { Panel } from "./panel.js";
import { components, dot, Plane, ring } from "../views/plane.js";

/** @import { Acts, Draw, State, Table } from "./panel.js" */
/** @typedef {State & { points: Float32Array, states: number, count: number, shares: number[], kept: number[] }} Shown
 *   points are states × kept tokens × 2; shares of the variance, one an axis */

const CENTERS = { together: "of all layers together", "each layer": "of each layer on its own" };

export class PcaPanel extends Panel {
  plane = new Plane(
    { class: "viz-hidden-pca", role: "img" },
    {
      draw: () => this.#draw(),
      point: (at) => this.#point(at),
      choose: (at) => this.shown && this.acts.choose(this.shown.kept[at % this.shown.count]),
      favored: (at) => this.shown !== null && Math.floor(at / this.shown.count) === this.shown.layer,
    },
  );
  canvas = this.plane.canvas;
  context = context2d(this.canvas);
  center = inLink(
    "hidden.center",
    el("select", { id: "viz-hidden-center", onchange: () => this.again() }, ...options(Object.entries(CENTERS))),
  );
  /** @type {Shown | null} */
  shown = null;
  /** @type {HTMLCanvasElement | null} without marks */
  base = null;

  constructor(/** @type {Acts} */ acts) {
    super(
      acts,
      "pca",
      "PCA of hidden states, all layers",
      "Follow the line: the chosen token's path from the embeddings to the last block. The axes are the first two principal components of all layers' states, fitted together. What lies outside this plane is not shown, so points that are close here may be far apart.",
    );
    const says = caption("Solid: the current layer; faint: all other layers.");
    this.body.append(controls(control("Subtract the mean", this.center)), this.plane.node, says, this.told);
  }

  /** @override */
  choices() {
    return { center: this.center.value };
  }

  /** @override @type {(state: State) => Table[]} */
  tables({ hide }) {
    return [["", `projection?hide_special=${hide}&center=${encodeURIComponent(this.center.value)}`]];
  }

  /** @override @type {Draw} */
  async draw(state, fresh) {
    const { run, hide, token, layer } = state;
    const center = this.center.value;
    const [[, path]] = this.tables(state);
    /** @type {Numbers<{ shares: number[] }>} */
    const { values, shape, about } = await fresh(run.numbers(`hidden/${path}`));
    const again = this.base && this.shown?.points === values;
    const [states, count] = shape;
    this.shown = { ...state, points: values, states, count, shares: about.shares, kept: run.real(hide) };
    this.canvas.setAttribute(
      "aria-label",
      `PCA of the tokens' hidden states, all layers. ${components(about.shares).join("; ")}. Its numbers are in the CSV below.`,
    );
    if (again) this.#marks();
    else this.#draw();
    return `${layer}:${hide}:${token}:${center}`;
  }

  /** @override @param {number | null} hovered */
  mark(hovered) {
    super.mark(hovered);
    this.#marks();
  }

  /** @override */
  redraw() {
    this.base = null;
  }

  /** @override */
  fit() {
    this.#draw();
  }

  // Screen position of a token after some blocks, for tests and tools.
  box(/** @type {number} */ token, /** @type {number} */ layer) {
    const page = this.canvas.getBoundingClientRect();
    if (!this.shown || !this.plane.scale) return null;
    const [x, y] = this.plane.scale.place(layer * this.shown.count + this.shown.kept.indexOf(token));
    return [page.left + x, page.top + y];
  }

  #draw() {
    const { shown } = this;
    const plane = shown && this.plane.enter(shown.points, components(shown.shares));
    if (!plane) return;
    const { context, scale } = plane;
    const all = shown.states * shown.count;
    context.globalAlpha = all > 4000 ? 0.12 : 0.3;
    for (let at = 0; at < all; at++) dot(context, scale.place(at), 2);
    context.globalAlpha = 1;
    this.base = el("canvas");
    [this.base.width, this.base.height] = [this.canvas.width, this.canvas.height];
    context2d(this.base).drawImage(this.canvas, 0, 0);
    this.#marks();
  }

  #marks() {
    const { base, context, hovered } = this;
    const { scale } = this.plane;
    if (!base || !scale || !this.shown) return;
    const { kept, layer, token, count } = this.shown;
    context.clearRect(0, 0, ...this.plane.size);
    context.drawImage(base, 0, 0, ...this.plane.size);
    context.fillStyle = css("--color-accent");
    context.globalAlpha = 0.85;
    for (let place = 0; place < count; place++) dot(context, scale.place(layer * count + place), count > 600 ? 2 : 4);
    context.globalAlpha = 1;
    if (hovered !== null && hovered !== token) this.#way(kept.indexOf(hovered), css("--body-text-color"), true);
    this.#way(kept.indexOf(token), css("--viz-mark", this.canvas), false);
  }

  /** A token's way from the embeddings on, and a ring where it is now. @type {(place: number, color: string, dashed: boolean) => void} */
  #way(place, color, dashed) {
    const { context, shown } = this;
    const { scale } = this.plane;
    if (place < 0 || !scale || !shown) return;
    const way = Array.from({ length: shown.states }, (_, layer) => scale.place(layer * shown.count + place));
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = dashed ? 1 : 2;
    context.setLineDash(dashed ? [4, 3] : []);
    context.beginPath();
    for (const point of way) context.lineTo(...point);
    context.stroke();
    context.setLineDash([]);
    if (!dashed) for (const point of way) dot(context, point, 3);
    ring(context, way[shown.layer], color, 2);
  }

  #point(/** @type {number} */ at) {
    const { shown } = this;
    const token = shown && at >= 0 ? shown.kept[at % shown.count] : null;
    this.acts.hover(token);
    this.told.textContent =
      shown && token !== null
        ? `${shown.run.named(token)} ${afterBlocks(Math.floor(at / shown.count))}: (${digits(shown.points[2 * at])}, ${digits(shown.points[2 * at + 1])})`
        : "";
  }
}
