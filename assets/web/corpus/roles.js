// Roles of heads over a set: the one place that has more than half of a head's attention.

/** @typedef {{ label: string, where: string, share: number }} Role `where` in words, `share` its mean over texts */

const CLEAR = 0.5; // mean share of a head's attention
const FARTHEST = 8; // tokens before or after the query

/** @type {Record<string, [label: string, where: string]>} */
const NAMED = {
  previous: ["prev", "the previous token"],
  next: ["next", "the next token"],
  same: ["same", "the query itself"],
  first: ["first", "the first token"],
  delimiter: ["sep", "other special tokens"],
  punctuation: ["punct", "punctuation"],
};
const OFFSETS = Array.from({ length: 2 * FARTHEST + 1 }, (_, at) => at - FARTHEST).filter((at) => Math.abs(at) > 1);
const PLACES = {
  ...NAMED,
  ...Object.fromEntries(
    OFFSETS.map((at) => {
      const [sign, name] = at < 0 ? ["−", `offset_${at}`] : ["+", `offset_+${at}`];
      const far = Math.abs(at);
      return [name, [`${sign}${far}`, `the token ${far} places ${at < 0 ? "before" : "after"} it`]];
    }),
  ),
};

const EXPLAINED = Object.values(NAMED).map(([label, where]) => `${label} = ${where}`);

/** The rule, in a sentence. */
export const RULE =
  `A head is labeled if one place gets more than half of its attention, on average over the texts: ` +
  `${EXPLAINED.join(", ")}, −2 or +3 = that many tokens before or after.`;

/**
 * Average targets of a head's attention, largest first.
 * @type {(table: HeadTable, place: HeadPlace) => Role[]}
 */
function sharesOf({ arrays }, { layer, head }) {
  const shares = Object.entries(PLACES).flatMap(([name, [label, where]]) => {
    const share = arrays[name]?.[layer][head];
    return share == null ? [] : [{ label, where, share }];
  });
  return shares.sort((one, two) => two.share - one.share);
}

/** A head's role, if it has a clear one. @type {(table: HeadTable, place: HeadPlace) => Role | null} */
export function roleOf(table, place) {
  const [first] = sharesOf(table, place);
  return first && first.share > CLEAR ? first : null;
}

/**
 * Roles in words, or else the main target.
 * @type {(table: HeadTable, place: HeadPlace) => string}
 */
export function roleSaid(table, place) {
  const [first, second] = sharesOf(table, place);
  if (!first) return "";
  const percent = (/** @type {Role} */ role) => `${(100 * role.share).toFixed(0)}%`;
  if (first.share > CLEAR) return `Role: ${percent(first)} of its attention is on ${first.where}.`;
  const then = second ? `, ${percent(second)} on ${second.where}` : "";
  return `No clear role: on average, ${percent(first)} of its attention is on ${first.where}${then}.`;
}
