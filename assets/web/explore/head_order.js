// Above the atlas: which statistic is looked at, in which order the heads stand, and which are searched for.

import { amount, button, caption, el, options } from "../core/dom.js";
import { Emitter } from "../core/emitter.js";
import { write } from "./found_heads.js";
import { EXAMPLES, matching, phrases, understand } from "./head_filter.js";
import { isRole, MAP_CHANGE, rank } from "./head_statistics.js";
import { strongest } from "./pair_links.js";
import { pairAsked } from "./pair_search.js";

const ORDERS = { layer: "By layer and head", highest: "Highest first", lowest: "Lowest first" };
const PAIR_EXAMPLE = "it -> animal";
const STRONG = 0.1; // the least weight of a head that links a pair
const NO_PRONOUN = "This text has no pronoun; he, she, it, they and their forms count, in English only.";
const HINT = "Matching heads stay bright; Enter goes to the next one.";

/** @extends {Emitter<[]>} */
export class HeadOrder extends Emitter {
  #names = "";
  /** @type {import("./found_heads.js").Sentence} */ #told = []; // what was found, or a fault
  /** @type {Set<string> | null} */ matched = null;
  choice = el("select", { id: "viz-statistic", onchange: () => this.#chosen() });
  direction = el(
    "select",
    { id: "viz-order", title: "By the statistic, or by layer and head", onchange: () => this.#chosen() },
    ...options(Object.entries(ORDERS)),
  );
  find = el("input", {
    id: "viz-find",
    type: "search",
    list: "viz-find-words",
    placeholder: `e.g. ${PAIR_EXAMPLE}, previous token`,
    autocomplete: "off",
    title: HINT,
    oninput: () => this.#search(true),
    onkeydown: (event) => this.#next(event),
  });
  chips = el("div", { class: "viz-order-chips", role: "group", "aria-label": "Find heads with one click" });
  #offered = "";
  what = caption();
  said = el("p", { class: "viz-caption viz-order-said", role: "status" });

  /** @param {PageSelection} selection @param {HeadStatistics} measures @param {PairLinksView} pair */
  constructor(selection, measures, pair) {
    super();
    this.pair = pair;
    this.selection = selection;
    this.measures = measures;
    /** @type {(label: string, node: HTMLElement) => HTMLElement} */
    const control = (label, node) => el("label", { class: "viz-control" }, el("span", {}, label), node);
    this.node = el(
      "div",
      { class: "viz-order" },
      ...[control("Statistic", this.choice), control("Order", this.direction)],
      this.what,
      control("Find heads", this.find),
      ...[
        el(
          "datalist",
          { id: "viz-find-words" },
          ...[PAIR_EXAMPLE, ...EXAMPLES].map((value) => el("option", { value })),
        ),
        this.chips,
        this.said,
      ],
    );
    measures.on(() => this.#learn());
    pair.on(() => pairAsked(this.find.value, []) && this.#search());
    if (["highest", "lowest"].includes(selection.order)) this.direction.value = selection.order; // as the link has it
  }

  get statistic() {
    return this.choice.value;
  }

  get lowest() {
    return this.direction.value === "lowest";
  }

  // Whether an order by the statistic is asked for, and whether it can be shown already.
  get asked() {
    return this.direction.value !== "layer";
  }

  get ranked() {
    return this.asked && this.measures.complete(this.statistic);
  }

  // All heads in displayed order, row by row.
  heads() {
    const heads = this.measures.heads(this.statistic);
    return this.ranked ? rank(heads, this.lowest) : heads;
  }

  #chosen() {
    if (!this.measures.run) return;
    if (this.statistic === MAP_CHANGE) this.measures.compare();
    this.selection.keep({ stat: this.statistic, order: this.direction.value });
    this.#tell();
  }

  #learn() {
    const { measures } = this;
    this.#options();
    if (this.statistic === MAP_CHANGE && measures.comparable.maps && !measures.fault) measures.compare();
    this.#search();
  }

  // The statistics that can be chosen now, and that of the link where it is one of them.
  #options() {
    const { measures, selection } = this;
    const names = measures.names();
    if (String(names) === this.#names) return;
    this.choice.replaceChildren(...options(names.map((name) => [name, measures.text(name).title])));
    this.choice.value = names.includes(selection.stat) ? selection.stat : names[0];
    this.#names = String(names);
  }

  // Heads that match the search, once everything it needs is known.
  #search(typed = false) {
    const { measures } = this;
    const { run, own } = measures;
    if (!run) return;
    const { nLayers, nHeads, tokens } = run;
    const paired = run.segments.includes(1);
    this.#offer(run, paired);
    const pair = pairAsked(this.find.value, tokens);
    if (pair) return this.#link(pair, typed);
    const shown = run.visible(measures.kept.hide).map((at) => tokens[at]);
    const asked = understand(this.find.value, { nLayers, nHeads, tokens: shown, statistics: own, paired });
    this.matched = null;
    const fault = asked ? ("fault" in asked ? asked.fault : this.#missing(asked.tests)) : "";
    this.#told = fault ? [fault] : [];
    if (asked && !("fault" in asked) && !fault) {
      const heads = measures.heads(this.statistic);
      const { found, says } = matching(asked, heads, (name, { layer, head }) => measures.value(name, layer, head));
      this.matched = new Set(found.map(({ name }) => name));
      const { hide, renorm } = measures.kept;
      const asItRan = (hide || renorm) && asked.tests.some(({ statistic }) => isRole(statistic));
      this.#told = asItRan ? [...says, " Measured on all tokens, in the maps as they ran."] : says;
    }
    this.#tell();
  }

  /** The heads that link two tokens, which are chosen as they are typed.
   * @type {(asked: AskedPair | { fault: string }, typed: boolean) => void} */
  #link(asked, typed) {
    [this.matched, this.#told] = [null, "fault" in asked ? [asked.fault] : []];
    const hidden = "fault" in asked ? undefined : this.#hidden(asked);
    if (hidden !== undefined)
      this.#told = [`“${hidden}” is a special token, and special tokens are hidden; show them first.`];
    else if (!("fault" in asked)) {
      if (typed) this.selection.set(asked);
      const { query, key } = this.selection;
      if (query !== asked.query || key !== asked.key) return this.#tell(); // another pair was chosen since
      const found = strongest(this.pair.of(asked), Infinity).filter(({ weight }) => weight >= STRONG);
      this.matched = new Set(found.map(({ layer, head }) => `${layer}.${head}`));
      const many = found.length === 1 ? "1 head puts" : `${found.length || "No"} heads put`;
      this.#told = [`${many} at least ${STRONG} of the query's weight on that key.`];
    }
    this.#tell();
  }

  // Phrases to click on: a second click on one takes it back.
  #offer(/** @type {Run} */ run, /** @type {boolean} */ paired) {
    if (run.key !== this.#offered) {
      this.#offered = run.key;
      this.chips.replaceChildren(...phrases({ ...run, paired }).map((words) => button(words, () => this.#ask(words))));
    }
    for (const chip of this.chips.children) chip.ariaPressed = String(chip.textContent === this.find.value);
  }

  #ask(/** @type {string} */ words) {
    this.find.value = this.find.value === words ? "" : words;
    this.#search(true);
  }

  /** The name of the one of two tokens that is hidden. @type {(asked: AskedPair) => string | undefined} */
  #hidden({ query, key }) {
    const { run } = this.measures;
    const hidden = this.selection.hide ? [query, key].find((token) => run?.special[token]) : undefined;
    return hidden === undefined ? undefined : run?.tokens[hidden];
  }

  // Why a test cannot be answered yet.
  #missing(/** @type {Test[]} */ tests) {
    const { measures } = this;
    for (const { statistic, says } of tests) {
      const added = statistic === "special" || says.includes(", here “");
      if (added && measures.kept.hide) return "Special tokens are hidden; show them to find heads that look at them.";
      if (statistic === MAP_CHANGE && !measures.comparable.maps)
        return "First choose a run of a model of the same size under “against”.";
      if (statistic === MAP_CHANGE && measures.fault) return measures.fault;
      if (statistic === MAP_CHANGE) measures.compare();
      if (isRole(statistic)) measures.roles.ask(statistic);
      if (isRole(statistic) && measures.roles.fault) return measures.roles.fault;
      if (statistic === "role:pronoun" && measures.roles.of(statistic).queries === 0) return NO_PRONOUN;
      if (!measures.complete(statistic)) return `Searching ${this.#progress(statistic)}`;
    }
    return "";
  }

  #progress(/** @type {string} */ statistic) {
    const { measures } = this;
    return `once all layers are computed: layer ${measures.known(statistic)} of ${measures.run?.nLayers} …`;
  }

  // To the next head that matches, in the order shown.
  #next(/** @type {KeyboardEvent} */ event) {
    const { matched } = this;
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || !matched?.size) return;
    event.preventDefault();
    const pair = pairAsked(this.find.value, this.measures.run?.tokens ?? []);
    const linked = pair && !("fault" in pair) ? strongest(this.pair.of(pair), matched.size) : null; // the strongest first
    const named = linked?.map((one) => ({ ...one, name: `${one.layer}.${one.head}` }));
    const found = named ?? this.heads().filter(({ name }) => matched.has(name));
    const { layer, head } = found[(found.findIndex(({ name }) => name === this.selection.name) + 1) % found.length];
    this.selection.set({ layer, head });
  }

  // What the statistic is, and over what.
  #explain() {
    const { meaning, unit, edge, over, most } = this.measures.text(this.statistic);
    const limit = most === 1 ? "" : `In this run at most ${amount(most, 2)} ${unit}.`;
    const apart = this.measures.kept.words ? "Over tokens; sub-words are not merged." : "";
    const said = [`${meaning[0].toUpperCase()}${meaning.slice(1)}.`, over, limit, edge, apart];
    this.what.textContent = said.filter(Boolean).join(" ");
  }

  #tell() {
    this.#explain();
    const failed = this.statistic === MAP_CHANGE ? this.measures.fault : "";
    const order = failed || (this.asked && !this.ranked ? `Ordering ${this.#progress(this.statistic)}` : "");
    write(this.said, [...(this.#told.length ? this.#told : [HINT]), order && ` ${order}`], ({ layer, head }) =>
      this.selection.set({ layer, head }),
    );
    this.tell();
  }
}
