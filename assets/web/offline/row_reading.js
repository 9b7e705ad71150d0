// One query's row of a map: shaded words or patches, a sentence, and a list.

import { el, number, query } from "../core/dom.js";
import { readRow, sentenceOf, shortName, weight } from "./reading.js";
import { WordStrip } from "./word_strip.js";
import { largest } from "../core/colors.js";
import { TokenChoice, tokensOf } from "../views/token_choice.js";

/** @import { StripActs } from "./word_strip.js" */
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
