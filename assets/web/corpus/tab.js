// The Corpus tab: what each head does over many texts, which head leads, and where it is strongest.

import { current } from "../core/app_state.js";
import { button, caption, control, controls, el, onTheme, onWidth, options } from "../core/dom.js";
import { keep, kept } from "../core/dataset.js";
import { itemOf, itemsOf, shippedTable, spreadOf, tableName } from "../views/head_tables.js";
import { sentenceOf } from "../core/latest.js";
import { known, View } from "../core/view.js";
import { headName } from "../views/cells.js";
import { saveRow } from "../views/save_row.js";
import { Comparison } from "./comparison.js";
import { ExampleList } from "./example_list.js";
import { HeadMap } from "./head_map.js";
import { HeadPlane } from "../views/head_plane.js";
import { RelationList } from "./relations.js";
import { fileOf } from "./requests.js";
import { RULE, roleOf, roleSaid } from "./roles.js";
import { SourcePanel } from "./source_panel.js";
import { changes, changeSaid, difference, headOf, ranked } from "./tables.js";

const USUAL = "previous";
const [STATISTIC, HEAD] = ["corpus.stat", "corpus.head"]; // in the link
const TABLE = "viz.corpus"; // the last table that was made, in the browser tab
const WHOLE = "Statistics and examples; this page opens it again";
const FAILED = 5; // texts whose fault is said

// Called by the page once; it needs no run, and asks for nothing before it is seen.
export function mount(/** @type {HTMLElement} */ root) {
  let seen = false;
  onWidth(root, () => {
    if (seen || !root.clientWidth) return;
    seen = true;
    open(root);
  });
}

async function open(/** @type {HTMLElement} */ root) {
  root.replaceChildren(el("p", { class: "viz-empty", role: "status" }, "Loading the example …"));
  try {
    const table = await shippedTable();
    known("vizCorpus", new CorpusTab(root, table, keptTable()));
  } catch (fault) {
    const again = button("Try again", () => open(root));
    root.replaceChildren(el("div", { class: "viz-alert", role: "alert" }, sentenceOf(fault), " ", again));
  }
}

/** @returns {HeadTable | null} */
const keptTable = () => JSON.parse(kept(TABLE) || "null");

class CorpusTab extends View {
  /** @type {HeadPlace} */
  chosen = { layer: 0, head: 0 };
  finding = el("p", { class: "viz-corpus-finding", role: "status", tabindex: -1 });
  over = el("p", { class: "viz-corpus-over" });
  failed = el("details", { class: "viz-corpus-failed", hidden: true });
  statistic = el("select", { id: "viz-corpus-statistic", onchange: () => this.#rank() });
  told = el("p", { class: "viz-readout", role: "status" });
  meaning = caption();
  map = new HeadMap(
    (place) => this.choose(place),
    (place) => this.#tell(place ?? this.chosen),
  );
  examples = new ExampleList();
  relations = new RelationList((place) => this.choose(place));
  plane = new HeadPlane((place) => this.choose(place), {
    ...{ title: "Heads placed by what they do", tab: "corpus", usual: { x: "special", y: "previous" } },
  });
  views = [this.plane];
  source = new SourcePanel((table) => {
    keep(TABLE, JSON.stringify(table));
    this.enter(table);
    if (document.activeElement?.tagName !== "TEXTAREA") this.finding.focus(); // which brings it into sight
  }, this.signal);
  comparison = new Comparison({
    changed: () => this.#rank(),
    choose: (place) => this.choose(place),
    read: (files) => this.source.read(files, (table) => this.comparison.against(table)),
  });

  /** `made` is the table that was there before a reload.
   * @param {HTMLElement} root @param {HeadTable} table @param {HeadTable | null} made */
  constructor(root, table, made) {
    super();
    this.table = table;
    const file = (/** @type {string} */ kind) => () => fileOf(this.table, kind);
    const heads = el(
      "section",
      { class: "viz-corpus-heads", "aria-label": "Heads over the texts" },
      ...[controls(control("Statistic:", this.statistic)), this.map.node, this.map.legend, this.told],
      ...[this.meaning, el("p", { class: "viz-caption viz-corpus-rule" }, RULE)],
      saveRow("Save the table", [
        ["CSV", "Every statistic of every head", file(".csv")],
        ["Parquet", WHOLE, file(".parquet")],
        ["JSON", WHOLE, file(".json")],
      ]),
    );
    const beside = [this.relations, this.examples, this.plane, this.comparison];
    this.node = el(
      "div",
      { class: "viz-corpus" },
      el("div", { class: "viz-corpus-top" }, this.finding, this.over, this.failed),
      el(
        "div",
        { class: "viz-corpus-columns" },
        el("div", { class: "viz-corpus-column" }, heads, this.source.node),
        el("div", { class: "viz-corpus-column" }, ...beside.map(({ node }) => node)),
      ),
    );
    root.replaceChildren(this.node);
    onTheme(() => this.draw(), this.signal);
    for (const name of [STATISTIC, HEAD]) current.selection.restored(name, () => this.#restore(), this.signal);
    if (made) this.comparison.keep(table);
    this.enter(made ?? table, headOf(made ?? table, current.selection.noted(HEAD)));
  }

  /** Show another table by the same statistic, and a head or the one that leads in it.
   * @type {(table: HeadTable, place?: HeadPlace | null) => void} */
  enter(table, place = null) {
    const before = this.statistic.value || current.selection.noted(STATISTIC) || USUAL;
    this.table = table;
    this.comparison.keep(table);
    const titles = Object.entries(table.words).filter(([name]) => table.n_texts[name]);
    this.statistic.replaceChildren(...options(titles.map(([name, { title }]) => [name, title])));
    const usual = titles.some(([name]) => name === USUAL) ? USUAL : titles[0][0];
    this.statistic.value = titles.some(([name]) => name === before) ? before : usual;
    this.#fail();
    this.relations.show(table);
    this.#rank(place);
  }

  choose(/** @type {HeadPlace} */ place) {
    this.chosen = place;
    const [leads] = ranked(this.table.arrays[this.statistic.value], 1);
    const usual = leads && headName(leads) === headName(place);
    current.selection.note({ [HEAD]: usual ? "" : headName(place) });
    this.map.mark(place.layer, place.head);
    this.#tell(place);
    this.examples.show(this.table, place);
    this.plane.show(this.table, place);
    this.painted(`${this.statistic.value}:${headName(place)}:${this.table.about.source}`);
  }

  #restore() {
    const { selection } = current;
    this.statistic.value = selection.noted(STATISTIC) || USUAL;
    this.#rank(headOf(this.table, selection.noted(HEAD)));
  }

  // The statistic, or what is compared with, is another: the head that leads by it, or that one.
  #rank(/** @type {HeadPlace | null} */ place = null) {
    const { table, statistic } = this;
    const name = statistic.value;
    current.selection.note({ [STATISTIC]: name === USUAL ? "" : name });
    this.comparison.show(table, name);
    const other = this.comparison.of(table, name);
    const minus = other ? `, minus ${tableName(other)}` : "";
    const spread = table.n_texts[name] > 1 ? ` ± is the standard deviation over ${itemOf(table)}s.` : "";
    this.over.textContent = `Measured over ${tableName(table)}${minus}.${spread}`;
    const found = other ? changes(table, other, name) : [];
    const { title, meaning, over, edge } = table.words[name];
    this.finding.textContent = other ? changeSaid(found, title) : table.says[name];
    this.meaning.textContent = `${title}: ${meaning}. ${over} ${edge}`.trim();
    this.#fill();
    const [leads] = other ? found.map(({ at }) => at) : ranked(table.arrays[name], 1);
    this.choose(place ?? leads ?? { layer: 0, head: 0 });
  }

  draw() {
    super.draw();
    this.#fill();
  }

  #fill() {
    const { table } = this;
    const name = this.statistic.value;
    const other = this.comparison.of(table, name);
    this.map.fill({
      values: other ? difference(table, other, name) : table.arrays[name],
      change: other !== null,
      title: table.words[name].title,
      about: (place) => this.#said(place),
      label: (place) => roleOf(table, place)?.label ?? "",
    });
  }

  #tell(/** @type {HeadPlace} */ place) {
    this.told.textContent = this.#said(place);
  }

  #said(/** @type {HeadPlace} */ place) {
    return `${spreadOf(this.table, this.statistic.value, place)} ${roleSaid(this.table, place)}`.trim();
  }

  // Texts that could not be measured are listed, not lost.
  #fail() {
    const { failures, counts } = this.table;
    const [, , failed] = counts;
    const what = itemOf(this.table) === "text" ? "Text" : "Picture";
    this.failed.hidden = !failed;
    this.failed.replaceChildren(
      el("summary", {}, `${itemsOf(this.table, failed)} could not be measured`),
      el("ul", {}, ...failures.slice(0, FAILED).map(([item, why]) => el("li", {}, `${what} ${item + 1}: ${why}`))),
    );
  }
}
