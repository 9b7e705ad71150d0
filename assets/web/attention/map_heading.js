// What the big map shows, what was done to its weights, and what one cell holds, in words.

import { number } from "../core/dom.js";
import { headsOf, mapName } from "../core/selection.js";
import { numbered } from "../core/token_names.js";

/** @import { MapView, Unit } from "./types.d.ts" */

const SUMS = "each row renormalized to sum to 1";

/** What was hidden, renormalized or merged, a phrase each. @type {(view: MapView) => string[]} */
const changes = ({ head, hide, renorm, words }) => [
  ...(hide ? [`special tokens hidden, ${renorm ? SUMS : "weights not renormalized"}`] : []),
  ...(renorm && !hide && head === "max" ? [SUMS] : []),
  ...(words ? ["sub-words merged (mean over a word's queries, sum over its keys)"] : []),
];

export function heading(/** @type {MapView} */ view, /** @type {{ empty: number, step: number[] }[]} */ tiles = []) {
  const heads = headsOf(view.head);
  const mean = heads.length ? `mean of heads ${heads.join(", ")}` : `${view.head} over all heads`;
  const which = typeof view.head === "number" ? `head ${view.head} (${view.layer}.${view.head})` : mean;
  const empty = tiles[0]?.empty ?? 0;
  const left = empty ? [`${empty} ${empty === 1 ? "query has" : "queries have"} no weight on the tokens shown`] : [];
  const step = tiles.at(-1)?.step ?? [1, 1];
  const pooled =
    step[0] * step[1] > 1 ? [`each cell is the largest of ${step[0]} × ${step[1]}; zoom in to see each`] : [];
  return [`Layer ${view.layer}, ${which}`, ...changes(view), ...left, ...pooled].join("; ");
}

/** A token, or a word's first and last, by its numbers and its name. @type {(unit: Unit) => string} */
export const unitName = ({ tokens, name }) =>
  numbered(tokens.length > 1 ? `${tokens[0]}–${tokens.at(-1)}` : tokens[0], name);

/** @type {(view: MapView, query: Unit, key: Unit, found: { value: number, step: number[] }) => string} */
export function cellSentence({ layer, head }, query, key, { value, step }) {
  const [which, pair] = [mapName(layer, head), `query ${unitName(query)} → key ${unitName(key)}`];
  const cells = `${step[0]} × ${step[1]} cells`;
  if (step[0] * step[1] === 1) return `${which}  ${pair}: ${number(value)}`;
  if (Number.isNaN(value)) return `${which}  around ${pair}: all ${cells} masked`;
  return `${which}  around ${pair}: at most ${number(value)} in ${cells}; zoom in to see each`;
}
