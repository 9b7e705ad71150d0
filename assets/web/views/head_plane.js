// Heads placed by what they do: a point a head, by two statistics.

import { control, controls, css, el, number, options } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { View } from "../core/view.js";
import { headName, headsIn } from "./cells.js";
import { section } from "./headed.js";
import { dot, Plane, ring } from "./plane.js";
import { outstanding, placed } from "./scatter_labels.js";

/** @typedef {{ words: Record<string, { title: string }>, arrays: Record<string, Maybe[][]> }} Numbers of every head, by
 *   their names */
/** @typedef {{ at: HeadPlace, along: number, value: number }} Known a head of which both numbers are known */

const [NAMED, FONT] = [8, "600 12px system-ui, sans-serif"]; // names along each axis

export class HeadPlane extends View {
  /** @type {Numbers | null} */
  table = null;
  /** @type {HeadPlace} */
  chosen = { layer: 0, head: 0 };
  /** @type {Known[]} */
  known = [];
  x = el("select", { "aria-label": "Across", onchange: () => this.draw() });
  y = el("select", { "aria-label": "Up", onchange: () => this.draw() });
  told = el("p", { class: "viz-caption", role: "status" });
  tab = "";
  usual = { x: "", y: "" };
  #titles = "";

  /** `usual` are the names of what is across and up at first; `tab` keeps others in its link.
   * @param {(place: HeadPlace) => unknown} choose @param {{ title: string, tab: string, usual: { x: string, y: string } }} more */
  constructor(choose, { title, tab, usual }) {
    super();
    [this.tab, this.usual] = [tab, usual];
    this.plane = new Plane(
      { class: "viz-plane", role: "img", "aria-label": title },
      {
        choose: (at) => choose(this.known[at].at),
        draw: () => this.draw(),
        point: (at) => this.#tell(at),
        tallest: 316,
      },
    );
    const fields = controls(control("Up:", this.y), control("Across:", this.x));
    this.node = section(...["viz-placed", title, title], ...[fields, this.plane.node, this.told]);
  }

  /** @type {(table: Numbers, chosen: HeadPlace) => void} */
  show(table, chosen) {
    this.table = table;
    this.chosen = chosen;
    const titles = Object.entries(table.words).map(([name, { title }]) => /** @type {const} */ ([name, title]));
    if (this.#titles !== String(titles)) {
      for (const axis of /** @type {const} */ (["x", "y"])) {
        const before = this[axis].value || this.usual[axis];
        this[axis].replaceChildren(...options(titles));
        if (before in table.words) this[axis].value = before;
        if (!this.#titles) inLink(`${this.tab}.${axis}`, this[axis], this.signal);
      }
      this.#titles = String(titles);
    }
    this.draw();
  }

  draw() {
    const { table, chosen } = this;
    if (!table) return;
    const [across, up] = [table.arrays[this.x.value], table.arrays[this.y.value]];
    this.known = headsIn(up).flatMap(({ value, ...at }) => {
      const along = across[at.layer][at.head];
      return along === null ? [] : { at, along, value };
    });
    const { known } = this;
    const titles = [this.x, this.y].map(({ value }) => table.words[value].title);
    const points = known.flatMap(({ along, value }) => [along, value]);
    const plane = this.plane.enter(points, titles, false);
    if (!plane) return;
    const { context, scale } = plane;
    const first = known.findIndex(({ at }) => headName(at) === headName(chosen));
    context.fillStyle = css("--color-accent");
    for (const at of known.keys()) {
      context.globalAlpha = at === first ? 1 : 0.55;
      dot(context, scale.place(at), 5);
    }
    context.globalAlpha = 1;
    if (first >= 0) ring(context, scale.place(first), css("--viz-mark", this.plane.canvas), 3);
    this.#name(context, first);
    this.plane.canvas.ariaLabel = `${known.length} heads. Up: ${titles[1]}. Across: ${titles[0]}.`;
    this.#tell(-1);
  }

  // Names where there is room: the chosen one first, then what lies furthest out along each axis.
  #name(/** @type {CanvasRenderingContext2D} */ context, /** @type {number} */ first) {
    const { known, plane } = this;
    const points = known.map(({ at }, place) => {
      const [x, y] = plane.scale?.place(place) ?? [0, 0];
      return { x, y, name: headName(at) };
    });
    const [values, along] = [known.map((each) => each.value), known.map((each) => each.along)];
    const wanted = new Set([...(first < 0 ? [] : [first]), ...outstanding(values, along, NAMED)]);
    [context.fillStyle, context.font] = [css("--body-text-color"), FONT];
    for (const { name, x, y, anchor } of placed(points, [...wanted], plane.scale?.box ?? new DOMRect())) {
      context.textAlign = anchor === "middle" ? "center" : anchor;
      context.fillText(name, x, y);
    }
  }

  #tell(/** @type {number} */ at) {
    const { at: place, along = 0, value = 0 } = this.known[at] ?? {};
    this.told.textContent = place
      ? `Head ${headName(place)}: ${number(value)} up, ${number(along)} across`
      : "Point at a head for its numbers; click it to choose it.";
  }
}
