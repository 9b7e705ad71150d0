// How effects are measured, in the link: the measure, what stands in for a head, how a word is removed.

import { current } from "../core/app_state.js";
import { linkedOf } from "../core/link_notes.js";

/** @import { WhatIfOffered } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { Way } from "./requests.js" */

const [MEASURE, HOW, WORDS] = ["whatif.measure", "whatif.how", "whatif.words"];
const [ZERO, CUT] = ["zero", "attention"]; // as usual

/** What a link opens its run with; any other run begins as usual.
 * @type {(run: Run, offer: WhatIfOffered) => { way: Way, tokensHow: string }} */
export function linkedWay(run, { measures, usual }) {
  const asked = linkedOf(run, MEASURE);
  const how = linkedOf(run, HOW) === "reference" && !run.grid ? "reference" : ZERO;
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
