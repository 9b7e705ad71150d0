// Above the atlas: which statistic is looked at, in which order the heads stand, and which are searched for.

import { el } from "../core/dom.js";
import { EXAMPLES, matching, understand } from "./head_filter.js";
import { MAP_CHANGE, measure, STATISTICS } from "./head_statistics.js";

const BY_LAYER = "layer";
const HINT = "Dims the heads that do not match; Enter goes to the next one that does.";

// By value, unknown ones last, equal ones by layer and head.
export function rank(heads, lowest) {
  const sign = lowest ? 1 : -1;
  return heads.toSorted((a, b) =>
    a.value == null || b.value == null ? (a.value == null) - (b.value == null) : sign * (a.value - b.value),
  );
}

export class Order {
  #listeners = new Set();

  constructor(selection, measures) {
    Object.assign(this, { selection, measures, matched: null });
    this.choice = el("select", { id: "viz-statistic", onchange: () => this.#chosen() });
    this.direction = el(
      "select",
      { id: "viz-order", title: "By the statistic, or by layer and head", onchange: () => this.#chosen() },
      ...Object.entries({ [BY_LAYER]: "By layer and head", highest: "Highest first", lowest: "Lowest first" }).map(
        ([value, words]) => el("option", { value }, words),
      ),
    );
    this.find = el("input", {
      id: "viz-find",
      type: "search",
      list: "viz-find-words",
      placeholder: "such as: previous token",
      autocomplete: "off",
      title: HINT,
      oninput: () => this.#search(),
      onkeydown: (event) => this.#next(event),
    });
    const words = el("datalist", { id: "viz-find-words" }, ...EXAMPLES.map((value) => el("option", { value })));
    this.said = el("p", { class: "viz-caption viz-order-said", role: "status" });
    const control = (label, node) => el("label", { class: "viz-control" }, el("span", {}, label), node);
    this.node = el(
      "div",
      { class: "viz-order" },
      control("Statistic", this.choice),
      control("Order", this.direction),
      control("Find heads", this.find),
      words,
      this.said,
    );
    measures.on(() => this.#learn());
    this.#options();
    // As the link has it.
    if (Object.hasOwn(STATISTICS, selection.stat)) this.choice.value = selection.stat;
    if (["highest", "lowest"].includes(selection.order)) this.direction.value = selection.order;
  }

  on(listener) {
    this.#listeners.add(listener);
  }

  get statistic() {
    return this.choice.value;
  }

  get lowest() {
    return this.direction.value === "lowest";
  }

  // Whether an order by the statistic is asked for, and whether it can be shown already.
  get asked() {
    return this.direction.value !== BY_LAYER;
  }

  get ranked() {
    return this.asked && this.measures.complete(this.statistic);
  }

  // Such as "entropy, highest first".
  get words() {
    return `${lower(measure(this.statistic).title)}, ${this.lowest ? "lowest" : "highest"} first`;
  }

  // All heads as they stand, row by row.
  heads() {
    const heads = this.measures.heads(this.statistic);
    return this.ranked ? rank(heads, this.lowest) : heads;
  }

  // Look at a statistic in an order, as if chosen by hand.
  show(statistic, direction) {
    this.choice.value = statistic;
    this.direction.value = direction;
    this.#chosen();
  }

  #chosen() {
    if (!this.measures.run) return;
    if (this.statistic === MAP_CHANGE) this.measures.compare();
    // A change needs a reference, which no link can bring back.
    this.selection.keep(this.statistic in STATISTICS ? { stat: this.statistic, order: this.direction.value } : {});
    this.#tell();
  }

  #learn() {
    this.#options();
    if (this.statistic === MAP_CHANGE && this.measures.comparable.maps && !this.measures.fault) this.measures.compare();
    this.#search();
  }

  // The statistics that can be chosen now.
  #options() {
    const names = this.measures.names();
    if (names.join() !== this.names) {
      const before = this.choice.value;
      const options = (all) => all.map((value) => el("option", { value }, measure(value).title));
      const changes = names.filter((name) => !(name in STATISTICS));
      this.choice.replaceChildren(...options(Object.keys(STATISTICS)));
      if (changes.length) this.choice.append(el("optgroup", { label: "Against the reference" }, ...options(changes)));
      this.choice.value = names.includes(before) ? before : names[0];
      this.names = names.join();
    }
  }

  // Which heads the words mean, once all that they ask for is known.
  #search() {
    const { run } = this.measures;
    if (!run) return;
    const asked = understand(this.find.value, { ...run, real: run.valid.filter(Boolean).length });
    this.matched = null;
    this.fault = asked?.fault ?? (asked ? this.#missing(asked.tests) : "");
    this.told = "";
    if (asked && !this.fault) {
      const value = (statistic, { layer, head }) => this.measures.value(statistic, layer, head);
      const { found, says } = matching(asked, this.measures.heads(this.statistic), value);
      this.matched = new Set(found.map(({ name }) => name));
      this.told = says;
    }
    this.#tell();
  }

  // Why a test cannot be answered yet.
  #missing(tests) {
    const { measures } = this;
    for (const { statistic } of tests) {
      if (statistic === MAP_CHANGE && !measures.comparable.maps)
        return "Keep a run of the same size and length as the reference first, below.";
      if (statistic === MAP_CHANGE && measures.fault) return measures.fault;
      if (statistic === MAP_CHANGE) measures.compare();
      if (!measures.complete(statistic))
        return `Searching after all layers are computed: ${this.#progress(statistic)} …`;
    }
    return "";
  }

  #progress(statistic) {
    return `layer ${this.measures.known(statistic)} of ${this.measures.run.nLayers}`;
  }

  #say() {
    const waiting = this.asked && !this.ranked;
    const failed = this.statistic === MAP_CHANGE ? this.measures.fault : "";
    const order =
      failed || (waiting ? `Ordering after all layers are computed: ${this.#progress(this.statistic)} …` : "");
    const said = [this.fault || this.told || HINT, order].filter(Boolean).join(" ");
    if (this.said.textContent !== said) this.said.textContent = said;
  }

  // To the next head that matches, in the order shown.
  #next(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || !this.matched?.size) return;
    event.preventDefault();
    const found = this.heads().filter(({ name }) => this.matched.has(name));
    const { layer, head } = found[(found.findIndex(({ name }) => name === this.selection.name) + 1) % found.length];
    this.selection.set({ layer, head });
  }

  #tell() {
    this.#say();
    for (const listener of this.#listeners) listener();
  }
}

// "On the previous token" within a sentence.
const lower = (title) => title[0].toLowerCase() + title.slice(1);
