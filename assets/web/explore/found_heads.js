// Found heads as a sentence, whose names are buttons that choose them.

import { el, rounded } from "../core/dom.js";

/** @import { Place, Test, ValueOf } from "./head_filter.js" */
/** @typedef {(string | HeadPlace)[]} Sentence its words, and the heads that it names */

const NAMED = 3; // heads, at most
export const KINDS = /** @type {const} */ (["both", "layer", "head"]);
/** @type {Record<string, string>} */ const ONE = {
  put: "puts",
  have: "has",
  look: "looks",
  moved: "moved",
  link: "links",
};

/** How many heads pass, and which are strongest; if none, the nearest.
 * @type {(found: HeadPlace[], known: HeadPlace[], places: Place[], tests: Test[], value: ValueOf)
 *   => Sentence} */
export function sentence(found, known, places, tests, value) {
  const says = counted(found.length, places, tests);
  if (!found.length) return [`${says}.`, ...nearest(known, tests, value)];
  if (!tests.length) return [`${says}.`];
  const values = (/** @type {HeadPlace} */ one) => tests.map(({ statistic }) => rounded(Number(value(statistic, one))));
  if (found.length === 1 && tests.length === 1) return ["Head ", found[0], ` ${does(tests[0], values(found[0])[0])}.`];
  const named = strongestFirst(found, tests[0], value).slice(0, NAMED);
  const more = found.length - named.length;
  const list = named.flatMap((one, at) => [at ? ", " : ": ", one, ` (${values(one).join("; ")})`]);
  return [says, ...list, more ? ` and ${more} more.` : "."];
}

/** Write a sentence into a node, unless it is there already: a button keeps its focus.
 * @type {(node: HTMLElement, said: Sentence, choose: (head: HeadPlace) => unknown) => void} */
export function write(node, said, choose) {
  if (node.textContent === textOf(said)) return;
  const link = (/** @type {HeadPlace} */ head) =>
    el("button", { type: "button", class: "viz-found-head", onclick: () => choose(head) }, nameOf(head));
  node.replaceChildren(...said.map((part) => (typeof part === "string" ? part : link(part))));
}

const nameOf = (/** @type {HeadPlace} */ { layer, head }) => `${layer}.${head}`;
export const textOf = (/** @type {Sentence} */ said) =>
  said.map((part) => (typeof part === "string" ? part : nameOf(part))).join("");

const short = (/** @type {number} */ value) => String(Number(value.toPrecision(3)));

function counted(/** @type {number} */ count, /** @type {Place[]} */ places, /** @type {Test[]} */ tests) {
  const named = (/** @type {Place} */ { kind, layer, head }) =>
    ({ both: `called ${layer}.${head}`, layer: `of layer ${layer}`, head: `numbered ${head}` })[kind];
  const where = KINDS.map((kind) =>
    places
      .filter((one) => one.kind === kind)
      .map(named)
      .join(" or "),
  );
  const said = tests.map((one) => clause(one, count < 2)).join(" and ") || (count < 2 ? "is shown" : "are shown");
  return `${[count || "No", count < 2 ? "head" : "heads", ...where.filter(Boolean)].join(" ")} ${said}`;
}

// A test in words for one head or many: "puts at least 0.5 of its weight on …".
function clause(/** @type {Test} */ { side, at, says, from }, /** @type {boolean} */ one) {
  const bound = `${side === ">" ? "at least" : "at most"} ${short(at)}`;
  return (one ? singular(says) : says).replace("#", bound) + (from ? ` (${from})` : "");
}

// A test in words with the head's own value; a default bound is stated after it.
function does(/** @type {Test} */ { side, at, says, from }, /** @type {string} */ value) {
  const bound = from && ` (${side === ">" ? "at least" : "at most"} ${short(at)}: ${from})`;
  return singular(says).replace("#", value) + bound;
}

function singular(/** @type {string} */ says) {
  const [verb, ...rest] = says.split(" ");
  return [ONE[verb], ...rest].join(" ").replace(" their ", " its ");
}

/** @type {(heads: HeadPlace[], test: Test, value: ValueOf) => HeadPlace[]} */
function strongestFirst(heads, { statistic, side }, value) {
  const far = (/** @type {HeadPlace} */ one) => Number(value(statistic, one)) * (side === ">" ? 1 : -1);
  return heads.toSorted((a, b) => far(b) - far(a));
}

/** The head nearest to the one test that none passes.
 * @type {(known: HeadPlace[], tests: Test[], value: ValueOf) => Sentence} */
function nearest(known, tests, value) {
  if (tests.length !== 1 || !known.length) return [];
  const [best] = strongestFirst(known, tests[0], value);
  return [" ", best, ` is closest, with ${short(Number(value(tests[0].statistic, best)))}.`];
}
