// Source of head statistics: this run's text, or a table of many texts for the same model.

import { el, options } from "../core/dom.js";
import { isShipped, itemsOf, openTable, shippedTable, sourceOf, spreadOf, tableName } from "../views/head_tables.js";
import { Latest } from "../core/latest.js";
import { sizeSaid } from "../core/run.js";

/** @import { HeadStatistics, HeadValue, Selection } from "./types.d.ts" */

const [HERE, SHIPPED, OPEN] = ["", "example", "table"]; // in the link
const NOTE = "atlas.over";
const EXAMPLE = "the example sentences";
const OF_RUN = "These statistics are of this run.";

/** Why a table cannot stand for a run's heads; "" where it can.
 * @type {(table: Pick<HeadTable, "about" | "shape">, run: Pick<Run, "model" | "nLayers" | "nHeads" | "weights">) => string} */
export function unfit({ about, shape: [layers, heads] }, { model, nLayers, nHeads, weights }) {
  const of = modelSaid(about.model, layers, heads, about.untrained);
  const run = modelSaid(model, nLayers, nHeads, weights === "untrained");
  return of === run ? "" : `That table is of ${of}, this run of ${run}. ${OF_RUN}`;
}

/** @type {(model: string, layers: number, heads: number, untrained: boolean) => string} */
const modelSaid = (model, layers, heads, untrained) =>
  `${model} (${sizeSaid({ nLayers: layers, nHeads: heads })}${untrained ? ", random weights" : ""})`;

/** The statistics of a table, asked for like those of a run. */
export class TableStatistics {
  constructor(/** @type {HeadTable} */ table) {
    this.table = table;
    this.own = /** @type {Record<string, StatisticText>} */ (
      Object.fromEntries(
        Object.entries(table.words)
          .filter(([name]) => table.n_texts[name])
          .map(([name, words]) => [name, { ...words, over: `${words.over} ${this.#over(name)}`, most: 1, even: null }]),
      )
    );
  }

  #over(/** @type {string} */ name) {
    return `Averaged over ${itemsOf(this.table, this.table.n_texts[name])}: ${sourceOf(this.table)}.`;
  }

  names() {
    return Object.keys(this.own);
  }

  /** @type {(name: string) => StatisticText} */
  text(name) {
    return this.own[name] ?? Object.values(this.own)[0];
  }

  complete() {
    return true;
  }

  /** Every head with its value, by layer and head. @type {(name: string) => HeadValue[]} */
  heads(name) {
    return (this.table.arrays[name] ?? []).flatMap((row, layer) =>
      row.map((value, head) => ({ layer, head, name: `${layer}.${head}`, value })),
    );
  }

  /** A head by a statistic, with its spread. @type {(name: string, place: { layer: number, head: number }) => string} */
  said(name, place) {
    return name in this.own ? `${this.own[name].title}. ${spreadOf(this.table, name, place)}` : "";
  }
}

export class StatisticSource {
  #loading = new Latest((fault) => this.#enter(null, `${fault} ${OF_RUN}`));
  /** @type {HeadTable | null} */ #table = null; // that was chosen, whether it fits or not
  /** @type {TableStatistics | null} */ table = null; // that is shown
  #fault = "";
  fault = ""; // why the chosen one is not shown
  #offered = "";
  choice = el("select", { id: "viz-over", onchange: ({ currentTarget }) => this.choose(currentTarget.value) });

  /** `changed` is told when other statistics are shown.
   * @param {Selection} selection @param {HeadStatistics} measures @param {() => unknown} changed */
  constructor(selection, measures, changed) {
    this.selection = selection;
    this.measures = measures;
    this.changed = changed;
    const linked = selection.noted(NOTE);
    this.#offer();
    openTable.on(() => {
      this.#offer();
      if (this.choice.value === OPEN) this.choose(OPEN);
    });
    if (linked === SHIPPED || linked === OPEN) this.choose(linked);
  }

  /** The current source of statistics. @returns {TableStatistics | HeadStatistics} */
  get shown() {
    return this.table ?? this.measures;
  }

  // Short key of the source.
  get key() {
    return this.table ? this.choice.value + tableName(this.table.table) : "";
  }

  // Another run: does the table still fit?
  follow() {
    this.#offer();
    const { run } = this.measures;
    const fault = this.#fault || (this.#table && run ? unfit(this.#table, run) : "");
    this.fault = fault;
    const fits = this.#table && run && !fault ? this.#table : null;
    if (fits !== (this.table?.table ?? null)) this.table = fits && new TableStatistics(fits);
  }

  choose(/** @type {string} */ name) {
    this.#offer(name);
    this.selection.note({ [NOTE]: name });
    if (name === SHIPPED) this.#loading.run(async (fresh) => this.#enter(await fresh(shippedTable())));
    else {
      this.#loading.stop();
      const table = name === OPEN ? openTable.value : null;
      this.#enter(table, name === OPEN && !table ? `No table is open in the Corpus tab. ${OF_RUN}` : "");
    }
  }

  #enter(/** @type {HeadTable | null} */ table, fault = "") {
    [this.#table, this.#fault] = [table, fault];
    this.follow();
    if (this.measures.run) this.changed();
  }

  #offer(chosen = this.choice.value) {
    const open = openTable.value;
    const own = open && !isShipped(open) ? tableName(open) : "";
    const listed = [
      [HERE, this.measures.run?.grid ? "this picture" : "this text"],
      [SHIPPED, EXAMPLE],
    ];
    if (own || chosen === OPEN) listed.push([OPEN, own || "the table open in the Corpus tab"]);
    if (this.#offered !== String(listed))
      this.choice.replaceChildren(...options(/** @type {[string, string][]} */ (listed)));
    [this.#offered, this.choice.value] = [String(listed), chosen];
  }
}
