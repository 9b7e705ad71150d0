// Saving all heads: the atlas as a picture for paper, and every statistic as a table.

import { context2d, el } from "../core/dom.js";
import { canvasPng, csvFile } from "../views/canvas_png.js";
import { savePicture } from "../views/plotly_figure.js";
import { saveRow } from "../views/save_row.js";

/** @import { Atlas } from "./atlas.js" */

const SCALES = ["percentile", "sqrt", "shared"]; // that all heads can have in common; else up to the largest of all
const WHAT = "All heads as a picture for a paper: special tokens and rows as shown, sub-words not merged";
const GAP = 4; // pixels

/** The maps of the run as the switches show them, or the drawing where changes are shown; the page's statistics.
 * @type {(atlas: Atlas) => HTMLElement} */
export function atlasSaves(atlas) {
  const draw = async (/** @type {string} */ format) => {
    const { run, selection, changes } = atlas;
    const { hide, renorm, scale } = selection;
    const options = new URLSearchParams({
      scale: SCALES.includes(scale) ? scale : "all",
      hide_special: hide ? "yes" : "no",
      renormalize: renorm ? "yes" : "no",
    });
    if (!run) return;
    if (changes?.against) {
      if (format !== "png") throw new Error("Changes are saved as PNG; for SVG, turn off “Show the change”.");
      return canvasPng(sheet(atlas.canvases, run.nHeads), "head_atlas-change");
    }
    return savePicture(await run.json(`figure/head_atlas?${options}`), "head_atlas", format);
  };
  return saveRow("Save all heads", [
    ["PNG", WHAT, () => draw("png")],
    ["SVG", "The same as SVG", () => draw("svg")],
    ["CSV", "Every head's statistics as a table", () => atlas.run && tableOf(atlas.run, atlas.measures)],
  ]);
}

/** The small maps as they stand, in one picture. @type {(maps: HTMLCanvasElement[], across: number) => HTMLCanvasElement} */
function sheet(maps, across) {
  const side = maps[0].width + GAP;
  const canvas = el("canvas", { width: side * across, height: (side * maps.length) / across });
  const context = context2d(canvas);
  for (const [at, map] of maps.entries()) context.drawImage(map, side * (at % across), side * Math.floor(at / across));
  return canvas;
}

/** A line a head. @type {(run: Run, measures: HeadStatistics) => Saved} */
function tableOf(run, measures) {
  const names = measures.names().filter((name) => measures.complete(name)); // and changes
  const lines = measures.heads(names[0]).map(({ layer, head }) => {
    return [layer, head, ...names.map((name) => measures.value(name, layer, head) ?? "")];
  });
  return csvFile(`${run.model}-heads`, [["layer", "head", ...names], ...lines]);
}
