// One row or column as it was asked for: its numbers with all they are of, and what is said of them.

import { number } from "../core/dom.js";
import { COLUMN, descending, MEASURES } from "../views/shading.js";

export const TOLD = 3; // of the strongest
const PARTS = 16;

export class Reading {
  // The choice of this moment; the numbers come later, and the choice that they belong to stays.
  constructor(run, selection, measure, direction) {
    const { layer, head, query, key, hide, renorm, words, name, kept } = selection;
    Object.assign(this, { run, measure, name, values: null, whole: null, parts: null, answer: "", fault: "" });
    this.selection = { layer, head, query, key, hide, renorm, words };
    this.who = direction === "who";
    this.merges = words && measure === "weight"; // other measures are a token's own: its sub-words stay apart
    this.units = run.shown({ hide, words: this.merges });
    this.token = this.who ? key : query;
    this.chosen = this.unitOf(this.token);
    this.asked = [run.key, measure, direction, kept, name, this.token].join(":");
  }

  unitOf(token) {
    return this.units.places[token];
  }

  fromWhole(unit) {
    const n = this.units.length;
    if (!this.who) return this.whole.subarray(unit * n, (unit + 1) * n);
    return Float32Array.from({ length: n }, (_, query) => this.whole[query * n + unit]);
  }

  get kind() {
    if (this.who) return COLUMN;
    const kind = MEASURES[this.measure];
    return this.measure === "relevance" ? { ...kind, says: `Of the answer ${this.answer}. ${kind.says}` } : kind;
  }

  get side() {
    return this.who ? "key" : "query";
  }

  named(unit, side = this.side) {
    const { name, tokens } = this.units[unit] ?? { name: this.run.tokens[this.token], tokens: [this.token] };
    return `${side} ${tokens.length > 1 ? `${tokens[0]}–${tokens.at(-1)}` : tokens[0]} “${name}”`;
  }

  heading(unit) {
    const token = this.named(unit);
    const { layer } = this.selection;
    const text = this.who
      ? `Who looks at ${token} (${this.name})`
      : {
          weight: `Where ${token} looks (${this.name})`,
          value: `What each key adds to ${token} (${this.name})`,
          rollout: `Rollout of ${token}, up to layer ${layer}`,
          relevance: `Relevance read at ${token}, up to layer ${layer}`,
        }[this.measure];
    return this.units[unit] ? text : `${text}; it is hidden here`;
  }

  // The number of one chip, with both of its ends.
  cell(unit) {
    const [query, key] = this.who ? [unit, this.chosen] : [this.chosen, unit];
    return `${this.name}  ${this.named(query, "query")} → ${this.named(key, "key")}: ${number(this.values[unit])}${this.#partsOf(unit)}`;
  }

  // The strongest of what is shown.
  sentence(unit, values) {
    const listed = descending(values)
      .slice(0, TOLD)
      .map((at) => `${this.named(at, this.who ? "query" : "key")} ${number(values[at])}`)
      .join(", ");
    const verb = this.who ? "is looked at most by" : this.measure === "weight" ? "looks most at" : "has most from";
    return `${this.named(unit)} ${verb} ${listed || "nothing"}`;
  }

  // The exact numbers of the sub-words that meet in a chip, where one of the two words has several.
  #partsOf(unit) {
    const { run, parts, selection } = this;
    const { tokens } = this.units[unit];
    if (!parts || tokens.length * parts.length === 1) return "";
    const { places } = run.shown({ hide: selection.hide, words: false });
    const pair = (one, other) => (this.who ? `${other} → ${one}` : `${one} → ${other}`);
    const name = (token) => `${token} “${run.tokens[token]}”`;
    return (
      "\n" +
      parts
        .flatMap(({ token, values }) =>
          tokens.map((other) => `${pair(name(token), name(other))}: ${number(values[places[other]])}`),
        )
        .slice(0, PARTS)
        .join("\n")
    );
  }
}
