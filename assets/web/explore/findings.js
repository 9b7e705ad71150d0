// The answer first: the chosen pair as one sentence, a word to swap, and what else is worth a look.

import { codesOf } from "../core/changed_run.js";
import { button, el, onWidth, rounded } from "../core/dom.js";
import { runText } from "../core/form.js";
import { isChanged } from "../core/run.js";
import { oneStop } from "../views/one_stop.js";
import { signedText } from "./legend.js";
import { quoted, toldApart } from "../core/token_names.js";
import { View } from "../core/view.js";
import { partSaid, placeSaid } from "./answers.js";

const SWITCHES = ["hide", "renorm", "words"]; // which findings do not follow

export class FindingsView extends View {
  #latest = this.latest((sentence) => this.chips.replaceChildren(el("span", { class: "viz-caption" }, sentence)));
  /** @type {Findings | null} */ #found = null;
  /** @type {Explained | null} */ #answer = null;
  /** @type {Explained | null} */ #effect = null;
  #of = -1; // the token whose state the answer is of
  #rank = ""; // of what was removed, among all heads or words
  said = el("h2", { class: "viz-finding", "aria-live": "polite" });
  actions = el("span", { class: "viz-finding-actions" });
  chips = el("p", { class: "viz-finding-chips" });

  others = button("", () => this.#fit(this.others.ariaExpanded !== "true"), { hidden: true, "aria-expanded": "false" });

  /** @param {PageSelection} selection @param {PairLinksView} pair @param {Reference} reference */
  constructor(selection, pair, reference) {
    super(selection);
    this.pair = pair;
    this.reference = reference;
    const row = el(
      "div",
      { class: "viz-finding-row", role: "group", "aria-label": "Findings of this run" },
      this.chips,
      this.others,
    );
    this.node = el("section", { class: "viz-findings", "aria-label": "What stands out" }, oneStop(row));
    onWidth(this.chips, () => this.#fit());
    pair.on(() => this.#say(), this.signal);
    selection.on((changed) => {
      if (SWITCHES.some((name) => changed.has(name))) this.#qualify();
      this.#say();
    }, this.signal);
  }

  // Another run is on its way to the page: what is here is of the one before, and keeps only its room.
  clear() {
    super.clear();
    this.#latest.stop();
    [this.run, this.#found, this.#answer, this.#effect, this.#rank] = [null, null, null, null, ""];
    for (const part of [this.said, this.actions, this.chips]) part.classList.add("viz-stale");
  }

  // Show what stands out in a run; a page without a choice goes to the first finding.
  show(/** @type {Run} */ run) {
    [this.run, this.#found] = [run, null];
    for (const part of [this.actions, this.chips]) part.classList.remove("viz-stale");
    this.chips.replaceChildren(el("span", { class: "viz-caption" }, "Looking for what stands out …"));
    this.#offer(run);
    this.#say();
    return this.#latest.run(async (fresh) => {
      this.#found = /** @type {Findings} */ (await fresh(run.json("findings")));
      this.#list(this.#found);
      this.#open(run, this.#found);
      this.#say();
      this.painted(run.key);
    });
  }

  #list(/** @type {Findings} */ { sentence, found }) {
    if (!found.length) return this.chips.replaceChildren(el("span", { class: "viz-caption" }, sentence));
    const chips = found.map((finding) => this.#chip(finding));
    this.chips.replaceChildren(el("span", { class: "viz-caption viz-finding-of" }), ...chips);
    this.#qualify();
    this.weigh(this.#answer, this.#effect, this.#of, this.#rank);
  }

  // Choose like `opening_of` for a short text.
  #open(/** @type {Run} */ { key: run }, /** @type {Findings} */ { found }) {
    for (const { layer, head, query, key } of found)
      if (query != null && key != null) return this.selection.openOn(run, { layer, head, query, key });
  }

  // If the view is filtered, say that the findings are over all tokens.
  #qualify() {
    const whole = this.selection.kept === "all";
    const of = this.chips.querySelector(".viz-finding-of");
    if (of) of.textContent = whole ? "Worth a look:" : "Worth a look (all tokens):";
    const as = whole ? "" : " Measured on all tokens, as the model ran.";
    for (const chip of this.chips.querySelectorAll("button")) chip.title = `${chip.dataset.sentence}${as}`;
  }

  // Beside where a head looks: what it brought to the answer that is shown.
  /** `of` is the token whose state is told: what a head brings to it says nothing of another token's link.
   * `rank` says that of what was removed.
   * @type {(found: Explained | null, effect?: Explained | null, of?: number, rank?: string) => void} */
  weigh(found, effect = null, of = -1, rank = "") {
    [this.#answer, this.#effect, this.#of, this.#rank] = [found, effect, of, rank];
    this.#say();
    const chips = this.chips.querySelectorAll("button");
    for (const [at, { layer, head, query, chip }] of (this.#found?.found ?? []).entries()) {
      const one = chip.startsWith(`${layer}.${head} `) && (of < 0 || query === of); // not of several heads
      const brought = found && one && el("small", {}, this.#brings(found, layer, head));
      chips[at]?.replaceChildren(el("span", {}, chip), ...(brought ? [brought] : []));
    }
    this.#fit();
  }

  // One line of whole chips, and how many more there are.
  #fit(open = this.others.ariaExpanded === "true") {
    this.chips.classList.remove("viz-open");
    const [first, ...rest] = /** @type {HTMLElement[]} */ ([...this.chips.children]);
    const below = rest.filter((chip) => chip.offsetTop > first.offsetTop + first.offsetHeight).length;
    this.chips.classList.toggle("viz-open", open);
    this.others.hidden = !below;
    this.others.ariaExpanded = String(open);
    this.others.textContent = open ? "Fewer" : `${below} more`;
  }

  #chip(/** @type {Finding} */ { layer, head, query, key, chip, sentence }) {
    const place = { layer, head, ...(query != null && { query }), ...(key != null && { key }) };
    const more = { class: "viz-small viz-finding-chip", "data-sentence": sentence };
    return button(chip, () => this.#go(place), more);
  }

  // Go where a finding is; of a token that is hidden, special ones are shown again.
  #go(/** @type {{ layer: number, head: number, query?: number, key?: number }} */ place) {
    const { query, key, hide } = { ...this.selection, ...place };
    const hidden = hide && [query, key].some((token) => this.run?.special[token]);
    this.selection.set({ ...place, ...(hidden && { hide: false }) });
  }

  // Offer to swap one word for its counterpart, keeping this run as the reference.
  #offer(/** @type {Run} */ run) {
    const { swap, link } = run;
    if (!swap || !link.a) return this.actions.replaceChildren();
    const [old, twin] = swap;
    const more = { class: "viz-small viz-swap", title: `Run the same text with ${quoted(twin)} and compare` };
    this.actions.replaceChildren(button(`Swap ${old} → ${twin}`, () => this.#swap(run, old, twin), more));
  }

  #swap(/** @type {Run} */ run, /** @type {string} */ old, /** @type {string} */ twin) {
    const text = run.link.a.replace(old, twin);
    this.reference.hold(text);
    runText(text);
  }

  /** "brings 4%": the share of one head. @type {(found: Explained, layer: number, head: number) => string} */
  #brings(found, layer, head) {
    return this.#removed(layer, head)
      ? " removed"
      : ` brings ${partSaid(found.heads[layer][head] ?? 0, { ...found, apart: "" })}`; // of what the answer tells;
  }

  /** @type {(layer: number, head: Head) => boolean} */
  #removed(layer, head) {
    return codesOf(this.run).includes(`h${layer}.${head}`);
  }

  // The sentence of what is chosen: that of a finding, or the same words for any other pair.
  #say() {
    const said = this.run && this.#sentence(this.run);
    if (!said) return;
    this.said.classList.remove("viz-stale");
    this.said.replaceChildren(...said);
  }

  /** Null while the pair is on its way. @type {(run: Run) => (string | Node)[] | null} */
  #sentence(run) {
    const { layer, head, query, key, hide, renorm } = this.selection;
    if (run.special.every(Boolean)) return [EMPTY];
    const link = this.pair.chosen;
    const units = run.shown({ hide: false, words: this.selection.words });
    const names = units.map(({ name }) => name);
    const [from, to] = [query, key].map((token) => toldApart(names, units.places[token], String, token));
    const patches = this.#found?.found.find(
      (one) => run.grid && one.layer === layer && one.head === head && one.query === query,
    );
    const hidden = hide && [query, key].find((token) => run.special[token]);
    if (typeof hidden === "number") return [`${quoted(run.tokens[hidden])} is chosen but hidden.`];
    const cut = link && Number.isNaN(link.weight) && link.was != null; // the sentence says all of it
    const why = cut ? "" : this.pair.incomparable;
    const removed = this.#removed(layer, head);
    const told = typeof head === "number" && !(removed && run.changed?.changes.length === 1); // which is all of it
    const place = this.#answer && told ? placeSaid(this.#answer, this.#effect, layer, head, removed) : "";
    const more = [why, place, this.#rank].filter(Boolean).map((each) => ` ${each}`);
    if (patches && !isChanged(this.selection)) return [patches.sentence, ...more];
    if (link) return [...sentence({ ...link, removed }, from, to, over({ hide, renorm })), ...more];
    if (typeof head === "number") return null;
    return [`${quoted(from)} and ${quoted(to)} in several heads of layer ${layer}`];
  }
}

const EMPTY = "This text has only special tokens, so there is nothing to find. Type some words.";

/**
 * What the attention is over, if rows are not as they ran.
 * @type {(kept: { hide: boolean, renorm: boolean }) => string}
 */
const over = ({ hide, renorm }) => (renorm ? " on the tokens shown" : hide ? ", special tokens hidden" : "");

const timesSaid = (/** @type {number} */ ratio) =>
  ratio < 0.1 ? "far less than average" : `${ratio.toFixed(1)} times the average`;

/** "Head 3.1 links it to animal: 0.64 of its attention, 5.0 times the average."
 * @type {(link: HeadLink & { removed?: boolean }, query: string, key: string, over?: string) => (string | Node)[]} */
export function sentence({ layer, head, weight, ratio, was, removed }, query, key, over = "") {
  const name = `Head ${layer}.${head}${removed ? " (removed)" : ""}`;
  const from = el("bdi", { class: "viz-query-name" }, query);
  const to = el("bdi", { class: "viz-key-name" }, key);
  if (Number.isNaN(weight) && was != null)
    return [`${name}: `, from, " may not look at ", to, ` (was ${rounded(was)}).`];
  if (Number.isNaN(weight)) return [`${name}: `, from, " may not look at ", to, " in this run."];
  const times = ratio == null ? "" : `, ${timesSaid(ratio)}`;
  const adds = removed ? "; its output is now zero." : "."; // its weights run on
  if (was != null) {
    const as = removed && isSame(weight - was) ? ", as before" : ` (was ${rounded(was)}, ${changeSaid(weight - was)})`;
    return [`${name}: `, from, " gives ", to, ` ${rounded(weight)} of its attention${over}${as}${adds}`];
  }
  if (ratio != null && ratio >= 2 && weight >= 0.1)
    return [`${name} links `, from, " to ", to, `: ${rounded(weight)} of its attention${over}${times}${adds}`];
  return [`${name}: `, from, " gives ", to, ` ${rounded(weight)} of its attention${over}${times}${adds}`];
}

const isSame = (/** @type {number} */ change) => Math.abs(change) < 5e-5; // as far as weights are printed anywhere
/** A change of a weight, with its sign. @type {(change: number) => string} */
export const changeSaid = (change) => (isSame(change) ? "unchanged" : signedText(change));
