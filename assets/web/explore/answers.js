// What a score is, what carried it and what changes it, in sentences.

import { toldApart } from "../core/token_names.js";
import { headName, headsIn } from "../views/cells.js";
import { shareSaid } from "../views/routes_layout.js";

/** @typedef {{ tokens: number[], score: number, large: boolean }} Alone a score by tokens */

/** A part of the score in few characters, in a grid whose title tells the unit; "" of what would read as zero.
 * @type {(share: number, found: Explained) => string} */
export function briefly(share, { score, large }) {
  const digits = Math.abs(share) >= 10 ? 0 : Math.abs(share) >= 1 ? 1 : 2;
  const said = large ? String(Math.round((100 * share) / score)) : share.toFixed(digits).replace(/^(-?)0\./, "$1.");
  return Number(said) === 0 ? "" : said.replace("-", "−");
}

/** The unit of parts of a score, in words. @type {(found: Explained) => string} */
export const unitSaid = (found) =>
  found.large ? `%${ofTwoSaid(found)}` : found.unit === "logits" ? "logits" : "units of length";

/** " of the distance": the whole of which a part is told where it is the difference of two runs; "" of one run.
 * @type {(found: Explained) => string} */
const ofTwoSaid = ({ apart, large }) => (apart ? ` ${large ? "of" : "to"} the ${apart}` : "");

/** "4%", or of two runs "4% of the distance". @type {(share: number, found: Explained) => string} */
export const partSaid = (share, found) =>
  `${shareSaid(share, found) || (found.large ? "0%" : "0.00")}${ofTwoSaid(found)}`;

/** Where heads look from a token, or from all of them, by weights alone.
 * @type {(found: Explained, name: (token: number) => string, itself: number) => [text: string, strong: boolean][]} */
export function looksSaid(found, name, itself) {
  const who = itself < 0 ? "all tokens together draw" : `${name(itself)} draws`;
  return [[`Going by attention alone, ${who} `, false], ...listed(found, name, itself, "on "), [".", false]];
}

/** Whose removal changes the score most; `doing`: "removing", or what else is done to each head.
 * @type {(found: Explained, name: (token: number) => string, doing?: string) => [text: string, strong: boolean][]} */
export function effectSaid(found, name, doing = "removing") {
  const { name: head, share } = strongestHead(found.heads);
  const [most] = byAmount(found.tokens);
  return [
    [`Of all heads, ${doing} `, false],
    [head, true],
    [` changes ${found.words.replace(/^the length of /, "")} the most (`, false],
    [changed(share, found), true],
    ["); of all tokens, hiding ", false],
    [name(most), true],
    [" does (", false],
    [changed(found.tokens[most], found), true],
    [").", false],
  ];
}

/** A change as a part of the score where that says much. @type {(change: number, found: Explained) => string} */
export const changed = (change, found) => {
  const part = shareSaid(change, found) || (found.large ? "0%" : "0.00");
  return change > 0 && !part.startsWith("+") ? `+${part}` : part;
};

const byAmount = (/** @type {number[]} */ shares) =>
  shares.map((_, at) => at).sort((a, b) => Math.abs(shares[b]) - Math.abs(shares[a]));

/** "35% “animal”, 34% itself and 13% “tired”". @type {(found: Alone, name: (token: number) => string,
 *   itself: number, from?: string) => [text: string, strong: boolean][]} */
function listed(found, name, itself, from = "") {
  const most = byAmount(found.tokens)
    .slice(0, 3)
    .filter((at) => shareSaid(found.tokens[at], found));
  return most.flatMap((at, place) => {
    const before = place ? (place === most.length - 1 ? " and " : ", ") : "";
    const whose = at === itself ? "itself" : name(at);
    return /** @type {[string, boolean][]} */ ([
      [before, false],
      [shareSaid(found.tokens[at], found), true],
      [` ${from}${whose}`, false],
    ]);
  });
}

/** What a state is made of in this run, beside what two runs are apart by. @type {(alone: Alone & { names: string[] }, token: number) => string} */
export function aloneSaid(alone, token) {
  const name = (/** @type {number} */ at) => toldApart(alone.names, at);
  const parts = listed(alone, name, token).map(([text]) => text);
  return `In this run ${name(token)} ends up ${parts.join("")}.`;
}

/** What carried the score, in a sentence of plain and strong parts: `name` says a token, `itself` is that of a state, and
 * `removed` are heads that the run lacks, `other` is what it is told against.
 * @type {(found: Explained, name: (token: number) => string, itself?: number, removed?: string[], other?: string)
 *   => [text: string, strong: boolean][]} */
export function answerSaid(found, name, itself = -1, removed = [], other = "") {
  const most = strongestHead(found.heads);
  const { name: head, share } = most;
  const link = namedLink(found, most);
  /** @type {[string, boolean][]} */
  const said = [[itself < 0 ? `${scoreSaid(found, other)}: ` : `${name(itself)} ends up `, false]];
  said.push(...listed(found, name, itself, itself < 0 ? "from " : ""));
  const what = link ? ` ${name(link.key)}` : " the largest share of it";
  const much = shareSaid(link?.by_head ?? share, found);
  if (!much) return [...said, [`; no head brings ${found.large ? "1%" : "0.01"} of it.`, false]];
  const [whose, brings] = removed.includes(head) ? ["the removed head", "had brought"] : ["head", "brings"];
  return [...said, [`; ${whose} `, false], [head, true], [` ${brings}${what} (${much}).`, false]];
}

const OF_TWO = ", in this run minus in the other,"; // after a logit that is compared

/** What is explained: "the logit of “are”". @type {(found: Explained) => string} */
export const resultSaid = ({ words }) => (words.endsWith(OF_TWO) ? words.slice(0, -OF_TWO.length) : words);

/** "The logit of “are” is 12.53 higher than without the change", of two runs; of one, what it is.
 * @type {(found: Explained, other: string) => string} */
function scoreSaid(found, other) {
  const { score, whole, along, words } = found;
  const what = (words.charAt(0).toUpperCase() + resultSaid(found).slice(1)).replace("distance between the ", "");
  if (whole && along !== undefined) {
    const one = what.replace("two ", "").replace(/(state|vector)s/, "$1");
    const turned = `${percent(Math.abs(along))} ${along < 0 ? "shorter" : "longer"} along its old direction`;
    return `${one} is ${turned} and moves by ${percent(score / whole)} of its length in all`;
  }
  if (whole) return `${what} differ by ${percent(score / whole)} of this one’s length`;
  if (!words.endsWith(OF_TWO)) return `${what} is ${score.toFixed(2).replace("-", "−")}`;
  const than = /^the (same|run) /.test(other) ? other.slice(8).trim() : `in ${other || "the other"}`;
  return `${what} is ${Math.abs(score).toFixed(2)} ${score < 0 ? "lower" : "higher"} than ${than}`;
}

/** The link by which a head brings most of its share, if no other head brings more of that token by one link.
 * @type {(found: Explained, most: { layer: number, head: number, share: number }) => RouteEdge | null} */
function namedLink(found, most) {
  const own = found.edges.find(({ layer, head }) => layer === most.layer && head === most.head); // the strongest first
  const amount = Math.abs(own?.by_head ?? 0);
  const more = found.edges.some(({ key, by_head }) => key === own?.key && Math.abs(by_head ?? 0) > amount);
  return own && amount && amount >= Math.abs(most.share) / 2 && !more ? own : null;
}

/** @type {(part: number) => string} */
const percent = (part) => `${Number((100 * part).toPrecision(part < 0.01 ? 1 : 2))}%`;

/** That the parts are all of the score; of a distance, beside the length of what is apart. @type {(found: Explained) => string} */
export function addsUp(found) {
  const { score, unexplained, unit, whole, along, words } = found;
  const biases = shareSaid(found.biases, found) || (found.large ? "0%" : "0.00");
  const what = `${words.includes("state") ? "state" : "vector"}${along === undefined ? "" : " that was"}`;
  const own = unit === "logits" ? unit : "its length";
  const of = whole ? `the distance, of a ${what} ${whole.toFixed(2)} long` : own;
  const all = `${score.toFixed(2)} (${of})`.replace("-", "−");
  return `All tokens and the biases (${biases}) add up to ${all}, to ${unexplained.toExponential(0)} of it.`;
}

/** What a head brings and changes, where that is measured, each with its place among all, or what its removal brings to
 * what two runs are apart by; "" of an unknown head, and of a removed one in its run alone.
 * @type {(found: Explained, effect: Explained | null, layer: number, head: number, removed?: boolean) => string} */
export function placeSaid(found, effect, layer, head, removed = false) {
  const place = (/** @type {Explained} */ { heads }) => {
    const own = Math.abs(heads[layer]?.[head] ?? 0);
    const all = heads.flat();
    return `${1 + all.filter((each) => each !== null && Math.abs(each) > own).length} of ${all.length}`;
  };
  const share = found.heads[layer]?.[head];
  if (share == null || (removed && !ofTwoSaid(found))) return "";
  if (removed) return `Removing it adds ${partSaid(share, found)}.`;
  const brings = `The head brings ${partSaid(share, found)} (rank ${place(found)})`;
  const without = effect?.heads[layer]?.[head];
  if (!effect || without == null) return `${brings}.`;
  return `${brings}; removing it changes the result by ${changed(without, effect)} (rank ${place(effect)}).`;
}

/** The head whose share is largest, whatever its sign.
 * @type {(heads: Maybe[][]) => { layer: number, head: number, name: string, share: number }} */
export function strongestHead(heads) {
  const larger = (/** @type {HeadPlace & { value: number }} */ one, other = one) =>
    Math.abs(other.value) > Math.abs(one.value) ? other : one;
  const { value: share, ...place } = headsIn(heads).reduce(larger, { layer: 0, head: 0, value: 0 });
  return { ...place, share, name: headName(place) };
}
