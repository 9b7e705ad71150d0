// A reference of a run in words and in the link.

import { count } from "../core/dom.js";
import { quoted } from "../core/token_names.js";

/** Differing tokens: those without a match if the alignment is known, otherwise by position.
 * @type {(run: Run, before: Run, alignment?: Compared | null) => string} */
export function compare(run, before, alignment = null) {
  const { tokens } = before;
  if (run.n !== before.n)
    return `The reference has ${before.n} tokens, this run ${run.n}: maps are compared on the tokens that both have.${unlike(run, before)}`;
  if (alignment) return `${unaligned(run, before, alignment)}.${unlike(run, before)}`;
  const other = run.tokens.flatMap((token, at) => (token === tokens[at] ? [] : [at]));
  const first = `: ${other.length > 1 ? "first " : ""}${quoted(tokens[other[0]])} → ${quoted(run.tokens[other[0]])}`;
  const which = `${differing(other.length, run.n)}${other.length ? first : ""}`;
  return `${which}.${unlike(run, before)}`;
}

const differing = (/** @type {number} */ some, /** @type {number} */ all) =>
  `${count(some)} of ${count(all)} tokens ${some === 1 ? "differs" : "differ"}`;

// A token that stands where another stood is named with it.
function unaligned(/** @type {Run} */ run, /** @type {Run} */ before, /** @type {Compared} */ { aligned, ...only }) {
  const [[here], [there]] = [only.only_here, only.only_there];
  const which = differing(only.only_here.length, run.n);
  if (here === undefined) return which;
  const passed = [aligned.filter(([ours]) => ours < here), aligned.filter(([, theirs]) => theirs < there)];
  const replaced = there !== undefined && passed[0].length === passed[1].length;
  const first = only.only_here.length > 1 ? "first " : "";
  const name = quoted(run.tokens[here]);
  return `${which}: ${first}${replaced ? `${quoted(before.tokens[there])} → ${name}` : name}`;
}

/**
 * Other differences than the tokens, one sentence each.
 * @type {(run: Run, before: Run) => string}
 */
function unlike(run, before) {
  const models = `Heads are compared by number, but heads of ${before.model} and ${run.model} with the same number are unrelated.`;
  const masks = `This run has ${run.masked ? `a mask (${run.masked})` : "no mask"}, and the reference has ${before.masked ? `one (${before.masked})` : "none"}; pairs masked in either run show no change.`;
  const [now, then] = [run, before].map(changeWords);
  const changes = `This run has ${now ? `changes (${now})` : "no changes"}, and the reference has ${then ? `changes (${then})` : "none"}.`;
  const said = [
    run.model !== before.model && models,
    run.masked !== before.masked && masks,
    now !== then && changes,
  ].filter(Boolean);
  return said.map((sentence) => ` ${sentence}`).join("");
}

const changeWords = (/** @type {Run} */ { changed }) => changed?.changes.map(({ words }) => words).join(", ") ?? "";

/** What is kept of a run: its link, and how it is named in a list.
 * @typedef {{ key: string, link: Record<string, string>, model: string, input: string, made: string }} Earlier */

/** @type {(run: Run) => Earlier} */
export const earlierOf = (run) => {
  const made = run.masked ? `mask: ${run.masked}` : changeWords(run);
  return { key: run.key, link: run.link, model: run.model, input: inputNamed(run), made };
};

/** A run to choose by the part of its text that the shown one has not, and what was done to it; its model where that is
 * not of the shown one. @type {(run: Earlier, shown: Run) => string} */
export const offered = ({ link, model, input, made }, shown) => {
  const name = link.a ? quoted(shortened(textOf(link), textOf(shown.link))) : input;
  return `${model === shown.model ? "" : `${model}, `}${name}${made ? ` (${made})` : ""}`;
};

const textOf = (/** @type {Record<string, string>} */ { a = "", b }) => (b ? `${a} / ${b}` : a);

/** Why no answer is told against another run, whose maps may be compared; "" where it is.
 * @type {(run: Run, other: Run) => string} */
export function unshared(run, other) {
  if (run.unsplit) return "";
  if (run.model !== other.model)
    return `This answer of ${run.model} cannot be split against a run of ${other.model}: run one of the two texts in the model of the other.`;
  return other.unsplit && `The answer is not told against it: ${other.unsplit}`;
}

const PARTS = ["kind", "model", "a", "b", "example", "run", "ran", "pad", "mistake", "scope", "cut", "from"];
const FIRST_WORDS = 25; // characters
const LAST_WORDS = 15;

/** Store in the link what restores the reference; null removes it.
 * @type {(selection: PageSelection, reference: RunDescription | null) => void} */
export function noteReference(selection, reference) {
  const link = reference ? { ...reference.link, run: reference.key } : {};
  selection.note(Object.fromEntries(PARTS.map((name) => [`ref.${name}`, /** @type {any} */ (link)[name] ?? ""])));
}

/** The parts of the reference in the link; null without any.
 * @type {(selection: PageSelection) => Record<string, string> | null} */
export function notedReference(selection) {
  const parts = PARTS.map((name) => [name, selection.noted(`ref.${name}`)]).filter(([, value]) => value);
  return parts.length ? Object.fromEntries(parts) : null;
}

/** A run by its model and its first words. @type {(run: Run) => string} */
export const named = (run) => `${run.model}, ${inputNamed(run)}`;

/** A run's input, by its first and last words; of two texts, both. @type {(run: Run) => string} */
export function inputNamed(run) {
  if (run.grid) return `a picture of ${run.grid.rows} × ${run.grid.cols} patches`;
  const text = run.link.a ?? run.tokens.filter((_, at) => !run.special[at]).join(" ");
  return [text, ...(run.link.b ? [run.link.b] : [])].map((each) => quoted(shortened(each))).join(" and ");
}

// Texts that are compared often differ in their last words; where another one is known, from shortly before they differ.
export function shortened(/** @type {string} */ text, other = "") {
  const most = FIRST_WORDS + LAST_WORDS;
  if (text.length <= most) return text;
  const apart = other ? [...text].findIndex((letter, at) => letter !== other[at]) : 0;
  if (apart <= FIRST_WORDS) return `${begun(text, FIRST_WORDS)}…${text.slice(-LAST_WORDS).replace(/^\S+ +(?=\S)/, "")}`;
  return `…${begun(text.slice(text.lastIndexOf(" ", apart - FIRST_WORDS) + 1), most)}`;
}

// So many letters of a text at most, to the end of a word where one ends there.
const begun = (/** @type {string} */ text, /** @type {number} */ most) =>
  (text.length > most && text.slice(0, most + 1).match(/^(.*\S)\s/)?.[1]) || text.slice(0, most);
