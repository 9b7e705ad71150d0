// Two tables: another corpus or another checkpoint beside the shown one, and the heads that differ most.

import { button, caption, control, controls, el, options, rowWith } from "../core/dom.js";
import { tableName } from "../views/head_tables.js";
import { headName } from "../views/cells.js";
import { section, table as tableOf } from "../views/headed.js";
import { filePicker } from "./source_panel.js";
import { changes, decimalsOf, incomparable, shown, signed } from "./tables.js";

const [LISTED, KEPT] = [10, 6]; // heads of the list; tables that the page holds
const NOTHING = "nothing";
const ABOUT =
  "Measure other texts, or the same texts on another model: the tables shown before can then be chosen here. " +
  "Or open a file. A difference is this table minus the other.";

export class Comparison {
  /** @type {HeadTable[]} the latest first */
  tables = [];
  /** @type {HeadTable | null} */
  other = null;
  select = el("select", { id: "viz-corpus-other", onchange: () => this.#choose() });
  said = el("p", { class: "viz-corpus-said", role: "status" });
  list = el("div", { class: "viz-corpus-scroll", tabindex: 0, role: "region", "aria-label": "Heads that differ most" });

  /** @param {{ changed: () => unknown, choose: (place: HeadPlace) => unknown, read: (files: File[]) => unknown }} acts */
  constructor(acts) {
    this.acts = acts;
    const open = filePicker("Open a file …", "viz-corpus-other-file", acts.read);
    this.node = section(
      ...["viz-corpus-comparison", "Compare two tables", "Compare two tables"],
      ...[controls(control("Compare with:", this.select), ...open), caption(ABOUT), this.said, this.list],
    );
    this.#offer();
  }

  /** A table that can be compared with from now on. @param {HeadTable} table */
  keep(table) {
    this.tables = [table, ...this.tables].slice(0, KEPT);
    if (this.other && !this.tables.includes(this.other)) this.other = null;
    this.#offer();
  }

  /** Compare with that one. @param {HeadTable | null} other */
  against(other) {
    this.other = other;
    if (other && !this.tables.includes(other)) this.tables = [other, ...this.tables].slice(0, KEPT);
    this.#offer();
    this.acts.changed();
  }

  /** The table with which this one is compared by that statistic; null where it is not, or cannot be.
   * @type {(table: HeadTable, statistic: string) => HeadTable | null} */
  of(table, statistic) {
    const { other } = this;
    return other && other !== table && !incomparable(table, other, statistic) ? other : null;
  }

  /** @type {(table: HeadTable, statistic: string) => void} */
  show(table, statistic) {
    this.#offer(table);
    const other = this.of(table, statistic);
    const found = other ? changes(table, other, statistic, LISTED) : [];
    const decimals = decimalsOf(Math.abs(found[0]?.change ?? 0));
    this.said.textContent = this.other && !other ? incomparable(table, this.other, statistic) : "";
    this.list.hidden = !found.length;
    this.list.replaceChildren(
      tableOf(
        "viz-corpus-changes",
        ["Head", "Here", "There", "Difference"],
        found.map(({ at, now, was, change }) =>
          rowWith(
            { "data-head": headName(at) },
            button(headName(at), () => this.acts.choose(at)),
            ...[shown(now, decimals), shown(was, decimals), signed(change, decimals)],
          ),
        ),
      ),
    );
  }

  #choose() {
    this.other = this.tables[Number(this.select.value)] ?? null;
    this.acts.changed();
  }

  #offer(/** @type {HeadTable | null} */ table = null) {
    const others = this.tables.map((each, at) => /** @type {const} */ ([String(at), tableName(each)]));
    const offered = others.filter((_, at) => this.tables[at] !== table);
    this.select.replaceChildren(...options([["", NOTHING], ...offered]));
    if (this.other === table) this.other = null;
    this.select.value = this.other ? String(this.tables.indexOf(this.other)) : "";
  }
}
