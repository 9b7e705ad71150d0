// What the big map shows, and what was done to its weights, in words.

import { headsOf } from "../core/selection.js";

// What was hidden, renormalized or merged, a phrase each.
export function changes({ head, hide, renorm, words }) {
  const sums = "each row renormalized to sum to 1";
  return [
    ...(hide ? [`special tokens hidden, ${renorm ? sums : "weights not renormalized"}`] : []),
    ...(renorm && !hide && head === "max" ? [sums] : []),
    ...(words ? ["sub-words merged (mean over a word's queries, sum over its keys)"] : []),
  ];
}

export function heading(selection, tiles = []) {
  const { layer, head } = selection;
  const heads = headsOf(head);
  const which =
    typeof head === "number"
      ? `head ${head} (${layer}.${head})`
      : heads.length
        ? `mean of heads ${heads.join(", ")}`
        : `${head} over all heads`;
  const empty = tiles[0]?.empty ?? 0;
  const left = empty ? [`${empty} ${empty === 1 ? "query has" : "queries have"} no weight on the tokens shown`] : [];
  const step = tiles.at(-1)?.step ?? [1, 1];
  const pooled = step[0] * step[1] > 1 ? [`each cell is the largest of ${step[0]} × ${step[1]}, zoom in for each`] : [];
  return [`Layer ${layer}, ${which}`, ...changes(selection), ...left, ...pooled].join("; ");
}
