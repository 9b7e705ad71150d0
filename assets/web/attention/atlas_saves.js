// Saving all heads: the atlas as a picture for paper, and every statistic as a table.

import { savePicture } from "../views/plotly_figure.js";
import { saveRow } from "../views/save_row.js";

/** @import { Saved } from "../views/save_row.js" */
/** @import { HeadStatistics, Run } from "./types.d.ts" */

/** The maps are as they ran; the statistics are those that the page has.
 * @type {(run: () => Run | null, measures: HeadStatistics) => HTMLElement} */
export function atlasSaves(run, measures) {
  const draw = async (/** @type {string} */ format) => {
    const shown = run();
    if (shown) await savePicture(await shown.json("figure/head_atlas"), "head_atlas", format);
  };
  const table = () => {
    const shown = run();
    return shown && tableOf(shown, measures);
  };
  return saveRow("Save all heads", [
    ["PNG", "All heads, maps as they ran, as a picture for a paper", () => draw("png")],
    ["SVG", "The same as SVG", () => draw("svg")],
    ["CSV", "Every head's statistics as a table", table],
  ]);
}

/** A line a head. @type {(run: Run, measures: HeadStatistics) => Saved} */
function tableOf(run, measures) {
  const names = Object.keys(measures.own);
  const lines = measures.heads(names[0]).map(({ layer, head }) => {
    const values = names.map((name) => measures.value(name, layer, head) ?? "");
    return [layer, head, ...values].join(",");
  });
  const text = `${["layer", "head", ...names].join(",")}\n${lines.join("\n")}\n`;
  const name = `${run.model}-heads.csv`.replace(/[^A-Za-z0-9_.+-]+/g, "-");
  return { blob: new Blob([text], { type: "text/csv" }), name };
}
