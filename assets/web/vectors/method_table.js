// The table of all methods at all layers: a header sorts it, a row chooses what is drawn below.

import { button, el, query, rowWith } from "../core/dom.js";
import { oneStop, revealIn } from "../views/one_stop.js";
import { called, fixed } from "./results.js";

/** @typedef {keyof typeof COLUMNS} Column */

// Each with its title and what it is; a text, the number of a layer, and then numbers.
const COLUMNS = {
  method: ["Method", "how tokens become one vector"],
  state: ["After n blocks", "0 = embeddings"],
  silhouette: [
    "Silhouette",
    "mean over items of (b − a) / max(a, b): a = mean distance within its group, b = to the nearest other group; " +
      "distance = 1 − cosine. −1 to 1",
  ],
  centroid_accuracy: ["Nearest centroid", "share of items nearest to the mean of their own group's others"],
  recall_at_1: ["Recall@1", "share of items whose nearest neighbor has their label"],
  within: ["Cosine within", "mean cosine of two items of one label"],
  between: ["Cosine between", "mean cosine of two items of different labels"],
};
const NAMES = /** @type {Column[]} */ (Object.keys(COLUMNS));
const NUMBERS = /** @type {Exclude<Column, "method" | "state">[]} */ (NAMES.slice(2));

/**
 * Unknown values come last in either direction.
 * @type {(rows: SetRow[], by: Column, down: boolean) => SetRow[]}
 */
export const sorted = (rows, by, down) =>
  rows.toSorted((a, b) => {
    const [one, other] = down ? [b[by], a[by]] : [a[by], b[by]];
    if (one === null || other === null) return Number(a[by] === null) - Number(b[by] === null);
    return typeof one === "string" ? one.localeCompare(String(other)) : one - Number(other);
  });

export class SetTable {
  /** @type {SetRow[]} */
  table = [];
  /** @type {Column} */
  by = "silhouette";
  down = true;
  chosen = "";
  heads = NAMES.map((name) => {
    const [text, title] = COLUMNS[name];
    const onclick = () => this.#sort(name);
    return el("th", { scope: "col", "data-column": name }, el("button", { type: "button", title, onclick }, text));
  });
  rows = oneStop(el("tbody"));
  titles = oneStop(el("thead", {}, el("tr", {}, ...this.heads)));

  constructor(/** @type {(method: string, layer: number) => unknown} */ choose) {
    this.choose = choose;
    const columns = NUMBERS.map((name) => el("li", {}, el("strong", {}, COLUMNS[name][0]), `: ${COLUMNS[name][1]}.`));
    const table = el("table", { class: "viz-pool-table viz-set-table" }, this.titles, this.rows);
    const region = { tabindex: "0", role: "region", "aria-label": "All methods at all layers" };
    this.box = el("div", { class: "viz-pool-scroll viz-set-scroll", ...region }, table);
    this.node = el(
      "div",
      { hidden: true },
      this.box,
      el(
        "details",
        { class: "viz-set-how" },
        el("summary", {}, "How these numbers are computed"),
        el("ul", { class: "viz-notes" }, ...columns),
      ),
    );
  }

  show(/** @type {SetRow[]} */ table) {
    this.node.hidden = !table.length;
    Object.assign(this, { table, by: "silhouette", down: true });
    this.#draw();
  }

  mark(/** @type {string} */ method, /** @type {number} */ layer) {
    this.chosen = `${method}:${layer}`;
    for (const row of this.rows.rows) {
      this.#mark(row);
      if (row.dataset.row === this.chosen) revealIn(this.box, row, this.titles.offsetHeight);
    }
  }

  #mark(/** @type {HTMLTableRowElement} */ row) {
    const chosen = row.dataset.row === this.chosen;
    row.classList.toggle("viz-chosen-row", chosen);
    query(row, "button").setAttribute("aria-pressed", String(chosen));
  }

  #sort(/** @type {Column} */ name) {
    this.down = this.by === name ? !this.down : name !== "method" && name !== "state";
    this.by = name;
    this.#draw();
  }

  #draw() {
    for (const head of this.heads) {
      const order = head.dataset.column !== this.by ? "none" : this.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", order);
    }
    this.rows.replaceChildren(...sorted(this.table, this.by, this.down).map((row) => this.#row(row)));
  }

  #row(/** @type {SetRow} */ row) {
    const { method, state, why } = row;
    const node = rowWith(
      { "data-row": `${method}:${state}`, title: why, onclick: () => this.choose(method, state) },
      button(called(method), () => {}),
      ...[String(state), ...NUMBERS.map((name) => fixed(row[name]))],
    );
    this.#mark(node);
    return node;
  }
}
