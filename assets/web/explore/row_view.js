// One requested row or column: its numbers, their context, its sentences and its table.

import { number, rounded } from "../core/dom.js";
import { quoted } from "../core/token_names.js";
import { csvFile } from "../views/canvas_png.js";
import { saveRow } from "../views/save_row.js";
import { COLUMN, descending, ROW, TOLD } from "../views/shading.js";
import { unitName } from "./map_heading.js";
import { mapPart, WHOLE } from "./tiles.js";

/** @typedef {"looks" | "who"} Direction where a token looks, or who looks at it */

export class RowView {
  /** @type {Float32Array | null} */ values = null;
  /** @type {Float32Array | null} */ whole = null; // the whole map, where it is small
  /** @type {Float32Array | null} */ was = null; // the same in the run before
  /** @type {Float32Array | null} */ wholeWas = null;
  /** @type {Unit[]} */ unitsWere = [];
  fault = "";

  /** The choice of this moment; the numbers come later, and the choice that they belong to stays.
   * @param {Run} run @param {PageSelection} selection @param {Direction} direction @param {string} [against] the run before */
  constructor(run, selection, direction, against = "") {
    this.run = run;
    this.name = selection.name;
    this.against = against;
    this.selection = { ...selection };
    this.who = direction === "who";
    this.units = run.shown(selection);
    this.side = /** @type {"query" | "key"} */ (this.who ? "key" : "query");
    this.token = selection[this.side];
    this.chosen = this.unitOf(this.token);
    const runs = against ? `${run.key}-${against}` : run.key;
    this.asked = [runs, direction, selection.kept, selection.name, this.token].join(":");
  }

  // Its numbers; of a small run those of the whole map, so that any other row is there at once.
  // `before` is the run that this one was made from, or is compared with.
  /** @type {(fresh: Fresh, before?: Promise<Run> | Run | null) => Promise<void>} */
  async fetch(fresh, before = null) {
    const { run, selection, units } = this;
    if (units.length && units.length <= WHOLE) this.whole = (await fresh(mapPart(run, selection))).values;
    const were = this.#fetchBefore(fresh, before);
    [this.values] = await fresh(Promise.all([this.valuesOf(this.token, fresh.signal), were]));
  }

  // The row of the run before, if every token kept its position.
  /** @type {(fresh: Fresh, before: Promise<Run> | Run | null) => Promise<void>} */
  async #fetchBefore(fresh, before) {
    const { selection, units } = this;
    const plain = await fresh(Promise.resolve(before).catch(() => null));
    this.unitsWere = plain?.shown(selection) ?? [];
    if (!plain || this.unitsWere.length !== units.length) return;
    const asking = this.whole ? mapPart(plain, selection) : this.#ask(selection, this.token, fresh.signal, plain);
    const found = await fresh(asking.catch(() => null)); // the row is there without it
    if (this.whole) this.wholeWas = found?.values ?? null;
    else this.was = found?.values ?? null;
  }

  wasOf(/** @type {number} */ unit) {
    if (this.wholeWas) return this.fromWhole(this.wholeWas, unit);
    return unit === this.chosen ? this.was : null;
  }

  /** A number for each unit; at once where the whole map is here.
   * @type {(token: number, signal?: AbortSignal) => Promise<Float32Array>} */
  async valuesOf(token, signal) {
    const unit = this.unitOf(token);
    if (this.whole && unit >= 0) return this.fromWhole(this.whole, unit);
    return (await this.#ask(this.selection, token, signal)).values;
  }

  /** @type {(whole: Float32Array, unit: number) => Float32Array} */
  fromWhole(whole, unit) {
    const n = this.units.length;
    if (!this.who) return whole.subarray(unit * n, (unit + 1) * n);
    return Float32Array.from({ length: n }, (_, query) => whole[query * n + unit]);
  }

  /** @type {(view: MapView, token: number, signal?: AbortSignal, run?: Run) => Promise<Numbers>} */
  #ask(view, token, signal, run = this.run) {
    const { who } = this;
    return who ? run.shownColumn({ ...view, key: token }, signal) : run.shownRow({ ...view, query: token });
  }

  unitOf(/** @type {number} */ token) {
    return this.units.places[token];
  }

  get kind() {
    return this.who ? COLUMN : ROW;
  }

  named(/** @type {number} */ unit, side = this.side) {
    return `${side} ${unitName(this.units[unit] ?? { name: this.run.tokens[this.token], tokens: [this.token] })}`;
  }

  heading(/** @type {number} */ unit) {
    const token = this.named(unit);
    const text = this.who ? `Who looks at ${token} (${this.name})` : `Where ${token} looks (${this.name})`;
    return this.units[unit] ? text : `${text}; it is hidden here`;
  }

  /** The number of one chip, with both of its ends. @type {(values: Float32Array, unit: number) => string} */
  cell(values, unit) {
    const [query, key] = this.who ? [unit, this.chosen] : [this.chosen, unit];
    const pair = `${this.named(query, "query")} → ${this.named(key, "key")}`;
    return `${this.name}  ${pair}: ${number(values[unit])}`;
  }

  /** The strongest of what is shown. @type {(unit: number, values: Float32Array) => string} */
  sentence(unit, values) {
    const listed = (/** @type {Float32Array} */ of, /** @type {Unit[]} */ units) =>
      descending(of)
        .slice(0, TOLD)
        .map((at) => `${told(units, at)} (${rounded(of[at])})`)
        .join(", ") || "nothing";
    const was = this.wasOf(unit);
    const verb = this.who ? "is looked at most by" : "looks most at";
    const [now, before] = [listed(values, this.units), was ? listed(was, this.unitsWere) : ""];
    return `${this.units[unit] ? told(this.units, unit) : this.named(unit)} ${verb} ${now}${before && before !== now ? `; was ${before}` : ""}`;
  }
}

/** Of several by the same name with its number. @type {(units: Unit[], at: number) => string} */
function told(units, at) {
  const same = units.filter(({ name }) => name === units[at].name);
  return same.length > 1 ? unitName(units[at]) : quoted(units[at].name);
}

/** The numbers are those that are shown, with what is hidden, divided or merged in them.
 * @type {(shown: () => RowView | null) => HTMLElement} */
export function rowSaves(shown) {
  const table = () => {
    const view = shown();
    if (!view?.values) return null;
    const { run, name, side, token, units, values, selection } = view;
    const kept = [selection.hide && "hide", selection.renorm && "renorm", selection.words && "words"].filter(Boolean);
    const lines = units.map((unit, at) => [unit.tokens.join(" "), unit.name, values[at]]);
    const other = side === "query" ? "key" : "query";
    const stem = `${run.model}-${name}-weight-${side}-${[token, ...kept].join("-")}`;
    return csvFile(stem, [[`${other} numbers`, other, `weight of ${view.named(view.chosen)}`], ...lines]);
  };
  return saveRow("Save this row", [["CSV", "The numbers that shade the tokens, as a table", table]]);
}
