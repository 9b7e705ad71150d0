// One query's row of a map: shaded words or patches, the strongest key and word in a sentence, and a list.

import { el, number, query } from "../core/dom.js";
import { WordStrip } from "./word_strip.js";
import { largest } from "../core/colors.js";
import { descending } from "../views/shading.js";
import { TokenChoice, tokensOf } from "../views/token_choice.js";

/** @import { Link } from "../core/arcs.js" */
/** @import { StripActs } from "./word_strip.js" */
/** @typedef {{ strongest: Link[], word: Link | null, rest: number, others: number }} Reading the strongest keys; the
 *   strongest that is a word, where the very first is none; what the others hold together, and how many they are */
/** @typedef {{ choose: (row: number) => unknown, pointKey: (key: number | null) => unknown }} Acts */

/** @type {<Kind extends HTMLElement = HTMLElement>(id: string) => Kind} */
export const at = (id) => query(document, `#${id}`);

export class RowReading {
  /** @type {KeptMap} */ map;
  values = /** @type {Float32Array} */ (new Float32Array());
  row = 0;

  /** @param {StripFacts} facts @param {KeptMap[]} maps all that can be shown @param {Acts} acts */
  constructor(facts, maps, { choose, pointKey }) {
    this.facts = facts;
    this.map = maps[0];
    const acts = { preview: (/** @type {number | null} */ row) => this.#paint(row ?? this.row), choose, pointKey };
    const { grid } = facts;
    const whole = maps.every(({ pooled, about }) => !pooled && !about.cross && !about.names);
    this.pictured = Boolean(grid && facts.picture && whole);
    this.strip = grid && this.pictured ? new PictureStrip({ ...facts, grid }, acts) : new WordStrip(facts, acts);
    at("strip").append(this.strip.node);
    at("unit").textContent = this.pictured ? "patch" : "word";
  }

  /** Another map; its row is painted by `choose`. @type {(map: KeptMap, values: Float32Array) => void} */
  show(map, values) {
    Object.assign(this, { map, values });
    this.strip.show(map, values);
  }

  choose(/** @type {number} */ row) {
    this.row = row;
    this.strip.mark(row);
    this.#paint(row);
  }

  layout() {
    this.strip.layout();
  }

  #paint(/** @type {number} */ row) {
    const { map } = this;
    const weights = this.values.subarray(row * map.cols, (row + 1) * map.cols);
    const specials = map.about.special ?? this.facts.special;
    const special = (/** @type {number} */ key) => !map.pooled && !map.about.cross && Boolean(specials[key]);
    const found = readRow(weights, special);
    this.strip.paint(row, weights, found);
    const parts = sentenceOf(map, row, found).map((part) =>
      typeof part === "string" ? part : el("b", { class: part.kind }, part.name),
    );
    at("said").replaceChildren(...parts);
    this.#list(row, found);
  }

  /** @type {(row: number, found: ReturnType<typeof readRow>) => void} */
  #list(row, { strongest, rest, others }) {
    const { map } = this;
    at("looks").replaceChildren("Where ", el("b", { class: "query" }, shortName(map, 0, row)), " looks");
    at("list").replaceChildren(
      ...strongest.map(({ at, weight: share }) => {
        const bar = el("i");
        bar.style.width = `${100 * Math.min(1, share)}%`;
        return el(
          "li",
          {},
          el("span", {}, map.pooled ? map.label(1, at) : shortName(map, 1, at)),
          el("span", { class: "bar" }, bar),
          weight(share),
        );
      }),
    );
    const many = others === 1 ? "1 other key has" : `${others} other keys share`;
    at("rest").textContent = others && !map.pooled ? `${many} ${weight(rest)}.` : "";
  }
}

const SIZE = { widest: 340, tallest: 340 }; // pixels

class PictureStrip {
  chosen = 0;
  said = el("p", { class: "quiet" });

  /** @param {StripFacts & { grid: Grid }} facts @param {StripActs} acts */
  constructor({ grid, tokens, picture }, { preview, choose }) {
    this.run = tokensOf(tokens, grid, picture);
    this.tokens = new TokenChoice({ hover: preview, choose }, SIZE);
    this.node = el("div", {}, this.tokens.node, this.said);
  }

  // The chips and the patches are those of every map here.
  show(/** @type {KeptMap} */ _map) {}

  mark(/** @type {number} */ row) {
    this.chosen = row;
  }

  paint(/** @type {number} */ row, /** @type {Float32Array} */ weights) {
    this.tokens.show(this.run, this.chosen, { values: weights, say: (at) => number(weights[at]) });
    this.tokens.mark(row === this.chosen ? null : row);
    const top = largest(weights, this.run.grid?.prefix);
    this.said.textContent = `The redder a patch, the larger its weight: from 0 to ${number(top)} here.`;
  }

  layout() {
    this.tokens.draw();
  }
}

const LISTED = 6;

/** @type {(weights: Float32Array, special: (key: number) => boolean) => Reading} */
export function readRow(weights, special) {
  const order = descending(weights);
  const link = (/** @type {number} */ at) => ({ at, weight: weights[at] });
  const word = order.length && special(order[0]) ? order.find((at) => !special(at)) : undefined;
  const allowed = weights.reduce((count, value) => count + (Number.isNaN(value) ? 0 : 1), 0);
  return {
    strongest: order.slice(0, LISTED).map(link),
    word: word === undefined ? null : link(word),
    rest: order.slice(LISTED).reduce((sum, at) => sum + weights[at], 0),
    others: allowed - Math.min(LISTED, order.length),
  };
}

/** The reading as parts of a sentence; tokens come in pairs of their kind and their name.
 * @type {(map: KeptMap, row: number, found: Reading) => (string | { kind: "query" | "key", name: string })[]} */
export function sentenceOf(map, row, { strongest, word }) {
  /** @type {(axis: 0 | 1, at: number) => { kind: "query" | "key", name: string }} */
  const token = (axis, at) => ({ kind: axis ? "key" : "query", name: shortName(map, axis, at) });
  const [first] = strongest;
  const { name } = map.about;
  const head = map.about.head === null ? `${name[0].toUpperCase()}${name.slice(1)}: ` : `Head ${name}: `;
  const query = token(0, row);
  if (!first) return [head, query, " looks at nothing: all its weights are 0 or masked."];
  const itself = !map.about.cross && first.at === row;
  const share = weight(first.weight);
  if (map.pooled) return [head, "the largest weight of ", query, " goes to ", token(1, first.at), `: ${share}.`];
  const said = [head, query, " looks most at ", itself ? "itself" : token(1, first.at), `: ${share} of its attention.`];
  return word ? [...said, " Among the words, at ", token(1, word.at), `: ${weight(word.weight)}.`] : said;
}

/** A weight as a sentence needs it: two decimals, more where these would be 0. @type {(value: number) => string} */
export const weight = (value) => (value >= 0.005 ? value.toFixed(2) : number(value));

/** A token's name, or of a block its numbers. @type {(map: KeptMap, axis: 0 | 1, at: number) => string} */
export function shortName(map, axis, at) {
  const names = map.names(axis, at);
  return map.steps[axis] > 1 ? `tokens ${map.label(axis, at)}` : names[0];
}
