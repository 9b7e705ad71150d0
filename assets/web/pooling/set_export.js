// Files of a set: the table, the vectors of the chosen row, and all vectors.

import { button, controls, el } from "../core/dom.js";
import { sentenceOf } from "../core/latest.js";
import { ask } from "../core/server.js";

export class SetExport {
  key = "";
  row = ""; // which vectors are those of the chosen row
  said = el("span", { class: "viz-caption", role: "status" });
  table = this.#button("Table (CSV)", "All methods at all layers with their numbers", () => "table.csv");
  node = el(
    "section",
    { class: "viz-take", "aria-label": "Export" },
    el("h3", {}, "Export"),
    controls(
      this.table,
      this.#button(
        "Vectors of this row (CSV)",
        "The vectors of the chosen method and layer, to check a number by hand",
        () => `csv?${this.row}`,
      ),
      this.#button("All vectors (CSV)", "Every method at every layer, one row per item", () => "csv"),
      this.#button("All vectors (npz)", "The same for NumPy", () => "npz"),
      this.#button(
        "All vectors (Parquet)",
        "The same for pandas, Polars or DuckDB; needs pyarrow on the server",
        () => "parquet",
      ),
      this.said,
    ),
  );

  show(/** @type {SetDescription} */ { key, table }) {
    this.key = key;
    this.table.hidden = !table.length;
    this.said.textContent = "";
  }

  /** @type {(text: string, title: string, path: () => string) => HTMLButtonElement} */
  #button(text, title, path) {
    return button(text, () => this.#file(path()).catch((fault) => this.said.replaceChildren(sentenceOf(fault))), {
      title,
    });
  }

  // Fetched first, so that a fault is said here and its size is known before it is saved.
  async #file(/** @type {string} */ path) {
    this.said.textContent = "Preparing …";
    const response = await ask(`viz/set/${this.key}/take/${path}`);
    const download = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "vectors";
    const blob = await response.blob();
    const size =
      blob.size < 1e6 ? `${Math.max(1, Math.round(blob.size / 1e3))} kB` : `${(blob.size / 1e6).toFixed(1)} MB`;
    const href = URL.createObjectURL(blob);
    const onclick = () => setTimeout(() => URL.revokeObjectURL(href), 60_000);
    const link = el("a", { href, download, class: "viz-link", onclick }, `Save ${download} (${size})`);
    this.said.replaceChildren(link);
    link.focus();
  }
}
