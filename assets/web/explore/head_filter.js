// Plain words for heads: "previous token" or "layer 3, far" becomes tests, said back with their bounds.

import { KINDS, sentence } from "./found_heads.js";

/** @typedef {{ kind: "both" | "layer" | "head", layer?: number, head?: number }} Place */
/** @typedef {{ statistic: string, side: ">" | "<", at: number, says: string, from: string }} Test */
/** @typedef {{ places: Place[], tests: Test[] }} Filter what all heads that match have */
/** @typedef {{ fault: string }} Fault */
/** @typedef {{ nLayers: number, nHeads: number, tokens: string[], statistics: Record<string, StatisticText>, paired?: boolean }} Searched */
/** @typedef {(statistic: string, place: HeadPlace) => number | null | undefined} ValueOf */
/** @typedef {(even: number) => number} Bound of a statistic that is `even` where attention is */
/** @typedef {{ words: string[], statistic: string, says: string, least?: Bound, most?: Bound, from?: string }} Phrase
 * the statistic that some words mean, the least or most of it (neither: the person must say), where that
 * bound is from, and the sentence, # for the bound */

const least = (/** @type {number} */ bound) => ({ least: () => bound });

/** @type {(statistic: string, words: string, says: string, bound?: Partial<Phrase>) => Phrase} */
const phrase = (statistic, words, says, bound) => ({ words: words.split(", "), statistic, says, ...bound });

/** @type {(statistic: string, words: string, where: string) => Phrase} */
const share = (statistic, words, where) => phrase(statistic, words, `put # of their weight on ${where}`, least(0.5));

const ENTROPY = "have an entropy of # nats";
const AWAY = "look # tokens away on average";
const BROAD = { least: (/** @type {number} */ even) => 0.8 * even, from: "0.8 × that of uniform attention" };
const SHARP = { most: (/** @type {number} */ even) => 0.3 * even, from: "0.3 × that of uniform attention" };
const FAR = { least: (/** @type {number} */ even) => even, from: "as far as uniform attention" };
const NEAR = {
  most: (/** @type {number} */ even) => Math.min(3, even / 2),
  from: "3, or half as far as uniform attention",
};
const PRONOUN = { least: () => 0.5, from: "largest weight of its row, and 2 × what the average query gives that word" };
const PHRASES = [
  share("previous", "previous token, previous, token before, before, preceding", "the previous token"),
  share("next", "next token, next, token after, after, following", "the next token"),
  share("same", "query itself, itself, themselves, same token, self, diagonal", "the query itself"),
  share("first", "first token, first, beginning, start", "the first token"),
  share("first", "[cls], cls, <s>, class token", "the first token, here “FIRST”"),
  share("special", "special tokens, special token, special", "special tokens, all of them together"),
  share("role:delimiter", "delimiter, delimiters, [sep], sep, </s>", "special tokens after the first, such as [SEP]"),
  share("role:sink", "sink, sinks", "the first token and special tokens"),
  share("role:punctuation", "punctuation, punctuation marks", "punctuation"),
  share("role:across", "other sentence, other text, across", "the words of the other sentence"),
  phrase("role:a_to_b", "a to b", "put # of the weight of sentence A on the words of B", least(0.5)),
  phrase("role:b_to_a", "b to a", "put # of the weight of sentence B on the words of A", least(0.5)),
  phrase("role:pronoun", "pronouns, pronoun, coreference", "link # of the pronouns to an earlier word", PRONOUN),
  phrase("entropy", "high entropy, spread out, broad, uniform, uniformly, even, evenly, everywhere", ENTROPY, BROAD),
  phrase("entropy", "low entropy, focused, focussed, sharp, sharply, narrow", ENTROPY, SHARP),
  phrase("entropy", "entropy", ENTROPY),
  phrase("distance", "long distance, large distance, far away, far, distant, global", AWAY, FAR),
  phrase(
    "distance",
    "short distance, small distance, near, nearby, local, locally, close, neighbors, neighbours",
    AWAY,
    NEAR,
  ),
  phrase("distance", "mean distance, distance", AWAY),
  phrase(
    "largest",
    "one large weight, large weight, largest weight, single weight, one weight, spike",
    "have a largest weight of #",
    least(0.9),
  ),
  phrase(
    "change",
    "changed, change, different, reference",
    "moved # of their weight, compared with the reference",
    least(0.1),
  ),
];
// Longer ones first, so that "token before" is not read as "before".
const BY_LENGTH = PHRASES.flatMap((each) => each.words.map((words) => ({ ...each, words }))).sort(
  (a, b) => b.words.length - a.words.length,
);
const SHARES = ["previous token", "next token", "itself", "first token", "[CLS]", "special tokens"];
const ROLES = ["delimiter", "sink", "punctuation", "offset -2", "2 after", "pronouns"];
const OTHERS = ["high entropy", "low entropy", "far", "near", "one large weight", "layer 3", "head 5", "3.5"];
export const EXAMPLES = [...SHARES, ...ROLES, ...OTHERS, "previous token over 0.3"];
const SILENT = new Set(
  (
    "head heads that which who look looks looking at on to the a an of with and in their its is are all show find " +
    "attend attends attention weight weights token tokens patch patches put puts have has mostly mainly most very " +
    "from against only where it they"
  ).split(" "),
);
const SIGNS = {
  "at least": ">=",
  "at most": "<=",
  "more than": ">=",
  "less than": "<=",
  over: ">=",
  above: ">=",
  under: "<=",
  below: "<=",
  "≥": ">=",
  "≤": "<=",
};
const PLACE = / (?:(\d+)\.(\d+)|layers? (\d+)|heads? (\d+))(?= )/;
const OFFSET =
  / (?:offset ([+−-]?\d+)|(\d+) (?:tokens? )?(back|before|earlier|after|ahead|later))(?: ([<>])=? (\d*\.?\d+)(%?))?(?= )/;
const BACK = ["back", "before", "earlier"];
const TEXTS = /(?<!\w)(?:sentence )?([AB])\s*(?:->|=>|→)\s*(?:sentence )?([AB])(?!\w)/;
const UNPAIRED = "This run has one sentence; write a second one below the first to ask for A → B.";
const TEXTS_ROLES = new Set(["role:across", "role:a_to_b", "role:b_to_a"]);

/** Parse a search: places and tests that must all hold; an error sentence if it is not understood;
 * null if empty.
 * @type {(text: string, run: Searched) => Filter | Fault | null} */
export function understand(text, run) {
  let rest = plain(text.replace(TEXTS, " $1 to $2 "));
  if (!rest.trim()) return null;
  const take = (/** @type {RegExp} */ pattern) => {
    const found = pattern.exec(rest);
    if (found) rest = rest.replace(found[0], () => " ");
    return found;
  };
  /** @type {(Test | Place | Fault)[]} */ const parts = [];
  for (let found = take(OFFSET); found; found = take(OFFSET)) parts.push(offset(found, run));
  for (const each of BY_LENGTH) {
    const found = take(bounded(each.words));
    if (found && TEXTS_ROLES.has(each.statistic) && !run.paired) parts.push({ fault: UNPAIRED });
    else if (found) parts.push(test(each, found, run));
  }
  for (let found = take(PLACE); found; found = take(PLACE)) parts.push(place(found, run));
  const unknown = rest.split(" ").filter((word) => word && !SILENT.has(word));
  if (unknown.length) {
    const known = `You can write ${EXAMPLES.join(", ")}; several conditions must all hold.`;
    return { fault: `“${unknown.join(" ")}” is not understood. ${known}` };
  }
  if (!parts.length) return { fault: `Say what the heads look at, such as ${SHARES.join(", ")}.` };
  return (
    parts.find((part) => "fault" in part) ?? {
      places: parts.filter((part) => "kind" in part),
      tests: parts.filter((part) => "statistic" in part),
    }
  );
}

/** The heads that match, and a sentence of how many do what, and which.
 * @template {HeadPlace} Kind @param {Filter} filter @param {Kind[]} heads @param {ValueOf} value */
export function matching({ places, tests }, heads, value) {
  const at = (/** @type {HeadPlace} */ one) =>
    KINDS.every((kind) => {
      const asked = places.filter((place) => place.kind === kind); // any one of several layers
      const same = (/** @type {Place} */ { layer = one.layer, head = one.head }) =>
        layer === one.layer && head === one.head;
      return !asked.length || asked.some(same);
    });
  const known = heads.filter((one) => at(one) && tests.every(({ statistic }) => value(statistic, one) != null));
  const holds = (/** @type {Test} */ { statistic, side, at: bound }, /** @type {HeadPlace} */ one) => {
    const found = Number(value(statistic, one));
    return side === ">" ? found >= bound : found <= bound;
  };
  const found = known.filter((one) => tests.every((each) => holds(each, one)));
  return { found, says: sentence(found, known, places, tests, value) };
}

// Whether the sentences of a pair are meant by "A → B", and not two tokens.
export const betweenTexts = (/** @type {string} */ text) => TEXTS.test(text);

/** Searches offered for a run by a click.
 * @type {(run: { tokens: string[], special: boolean[], grid: unknown, paired: boolean }) =>
 *   string[]} */
export function phrases({ tokens, special, grid, paired }) {
  if (grid) return ["previous token", "next token", "itself", "first token", "special tokens", "far", "spread out"];
  const texts = paired ? ["A → B", "B → A"] : [];
  const marks = tokens.some((token, at) => !special[at] && !/[\p{L}\p{N}]/u.test(token));
  const always = ["previous token", "next token", "offset -2", "same token", "delimiter", "sink"];
  return [...texts, ...always, ...(marks ? ["punctuation"] : []), "pronouns", "spread out"];
}

// In small letters, signs for bounds, one space around every word.
function plain(/** @type {string} */ text) {
  const bare = text.toLowerCase().replace(/[“”",;?!]/g, " ");
  const spaced = bare.replace(/([<>]=?|[≥≤])/g, " $1 ").replace(/\s+/g, " ");
  let rest = ` ${spaced.trim()} `;
  for (const [words, sign] of Object.entries(SIGNS)) rest = rest.replaceAll(` ${words} `, ` ${sign} `);
  return rest.replaceAll(" half ", " 0.5 ");
}

// The phrase, and a bound of the person's own after it.
function bounded(/** @type {string} */ words) {
  const literal = words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(` ${literal}(?: tokens?)?(?: ([<>])=? (\\d*\\.?\\d+)(%?))?(?= )`);
}

/** @type {(found: RegExpExecArray, run: Searched) => Test | Fault} */
function offset([, exact, steps, side, ...bound], { tokens }) {
  const at = exact ? Number(exact.replace("−", "-")) : Number(steps) * (BACK.includes(side) ? -1 : 1);
  const most = tokens.length - 1;
  if (Math.abs(at) > most) return { fault: `No two tokens are ${Math.abs(at)} places apart; the most is ${most}.` };
  const where = at ? `the token ${Math.abs(at)} ${at < 0 ? "before" : "after"}` : "the query itself";
  const phrase = share(`role:offset:${at}`, "", where);
  const found = /** @type {any} */ (["", ...bound]);
  return test({ ...phrase, words: "" }, found, { nLayers: 0, nHeads: 0, tokens, statistics: {} });
}

/** @type {(phrase: Omit<Phrase, "words"> & { words: string }, found: RegExpExecArray, run: Searched) => Test | Fault} */
function test({ words, statistic, least, most, from = "", says }, [, sign, number, percent], run) {
  const bound = least ?? most;
  const said = says.replace("FIRST", () => run.tokens[0]);
  if (sign) {
    const side = sign === ">" ? ">" : "<";
    return { statistic, side, at: Number(number) / (percent ? 100 : 1), says: said, from: "" };
  }
  if (!bound) return { fault: `Say how much: “${words} over 1” or “${words} under 1”.` };
  const at = bound(run.statistics[statistic]?.even ?? NaN);
  return { statistic, side: least ? ">" : "<", at, says: said, from };
}

/** @type {(found: RegExpExecArray, run: Searched) => Place | Fault} */
function place([, layer, head, onlyLayer, onlyHead], run) {
  const whole = (/** @type {string | undefined} */ digits) => (digits === undefined ? undefined : Number(digits));
  const [atLayer, atHead] = [whole(layer ?? onlyLayer), whole(head ?? onlyHead)];
  const lacks = (/** @type {string} */ what, /** @type {number} */ at, /** @type {number} */ many) => ({
    fault: `There is no ${what} ${at}; this run has ${what}s 0 to ${many - 1}.`,
  });
  if (atLayer !== undefined && atLayer >= run.nLayers) return lacks("layer", atLayer, run.nLayers);
  if (atHead !== undefined && atHead >= run.nHeads) return lacks("head", atHead, run.nHeads);
  return { kind: layer ? "both" : onlyLayer ? "layer" : "head", layer: atLayer, head: atHead };
}
