// Heads placed by what they do: a point a head, by two statistics.

import { control, controls, el, onWidth, options, svg } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { headName } from "../views/cells.js";
import { section } from "../views/headed.js";
import { roundEnds, ticks } from "../views/scales.js";
import { outstanding, placed } from "../views/scatter_labels.js";
import { shown } from "./tables.js";

/** @import { Point } from "../views/scatter_labels.js" */
/** @import { HeadPlace, HeadTable } from "./types.d.ts" */

const [HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [300, 46, 16, 12, 26];
const [REACH, NAMED] = [16, 8]; // pixels within which a point is meant; names along each axis
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
  drawing = svg("svg", { class: "viz-corpus-plane", height: HEIGHT, role: "img" });
  told = el("p", { class: "viz-caption viz-corpus-told", role: "status" });
  #titles = "";

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    const fields = controls(control("Up:", this.y), control("Across:", this.x));
    this.node = section(
      ...["viz-corpus-placed", "Heads placed by what they do", "Heads placed by what they do"],
      ...[fields, this.drawing, this.told],
    );
    for (const field of [this.x, this.y]) field.addEventListener("change", () => this.draw());
    this.drawing.addEventListener("pointermove", (event) => this.#tell(this.#near(event)));
    this.drawing.addEventListener("pointerleave", () => this.#tell(-1));
    this.drawing.addEventListener("click", (event) => {
      const at = this.#near(event);
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
    const scaleX = ends(known.map(({ along }) => along));
    const scaleY = ends(known.map(({ value }) => value));
    const x = (/** @type {number} */ value) => LEFT + scaleX.share(value) * (width - LEFT - RIGHT);
    const y = (/** @type {number} */ value) => HEIGHT - BOTTOM - scaleY.share(value) * (HEIGHT - TOP - BOTTOM);
    const titles = [this.x, this.y].map(({ value }) => table.words[value].title);
    this.points = known.map(({ at, along, value }) => ({
      ...{ at, name: headName(at), x: x(along), y: y(value) },
      told: `Head ${headName(at)}: ${shown(value)} up, ${shown(along)} across`,
    }));
    const isChosen = (/** @type {string} */ name) => name === headName(this.chosen);
    const dots = this.points.map(({ name, ...point }) =>
      svg("circle", {
        ...{ cx: point.x, cy: point.y, r: isChosen(name) ? 7 : 5, "data-head": name },
        class: isChosen(name) ? "viz-chosen" : "",
      }),
    );
    const wanted = [
      ...this.points.flatMap(({ name }, at) => (isChosen(name) ? [at] : [])),
      ...outstanding(
        known.map(({ value }) => value),
        known.map(({ along }) => along),
        NAMED,
      ),
    ];
    const box = { left: LEFT, right: width, top: 0, bottom: HEIGHT - BOTTOM + 6 };
    const names = placed(this.points, [...new Set(wanted)], box).map(({ name, anchor, ...place }) =>
      svg("text", { class: "viz-corpus-name", x: place.x, y: place.y, "text-anchor": anchor }, name),
    );
    const lines = [
      ...ticks(...scaleX.ends).map((value) => tick(x(value), HEIGHT - BOTTOM + 16, "middle", value)),
      ...ticks(...scaleY.ends).map((value) => tick(LEFT - 6, y(value) + 4, "end", value)),
    ];
    const frame = { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM };
    this.drawing.setAttribute("width", String(width));
    this.drawing.setAttribute("aria-label", `${known.length} heads. Up: ${titles[1]}. Across: ${titles[0]}.`);
    this.drawing.replaceChildren(svg("rect", { class: "viz-corpus-frame", ...frame }), ...lines, ...dots, ...names);
    this.#tell(-1);
  }

  #tell(/** @type {number} */ at) {
    this.told.textContent = this.points[at]?.told ?? "Point at a head for its numbers; click it to choose it.";
  }

  /** @type {(event: MouseEvent) => number} */
  #near(event) {
    const box = this.drawing.getBoundingClientRect();
    const far = this.points.map(({ x, y }) =>
      Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top)),
    );
    const least = Math.min(...far);
    return least <= REACH ? far.indexOf(least) : -1;
  }
}

/** @type {(values: number[]) => { ends: [number, number], share: (value: number) => number }} */
function ends(values) {
  const [low, high] = roundEnds(Math.min(0, ...values), Math.max(...values, 0));
  return { ends: [low, high], share: (value) => (value - low) / (high - low) };
}

/** @type {(x: number, y: number, anchor: string, value: number) => SVGElement} */
const tick = (x, y, anchor, value) =>
  svg("text", { x, y, "text-anchor": anchor }, String(Number(value.toPrecision(3))));
