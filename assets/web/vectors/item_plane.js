// A set's items in one plane, by PCA of their pooled vectors: colored by label, a point to click an item.

import { caption, css, el } from "../core/dom.js";
import { View } from "../core/view.js";
import { canvasPng, csvFile } from "../views/canvas_png.js";
import { fullScreen } from "../views/full_screen.js";
import { components, dot, Plane, ring } from "../views/plane.js";
import { STEPS } from "../views/one_stop.js";
import { saveRow } from "../views/save_row.js";
import { cut, fixed, HUES } from "./results.js";

/** @typedef {{ set: SetDescription, points: Float32Array, shares: number[], title: string }} Shown */

const ABOUT =
  "The first two principal components of the pooled vectors. What lies outside this plane is not shown, " +
  "so items that are close here may be far apart; the cosines use the whole vectors.";
const HINT = "Point at an item for its name; click it for its nearest neighbors. Arrow keys step through the items.";

export class ItemPlane extends View {
  /** @type {Shown | null} */ #shown = null;
  #item = -1;
  #pointed = -1;
  heading = el("h3");
  legend = el("p", { class: "viz-set-legend" });
  told = el("p", { class: "viz-readout", role: "status" });

  constructor(/** @type {(item: number) => unknown} */ choose) {
    super();
    this.choose = choose;
    const kind = { class: "viz-set-plane-canvas", tabindex: "0", role: "application" };
    this.plane = new Plane(
      { ...kind, "aria-roledescription": "scatter plot of items" },
      { choose, draw: () => this.draw(), point: (at) => this.#point(at) },
    );
    this.canvas = this.plane.canvas;
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.node = el("section", { class: "viz-set-plane", "aria-label": "All items in one plane" });
    const open = fullScreen(this.node, () => this.draw());
    const stem = () => `${this.#shown?.set.model}-${this.#shown?.title}-plane`;
    const save = saveRow("Save this plane", [
      ["PNG", "The plane as a picture", () => canvasPng(this.canvas, stem())],
      ["CSV", "Each item with its label and its place", () => csvFile(stem(), this.#table())],
    ]);
    this.node.append(open, this.heading, this.plane.node, this.told, this.legend, caption(ABOUT), save);
  }

  /** @type {(set: SetDescription, found: Numbers<{ shares: number[] }>, title: string, item: number) => void} */
  show(set, { values, about }, title, item) {
    this.#shown = { set, points: values, shares: about.shares, title };
    [this.#item, this.#pointed] = [item, -1];
    this.heading.textContent = `PCA of all items: ${title}`;
    this.canvas.setAttribute("aria-label", `${set.names.length} items. ${components(about.shares).join("; ")}.`);
    this.told.textContent = HINT;
    this.legend.replaceChildren(
      ...labelsOf(set).map((label, at) => {
        const mark = el("i", { class: "viz-set-key", style: `background: ${HUES[at % HUES.length]}` });
        return el("span", {}, mark, label);
      }),
    );
    this.draw();
    this.painted(title);
  }

  #table() {
    const { set, points } = /** @type {Shown} */ (this.#shown);
    const lines = set.names.map((name, at) => [at, name, set.labels[at] ?? "", points[2 * at], points[2 * at + 1]]);
    return [["item", "text", "label", "component 1", "component 2"], ...lines];
  }

  mark(/** @type {number} */ item) {
    this.#item = item;
    this.draw();
  }

  draw() {
    const shown = this.#shown;
    const plane = shown && this.plane.enter(shown.points, components(shown.shares));
    if (!plane) return;
    const [{ set }, { context, scale }] = [shown, plane];
    const labels = labelsOf(set);
    context.globalAlpha = 0.85;
    for (let item = 0; item < set.names.length; item++) {
      const hue = HUES[Math.max(0, labels.indexOf(set.labels[item])) % HUES.length];
      context.fillStyle = labels.length ? hue : css("--color-accent");
      dot(context, scale.place(item), set.names.length > 600 ? 3 : 5);
    }
    context.globalAlpha = 1;
    if (this.#pointed >= 0) ring(context, scale.place(this.#pointed), css("--body-text-color"), 1.5);
    if (this.#item >= 0) ring(context, scale.place(this.#item), css("--viz-mark", this.canvas), 2.5);
    const { box, low, each } = scale;
    this.canvas.dataset.box = JSON.stringify([box.left, box.bottom, ...low, each[0]]); // where points are, for tests
  }

  #point(/** @type {number} */ item) {
    if (item === this.#pointed || !this.#shown) return;
    this.#pointed = item;
    const { set, points } = this.#shown;
    const label = set.labels[item] ? ` (${set.labels[item]})` : "";
    const at = [points[2 * item], points[2 * item + 1]].map((value) => fixed(value)).join(", ");
    this.told.textContent = item < 0 ? HINT : `${item} “${cut(set.names[item], 90)}”${label} at (${at})`;
    this.draw();
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const last = (this.#shown?.set.names.length ?? 0) - 1;
    const by = STEPS[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const item = Math.max(0, Math.min(last, this.#item + by));
    this.choose(item);
    this.#point(item);
  }
}

// In the order in which the matrix has them.
const labelsOf = (/** @type {SetDescription} */ { labels }) =>
  [...new Set(labels)].filter(Boolean).sort((a, b) => a.localeCompare(b));
