// Files of a set: the table, the vectors of the chosen row, and all vectors.

import { el } from "../core/dom.js";
import { fetched } from "./results.js";

export class SetTake {
  constructor() {
    this.said = el("span", { class: "viz-caption", role: "status" });
    const button = (text, title, path) =>
      el("button", { type: "button", class: "viz-small", title, onclick: () => this.#file(path()) }, text);
    this.table = button("Table (CSV)", "All methods at all layers with their numbers", () => "table.csv");
    this.node = el(
      "section",
      { class: "viz-take", "aria-label": "Take it with you" },
      el("h3", {}, "Take it with you"),
      el(
        "div",
        { class: "viz-controls" },
        this.table,
        button(
          "Vectors of this row (CSV)",
          "The vectors of the chosen method and layer, to check a number by hand",
          () => `csv?${new URLSearchParams({ method: this.chosen[0], layer: this.chosen[1] })}`,
        ),
        button("All vectors (CSV)", "Every method at every layer, a row an item", () => "csv"),
        button("All vectors (npz)", "The same for NumPy", () => "npz"),
        button(
          "All vectors (Parquet)",
          "The same for pandas, Polars or DuckDB; needs pyarrow on the server",
          () => "parquet",
        ),
        this.said,
      ),
    );
  }

  show(set) {
    this.set = set;
    this.table.hidden = !set.table.length;
    this.said.textContent = "";
  }

  choose(method, layer) {
    this.chosen = [method, layer];
  }

  // Fetched first, so that a fault is said here and its size is known before it is saved.
  async #file(path) {
    this.said.textContent = "Preparing …";
    try {
      const response = await fetched(`set/${this.set.key}/take/${path}`);
      const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition"))[1];
      const blob = await response.blob();
      const size =
        blob.size < 1e6 ? `${Math.max(1, Math.round(blob.size / 1e3))} kB` : `${(blob.size / 1e6).toFixed(1)} MB`;
      const url = URL.createObjectURL(blob);
      const link = el(
        "a",
        {
          href: url,
          download: name,
          class: "viz-link",
          onclick: () => setTimeout(() => URL.revokeObjectURL(url), 60_000),
        },
        `Save ${name} (${size})`,
      );
      this.said.replaceChildren(link);
      link.focus();
    } catch (fault) {
      this.said.textContent = fault.message;
    }
  }
}
