// The table of all methods at all layers: a header sorts it, a row chooses what is drawn below.

import { el } from "../core/dom.js";
import { fixed } from "./results.js";

const COLUMNS = {
  // name: [title, what it is, digits]; the first two are text and number of layer
  method: ["Method", "how tokens become one vector"],
  layer: ["Layer", "0 = embeddings"],
  silhouette: [
    "Silhouette",
    "mean over items of (b − a) / max(a, b): a = mean distance within its group, b = to the nearest other group; distance = 1 − cosine. −1 to 1",
  ],
  centroid_accuracy: ["Nearest centroid", "share of items nearest to the mean of their own group's others"],
  recall_at_1: ["Recall@1", "share of items whose nearest neighbor has their label"],
  within: ["Cosine within", "mean cosine of two items of one label"],
  between: ["Cosine between", "mean cosine of two items of different labels"],
};

export class SetTable {
  constructor(choose) {
    Object.assign(this, { choose, by: "silhouette", down: true });
    this.heads = Object.fromEntries(
      Object.entries(COLUMNS).map(([name, [title, what]]) => [
        name,
        el(
          "th",
          { scope: "col", "data-column": name },
          el("button", { type: "button", title: what, onclick: () => this.#sort(name) }, title),
        ),
      ]),
    );
    this.rows = el("tbody", {});
    this.node = el(
      "div",
      { hidden: true },
      el(
        "div",
        {
          class: "viz-pool-scroll viz-set-scroll",
          tabindex: "0",
          role: "region",
          "aria-label": "All methods at all layers",
        },
        el(
          "table",
          { class: "viz-pool-table viz-set-table" },
          el("thead", {}, el("tr", {}, ...Object.values(this.heads))),
          this.rows,
        ),
      ),
      el(
        "details",
        { class: "viz-set-how" },
        el("summary", {}, "How these numbers are computed"),
        el(
          "ul",
          { class: "viz-notes" },
          ...Object.values(COLUMNS)
            .slice(2)
            .map(([title, what]) => el("li", {}, el("strong", {}, title), `: ${what}.`)),
        ),
      ),
    );
  }

  show(table) {
    this.table = table;
    this.node.hidden = !table.length;
    Object.assign(this, { by: "silhouette", down: true });
    this.#draw();
  }

  mark(method, layer) {
    this.chosen = `${method}:${layer}`;
    for (const row of this.rows.children) this.#mark(row);
  }

  #mark(row) {
    const chosen = row.dataset.row === this.chosen;
    row.classList.toggle("viz-chosen-row", chosen);
    row.querySelector("button").setAttribute("aria-pressed", String(chosen));
  }

  #sort(name) {
    this.down = this.by === name ? !this.down : name !== "method" && name !== "layer";
    this.by = name;
    this.#draw();
  }

  #draw() {
    const { by, down } = this;
    for (const [name, head] of Object.entries(this.heads))
      head.setAttribute("aria-sort", name === by ? (down ? "descending" : "ascending") : "none");
    const order = [...this.table].sort((a, b) => {
      if (a[by] === null || b[by] === null) return (a[by] === null) - (b[by] === null); // unknown comes last
      const less = by === "method" ? a[by].localeCompare(b[by]) : a[by] - b[by];
      return down ? -less : less;
    });
    this.rows.replaceChildren(...order.map((row) => this.#row(row)));
  }

  #row(row) {
    const choose = () => this.choose(row.method, row.layer);
    const numbers = Object.keys(COLUMNS)
      .slice(2)
      .map((name) => el("td", {}, fixed(row[name], 3)));
    const node = el(
      "tr",
      { "data-row": `${row.method}:${row.layer}`, title: row.why, onclick: choose },
      el("th", { scope: "row" }, el("button", { type: "button", class: "viz-small" }, row.method)),
      el("td", {}, String(row.layer)),
      ...numbers,
    );
    this.#mark(node);
    return node;
  }
}
