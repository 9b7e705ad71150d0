// Saving all heads: the atlas as a picture for paper, and every statistic as a table.

import { csvFile } from "../views/canvas_png.js";
import { savePicture } from "../views/plotly_figure.js";
import { saveRow } from "../views/save_row.js";
import { changeFigure } from "./change_figure.js";

/** @import { HeadStatistics, MapChanges, Selection } from "./types.d.ts" */

const SCALES = ["percentile", "sqrt", "shared"]; // that all heads can have in common; else up to the largest of all
const WHAT = "All heads as a picture for a paper: special tokens and rows as shown, sub-words not merged";

/** The maps of the run as the switches show them, or their changes where these are shown; the page's statistics.
 * @type {(run: () => Run | null, measures: HeadStatistics, selection: Selection,
 *   changes: () => MapChanges | null) => HTMLElement} */
export function atlasSaves(run, measures, selection, changes) {
  const draw = async (/** @type {string} */ format) => {
    const shown = run();
    const { hide, renorm, scale } = selection;
    const options = new URLSearchParams({
      scale: SCALES.includes(scale) ? scale : "all",
      hide_special: hide ? "yes" : "no",
      renormalize: renorm ? "yes" : "no",
    });
    if (!shown) return;
    const figure = await shown.json(`figure/head_atlas?${options}`);
    const change = changes();
    if (!change?.against) return savePicture(figure, "head_atlas", format);
    const signed = changeFigure(figure, shown, change.largest, (layer, head) => change.of(layer, head));
    if (!signed) throw new Error("The changes are still being computed; save again once they are drawn.");
    return savePicture(signed, "head_atlas-change", format);
  };
  const table = () => {
    const shown = run();
    return shown && tableOf(shown, measures);
  };
  return saveRow("Save all heads", [
    ["PNG", WHAT, () => draw("png")],
    ["SVG", "The same as SVG", () => draw("svg")],
    ["CSV", "Every head's statistics as a table", table],
  ]);
}

/** A line a head. @type {(run: Run, measures: HeadStatistics) => Saved} */
function tableOf(run, measures) {
  const names = measures.names().filter((name) => measures.complete(name)); // and changes
  const lines = measures.heads(names[0]).map(({ layer, head }) => {
    return [layer, head, ...names.map((name) => measures.value(name, layer, head) ?? "")];
  });
  return csvFile(`${run.model}-heads`, [["layer", "head", ...names], ...lines]);
}
