// Saving all heads: the atlas as a picture for paper, and every statistic as a table.

import { canvasPng, csvFile } from "../views/canvas_png.js";
import { savePicture } from "../views/plotly_figure.js";
import { saveRow } from "../views/save_row.js";

/** @import { AtlasCanvas } from "./atlas_canvas.js" */
/** @import { HeadStatistics, Selection } from "./types.d.ts" */

const SCALES = ["percentile", "sqrt", "shared"]; // that all heads can have in common; else up to the largest of all
const WHAT = "All heads as a picture for a paper: special tokens and rows as shown, sub-words not merged";

/** The maps of the run as the switches show them, or the drawing where changes are shown; the page's statistics.
 * @type {(run: () => Run | null, measures: HeadStatistics, selection: Selection, drawing: AtlasCanvas) => HTMLElement} */
export function atlasSaves(run, measures, selection, drawing) {
  const draw = async (/** @type {string} */ format) => {
    const shown = run();
    const { hide, renorm, scale } = selection;
    const options = new URLSearchParams({
      scale: SCALES.includes(scale) ? scale : "all",
      hide_special: hide ? "yes" : "no",
      renormalize: renorm ? "yes" : "no",
    });
    if (!shown) return;
    if (drawing.changes?.against) {
      if (format !== "png") throw new Error("Changes are saved as PNG; for SVG, turn off “Show the change”.");
      return canvasPng(drawing.node, "head_atlas-change");
    }
    return savePicture(await shown.json(`figure/head_atlas?${options}`), "head_atlas", format);
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
