// The measures of one question: what each tells, in words, and where its numbers come from.

import { streamed } from "../core/streamed.js";

/** @import { Explained, Run } from "./types.d.ts" */
/** @import { Tell } from "../core/streamed.js" */
/** @typedef {{ title: string, about: string, heads: string, verb: string, how: string, map: string | null, files: boolean,
 *   found: (run: Run, asked: string, tell: Tell, signal: AbortSignal) => Promise<Explained>, slow?: boolean,
 *   working?: string }} Measure `map` is what its map holds, null where that is of weights; `files` whether its table
 *   can be saved; `slow` ones are measured on demand where the text is long */

/** @type {Record<string, Measure>} */
export const MEASURES = {
  attention: {
    title: "Attention",
    about: "where it looks",
    heads: "weight of the chosen pair",
    verb: "gives",
    how:
      "Rollout: the heads’ mean, block by block, the residual stream counted as a half; each row adds up to 100%. It " +
      "tells where heads look, not what reached the result.",
    map: null,
    files: false,
    found: (run, asked) => run.json(`attribution?measure=attention&${asked}`),
  },
  contribution: {
    title: "Contribution",
    about: "what reached the result",
    heads: "what each one brings",
    verb: "brings",
    how:
      "Share at each token after each block, and the links that moved it. Attention weights, norms and activation " +
      "factors are held as they ran; then every row and the biases after it add up to the score. It does not tell " +
      "what would happen without a token or head.",
    map: "share",
    files: true,
    found: (run, asked) => run.json(`attribution?${asked}`),
  },
  effect: {
    title: "Effect",
    about: "what changes without it",
    heads: "effect of removing each",
    verb: "removed changes the score by",
    how:
      "The model runs again without each token (bottom row), head, or drawn link (in all heads of its block). Effects " +
      "do not add up: others may take over.",
    map: "effect",
    files: false,
    slow: true,
    working: "Removing each head, word and link",
    found: (run, asked, tell, signal) => streamed(run.url(`attribution/effect?${asked}`), tell, { signal }),
  },
};
