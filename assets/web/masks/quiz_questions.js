// The three questions of the quiz about one specimen: the cell, the cause, the line; no page is touched.

/** @typedef {{ ask: string, choices: string[], right: number, because: string[], code: boolean }} Question
 *   `because` is text and code in turns, text first */

export const CHOICES = 4;

/** Questions about a specimen and its first picture, in order; no cell if none is wrong.
 * @type {(specimen: Specimen, others: Specimen[], picture: AuditPicture, random?: () => number) =>
 *   Question[]} */
export function questionsOf(specimen, others, picture, random = Math.random) {
  const cell = cellQuestion(picture, random);
  const cause = question("What is the cause?", specimen.title, titlesOf(others), random);
  const lines = [...new Set(others.map(({ wrong }) => wrong))].filter((line) => line !== specimen.wrong);
  const line = question("Which line does this?", specimen.wrong, lines, random, true);
  cause.because = [`It is ${specimen.identifier}: ${specimen.title}.`];
  line.because = ["The line is ", specimen.wrong, "; write ", specimen.right, " instead."];
  return [...(cell ? [cell] : []), cause, line];
}

/** Alternatives to a specimen: those named for it, or any of its group.
 * @type {(specimen: Specimen, sections: Zoo["sections"], easy: Zoo["easy"], random?: () => number)
 *   => Specimen[]} */
export function othersOf(specimen, sections, easy, random = Math.random) {
  const all = sections.flatMap(({ specimens }) => specimens);
  const named = easy.find(({ identifier }) => identifier === specimen.identifier)?.others;
  if (named) return all.filter(({ identifier }) => named.includes(identifier));
  const group = sections.find(({ specimens }) => specimens.includes(specimen))?.specimens ?? all;
  const different = group.filter(({ title, missed }) => title !== specimen.title && !missed);
  return shuffled(different, random).slice(0, CHOICES - 1);
}

/** A cell that leaks, or one that is lost; the others are as they should be, the mirrored one among them.
 * @type {(picture: AuditPicture, random: () => number) => Question | null} */
function cellQuestion({ intended, observed, leaks, lost }, random) {
  const leaking = cellsOf(leaks);
  const wrong = leaking.length ? leaking : cellsOf(lost);
  if (!wrong.length) return null;
  const [query, key] = wrong[Math.floor(random() * wrong.length)];
  // Attention from padding is not a leak, but could be mistaken for one: such cells are not
  // offered.
  const fine = cellsOf(intended.map((row, q) => row.map((may, k) => isFine(may, observed?.[q][k]))));
  const mirrored = fine.filter(([q, k]) => q === key && k === query);
  const rest = shuffled(
    fine.filter((cell) => !mirrored.includes(cell)),
    random,
  );
  const others = [...mirrored, ...rest].slice(0, CHOICES - 1).map(worded);
  if (!others.length) return null;
  const asked = leaking.length
    ? "Which cell leaks: has weight although the mask forbids it?"
    : "Which cell is lost: has no weight although the mask allows it?";
  const found = question(asked, worded([query, key]), others, random);
  const why = leaking.length ? "is forbidden but has weight" : "is allowed but has no weight";
  found.because = [`${worded([query, key])} ${why}.`];
  return found;
}

/** @type {(ask: string, right: string, others: string[], random: () => number, code?: boolean) => Question} */
function question(ask, right, others, random, code = false) {
  const choices = shuffled([right, ...others], random);
  return { ask, choices, right: choices.indexOf(right), because: [], code };
}

function isFine(/** @type {boolean} */ may, /** @type {number | null | undefined} */ value) {
  return typeof value === "number" && (may ? value > 0 : value === 0);
}

function cellsOf(/** @type {boolean[][]} */ cells) {
  return cells.flatMap((row, q) => row.flatMap((is, k) => (is ? [/** @type {[number, number]} */ ([q, k])] : [])));
}

const worded = (/** @type {[number, number]} */ [query, key]) => `query ${query} → key ${key}`;
const titlesOf = (/** @type {Specimen[]} */ others) => others.map(({ title }) => title);

/** @template T @param {T[]} list @param {() => number} random */
export function shuffled(list, random = Math.random) {
  const left = [...list];
  return list.map(() => left.splice(Math.floor(random() * left.length), 1)[0]);
}
