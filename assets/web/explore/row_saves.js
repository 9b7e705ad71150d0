// Saving the row or column that shades the words or the picture: what it has of each token, as a table.

import { csvFile } from "../views/canvas_png.js";
import { saveRow } from "../views/save_row.js";

/** @import { RowView } from "./row_view.js" */

/** The numbers are those that are shown, with what is hidden, divided or merged in them.
 * @type {(shown: () => RowView | null) => HTMLElement} */
export function rowSaves(shown) {
  const table = () => {
    const view = shown();
    if (!view?.values) return null;
    const { run, name, side, token, units, values, selection } = view;
    const kept = [selection.hide && "hide", selection.renorm && "renorm", selection.words && "words"].filter(Boolean);
    const lines = units.map((unit, at) => [unit.tokens.join(" "), unit.name, values[at]]);
    const other = side === "query" ? "key" : "query";
    const stem = `${run.model}-${name}-weight-${side}-${[token, ...kept].join("-")}`;
    return csvFile(stem, [[`${other} numbers`, other, `weight of ${view.named(view.chosen)}`], ...lines]);
  };
  return saveRow("Save this row", [["CSV", "The numbers that shade the tokens, as a table", table]]);
}
