// What if in the link: the way of measuring, the chosen heads, and the counterpart to patch from.

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

/** Settings from the link that opened the run; defaults for any other run.
 * @type {(run: Run, offer: WhatIfOffered) => { way: Way, tokensHow: string }} */
export function linkedWay(run, { measures, usual }) {
  const asked = linkedOf(run, MEASURE);
  const how = linkedOf(run, HOW) === "mean" && !run.grid ? "mean" : ZERO;
  return {
    way: { measure: measures.some(({ name }) => name === asked) ? asked : usual, how },
    tokensHow: linkedOf(run, WORDS) === "mask" && !run.grid ? "mask" : CUT,
  };
}

/**
 * Store settings other than the defaults in the link.
 * @type {(way: Way, tokensHow: string, usual?: string) => void}
 */
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

/**
 * Store the chosen heads, unless they are the default ones.
 * @type {(chosen: HeadPlace[], usual: HeadPlace[]) => void}
 */
export function noteHeads(chosen, usual) {
  const names = chosen.map(headName).join(",");
  current.selection.note({ [HEADS]: names === usual.map(headName).join(",") ? "" : names });
}

/** The twin that a link patches its run's heads from; "" where it shows their removal. @type {(run: Run) => string} */
export const linkedTwin = (run) => (run.grid ? "" : linkedOf(run, TWIN));
export const noteTwin = (/** @type {string} */ text) => current.selection.note({ [TWIN]: text });
