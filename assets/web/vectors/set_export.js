// Files of a set: the table, the vectors of the chosen row, and all vectors.

import { el } from "../core/dom.js";
import { fileAt, saves } from "../views/save_row.js";

/** @type {[text: string, title: string, path: string][]} */
const FILES = [
  ["Table (CSV)", "All methods at all layers with their numbers", "table.csv"],
  ["Vectors of this row (CSV)", "The vectors of the chosen method and layer, to check a number by hand", "csv?"],
  ["All vectors (CSV)", "Every method at every layer, one row per item", "csv"],
  ["All vectors (npz)", "The same for NumPy", "npz"],
  ["All vectors (Parquet)", "The same for pandas, Polars or DuckDB; needs pyarrow on the server", "parquet"],
];

export class SetExport {
  key = "";
  row = ""; // which vectors are those of the chosen row
  files = saves(
    "Export",
    FILES.map(([text, title, path]) => [text, title, () => fileAt(this.#path(path))]),
  );
  node = el("section", { class: "viz-take", "aria-label": "Export" }, this.files.node);

  show(/** @type {SetDescription} */ { key, table }) {
    this.key = key;
    this.files.buttons[0].hidden = !table.length;
  }

  #path(/** @type {string} */ path) {
    return `viz/set/${this.key}/take/${path}${path.endsWith("?") ? this.row : ""}`;
  }
}
