// What the big map shows, how its weights are processed, and a cell's content, in words.

import { number } from "../core/dom.js";
import { headsOf, mapName } from "../core/selection_address.js";
import { numbered } from "../core/token_names.js";
import { signedText } from "./legend.js";

const SUMS = "each row renormalized to sum to 1";

/** Phrases for what was hidden, renormalized or merged. @type {(view: MapView) => string[]} */
const changes = ({ head, hide, renorm, words }) => [
  ...(hide ? [`special tokens hidden, ${renorm ? SUMS : "weights not renormalized"}`] : []),
  ...(renorm && !hide && head === "max" ? [SUMS] : []),
  ...(words ? ["sub-words merged (mean over a word's queries, sum over its keys)"] : []),
];

/** `run` is given where the map stands without the page.
 * @type {(view: MapView, tiles?: { empty: number, step: number[] }[], signed?: Signed | null, run?: Run) => string} */
export function heading(view, tiles = [], signed = null, run = undefined) {
  const heads = headsOf(view.head);
  const mean = heads.length ? `mean of heads ${heads.join(", ")}` : `${view.head} over all heads`;
  const which = typeof view.head === "number" ? `head ${view.head} (${view.layer}.${view.head})` : mean;
  const empty = tiles[0]?.empty ?? 0;
  const left = empty ? [`${empty} ${empty === 1 ? "query has" : "queries have"} no weight on the tokens shown`] : [];
  const step = tiles.at(-1)?.step ?? [1, 1];
  const pooled =
    step[0] * step[1] > 1
      ? [
          `each cell is the ${signed ? `strongest ${signed.words.noun}` : "largest"} of ${step[0]} × ${step[1]}; zoom in to see each`,
        ]
      : [];
  const map = `ayer ${view.layer}, ${which}`;
  return [signed ? signed.titled(map, run) : `L${map}`, ...changes(view), ...left, ...pooled].join("; ");
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

/**
 * Content of the hovered cell: its weight, or its change.
 * @type {(map: AttentionMap, row: number, col: number) => string}
 */
export function cellSaid({ selection, shown, parts, signed }, row, col) {
  const [query, key, found] = [shown[row], shown[col], parts.at(row, col)];
  if (!signed) return cellSentence(selection, query, key, found);
  const { rows = [], keys = [] } = found.tile?.about ?? {};
  return signedSentence(selection, query, key, found, signed, { query: rows.includes(row), key: keys.includes(col) });
}

/** A cell of a signed map; `alone` says which of the two tokens the reference has not.
 * @type {(view: MapView, query: Unit, key: Unit, found: { value: number, step: number[], now?: number },
 *   signed: Signed, alone?: SignedCell["alone"]) => string} */
export function signedSentence({ layer, head }, query, key, { value, step, now = NaN }, signed, alone = {}) {
  const map = mapName(layer, head);
  const [which, names] = [signed.named?.(map) ?? map, { query: unitName(query), key: unitName(key) }];
  const pair = `query ${names.query} → key ${names.key}`;
  const cells = `${step[0]} × ${step[1]} cells`;
  if (step[0] * step[1] === 1) return `${which}  ${pair}: ${signed.cell({ value, now, alone, ...names })}`;
  const found = Number.isNaN(value) ? `${signed.words.none} in ${cells}` : `${signedText(value)} at most in ${cells}`;
  return `${which}  around ${pair}: ${found}; zoom in to see each`;
}
