// Heads placed by what they do: a point a head, by two statistics.

import { control, controls, el, onWidth, options, svg } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { headName } from "../views/cells.js";
import { section } from "../views/headed.js";
import { frameOf, namesOf, nearest, scalesOf } from "../views/head_plot.js";
import { ticks } from "../views/scales.js";
import { shown } from "./tables.js";

/** @import { Point } from "../views/scatter_labels.js" */
/** @import { HeadPlace, HeadTable } from "./types.d.ts" */

const INSET = { height: 316, left: 60, right: 16, top: 12, bottom: 42 };
const BELOW = INSET.height - INSET.bottom + 16; // the numbers across
const NAMED = 8; // names along each axis
const AXES = { x: "special", y: "previous" };

export class HeadPlane {
  /** @type {HeadTable | null} */
  table = null;
  /** @type {HeadPlace} */
  chosen = { layer: 0, head: 0 };
  /** @type {(Point & { at: HeadPlace, told: string })[]} */
  points = [];
  x = el("select", { "aria-label": "Across" });
  y = el("select", { "aria-label": "Up" });
  drawing = svg("svg", { class: "viz-corpus-plane", height: INSET.height, role: "img" });
  told = el("p", { class: "viz-caption viz-corpus-told", role: "status" });
  #titles = "";

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    const fields = controls(control("Up:", this.y), control("Across:", this.x));
    this.node = section(
      ...["viz-corpus-placed", "Heads placed by what they do", "Heads placed by what they do"],
      ...[fields, this.drawing, this.told],
    );
    for (const field of [this.x, this.y]) field.addEventListener("change", () => this.draw());
    this.drawing.addEventListener("pointermove", (event) => this.#tell(nearest(this.points, this.drawing, event)));
    this.drawing.addEventListener("pointerleave", () => this.#tell(-1));
    this.drawing.addEventListener("click", (event) => {
      const at = nearest(this.points, this.drawing, event);
      if (at >= 0) choose(this.points[at].at);
    });
    onWidth(this.node, () => requestAnimationFrame(() => this.draw()));
  }

  /** @type {(table: HeadTable, chosen: HeadPlace) => void} */
  show(table, chosen) {
    this.table = table;
    this.chosen = chosen;
    const titles = Object.entries(table.words).map(([name, { title }]) => /** @type {const} */ ([name, title]));
    if (this.#titles !== String(titles)) {
      for (const axis of /** @type {const} */ (["x", "y"])) {
        const before = this[axis].value || AXES[axis];
        this[axis].replaceChildren(...options(titles));
        if (before in table.words) this[axis].value = before;
        if (!this.#titles) inLink(`corpus.${axis}`, this[axis]);
      }
      this.#titles = String(titles);
    }
    this.draw();
  }

  draw() {
    const width = this.node.clientWidth;
    const { table } = this;
    if (!width || !table) return;
    const [across, up] = [table.arrays[this.x.value], table.arrays[this.y.value]];
    const known = up.flatMap((row, layer) =>
      row.flatMap((value, head) => {
        const along = across[layer][head];
        return value === null || along === null ? [] : [{ at: { layer, head }, along, value }];
      }),
    );
    const scales = scalesOf(known, width, INSET);
    const titles = [this.x, this.y].map(({ value }) => table.words[value].title);
    this.points = known.map(({ at, along, value }) => ({
      ...{ at, name: headName(at), x: scales.x(along), y: scales.y(value) },
      told: `Head ${headName(at)}: ${shown(value)} up, ${shown(along)} across`,
    }));
    const isChosen = (/** @type {string} */ name) => name === headName(this.chosen);
    const dots = this.points.map(({ name, ...point }) =>
      svg("circle", {
        ...{ cx: point.x, cy: point.y, r: isChosen(name) ? 7 : 5, "data-head": name },
        class: isChosen(name) ? "viz-chosen" : "",
      }),
    );
    const names = namesOf("viz-corpus-name", this.points, known, isChosen, NAMED, width, INSET);
    const middle = (INSET.top + INSET.height - INSET.bottom) / 2;
    const lines = [
      svg(
        "text",
        { x: (INSET.left + width - INSET.right) / 2, y: INSET.height - 6, "text-anchor": "middle" },
        titles[0],
      ),
      svg("text", { x: 14, y: middle, "text-anchor": "middle", transform: `rotate(-90 14 ${middle})` }, titles[1]),
      ...ticks(...scales.xs).map((value) => tick(scales.x(value), BELOW, "middle", value)),
      ...ticks(...scales.ys).map((value) => tick(INSET.left - 6, scales.y(value) + 4, "end", value)),
    ];
    this.drawing.setAttribute("width", String(width));
    this.drawing.setAttribute("aria-label", `${known.length} heads. Up: ${titles[1]}. Across: ${titles[0]}.`);
    this.drawing.replaceChildren(frameOf("viz-corpus-frame", width, INSET), ...lines, ...dots, ...names);
    this.#tell(-1);
  }

  #tell(/** @type {number} */ at) {
    this.told.textContent = this.points[at]?.told ?? "Point at a head for its numbers; click it to choose it.";
  }
}

/** @type {(x: number, y: number, anchor: string, value: number) => SVGElement} */
const tick = (x, y, anchor, value) =>
  svg("text", { x, y, "text-anchor": anchor }, String(Number(value.toPrecision(3))));
