// Roles of heads over a set: the one place that has more than half of a head's attention.

/** @import { HeadPlace, HeadTable } from "./types.d.ts" */
/** @typedef {{ label: string, where: string, share: number }} Role `where` in words, `share` its mean over texts */

const CLEAR = 0.5; // of a head's attention, on average over the texts
const FARTHEST = 8; // tokens before or after the query

/** @type {Record<string, [label: string, where: string]>} */
const NAMED = {
  previous: ["prev", "the previous token"],
  next: ["next", "the next token"],
  diagonal: ["same", "the query itself"],
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
      return [name, [`${sign}${far}`, `the token ${far} ${at < 0 ? "before" : "after"}`]];
    }),
  ),
};

/** The rule, in a sentence. */
export const RULE =
  `A head is labeled if one place gets more than half of its attention, on average over the texts: ` +
  `${Object.values(NAMED)
    .map(([label, where]) => `${label} = ${where}`)
    .join(", ")}, −2 or +3 = that many tokens before or after.`;

/** A head's role, if it has a clear one. @type {(table: HeadTable, place: HeadPlace) => Role | null} */
export function roleOf({ arrays }, { layer, head }) {
  const shares = Object.entries(PLACES).flatMap(([name, [label, where]]) => {
    const share = arrays[name]?.[layer][head] ?? 0;
    return share > CLEAR ? [{ label, where, share }] : [];
  });
  return shares.sort((one, two) => two.share - one.share)[0] ?? null;
}

/** The same in words; "" where there is none. @type {(table: HeadTable, place: HeadPlace) => string} */
export function roleSaid(table, place) {
  const role = roleOf(table, place);
  return role ? `Role: ${(100 * role.share).toFixed(0)}% of its attention is on ${role.where}.` : "";
}
