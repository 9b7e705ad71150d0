// What if in the link: how effects are measured, which heads are chosen, and the twin that they are patched from.

import { current } from "../core/app_state.js";
import { linkedOf } from "../core/link_notes.js";
import { headName } from "../views/cells.js";

/** @import { WhatIfOffered } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { Way } from "./requests.js" */

const [MEASURE, HOW, WORDS] = ["whatif.measure", "whatif.how", "whatif.words"];
const [HEADS, TWIN] = ["whatif.heads", "whatif.twin"];
const [ZERO, CUT] = ["zero", "attention"]; // as usual

/** What a link opens its run with; any other run begins as usual.
 * @type {(run: Run, offer: WhatIfOffered) => { way: Way, tokensHow: string }} */
export function linkedWay(run, { measures, usual }) {
  const asked = linkedOf(run, MEASURE);
  const how = linkedOf(run, HOW) === "mean" && !run.grid ? "mean" : ZERO;
  return {
    way: { measure: measures.some(({ name }) => name === asked) ? asked : usual, how },
    tokensHow: linkedOf(run, WORDS) === "mask" && !run.grid ? "mask" : CUT,
  };
}

/** Have the link hold what is not as usual. @type {(way: Way, tokensHow: string, usual?: string) => void} */
export function noteWay({ measure, how }, tokensHow, usual) {
  current.selection.note({
    [MEASURE]: measure === usual ? "" : measure,
    [HOW]: how === ZERO ? "" : how,
    [WORDS]: tokensHow === CUT ? "" : tokensHow,
  });
}

/** The heads that a link chooses in its run. @type {(run: Run) => HeadPlace[]} */
export const linkedHeads = (run) =>
  [...linkedOf(run, HEADS).matchAll(/(\d+)\.(\d+)/g)]
    .map(([, layer, head]) => ({ layer: Number(layer), head: Number(head) }))
    .filter(({ layer, head }) => layer < run.nLayers && head < run.nHeads);

/** Nothing where the usual ones are chosen. @type {(chosen: HeadPlace[], usual: HeadPlace[]) => void} */
export function noteHeads(chosen, usual) {
  const names = chosen.map(headName).join(",");
  current.selection.note({ [HEADS]: names === usual.map(headName).join(",") ? "" : names });
}

/** The twin that a link patches its run's heads from; "" where it shows their removal. @type {(run: Run) => string} */
export const linkedTwin = (run) => (run.grid ? "" : linkedOf(run, TWIN));
export const noteTwin = (/** @type {string} */ text) => current.selection.note({ [TWIN]: text });
