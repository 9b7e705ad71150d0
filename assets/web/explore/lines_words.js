// The lines in words: how many are drawn, and those of one token.

import { count, number } from "../core/dom.js";
import { mapName } from "../core/selection_address.js";
import { eachAt, FAINT } from "./strongest_lines.js";
import { WHOLE } from "./tiles.js";
import { numbered } from "../core/token_names.js";

/** @import { LineSet, Token } from "./types.d.ts" */

/** @type {(sets: LineSet[], view: MapView, long: boolean) => string} */
export function countSentence(sets, { hide, renorm, words }, long) {
  const sum = (/** @type {(set: LineSet) => number} */ measure) => sets.reduce((all, set) => all + measure(set), 0);
  const [drawn, faint, cells] = [sum((set) => set.weight.length), sum((set) => set.faint), sum((set) => set.cells)];
  const shares = "Special tokens are hidden; shares are of the weight on the tokens shown";
  const said = [
    `${count(drawn)} ${drawn === 1 ? "line" : "lines"} drawn of ${count(cells)}.`,
    faint && `${count(faint)} more ${faint === 1 ? "is" : "are"} too faint to be seen (weight below ${FAINT}).`,
    long && `With more than ${WHOLE} tokens, lines are drawn for the chosen query only.`,
    hide && `${shares}${renorm ? ", renormalized to sum to 1" : ""}.`,
    words && "Sub-words are merged: the mean over a word's queries, the sum over its keys.",
    !sets.length && "Choose a head to see its lines.",
  ];
  return said.filter(Boolean).join(" ");
}

/** Number of lines of one token, and the strongest.
 * @type {(sets: LineSet[], only: Token, layer: number, index: Unit[]) => string} */
export function tokenSentence(sets, only, layer, index) {
  const name = (/** @type {number} */ at) => numbered(index[at].tokens[0], index[at].name);
  const far = only.side === "query" ? "key" : "query";
  let [lines, best, most] = [0, 0, ""];
  for (const set of sets)
    eachAt(set, only, (i) => {
      lines++;
      if (set.weight[i] <= best) return;
      best = set.weight[i];
      const map = `${typeof set.head === "number" ? "head " : ""}${mapName(layer, set.head)}`;
      most = `, the strongest ${far === "key" ? "to" : "from"} ${far} ${name(set[far][i])} (${map}: ${number(best)})`;
    });
  const side = only.side === "query" ? "Query" : "Key";
  return `${side} ${name(only.at)}: ${lines} ${lines === 1 ? "line" : "lines"}${most}.`;
}
