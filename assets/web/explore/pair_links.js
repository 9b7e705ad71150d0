// Heads that link one token to another: every head's weight on that pair, and its selectivity.

import { button, el, rounded } from "../core/dom.js";
import { switched } from "../core/run.js";
import { quoted } from "../core/token_names.js";
import { View } from "../core/view.js";
import { section } from "../views/headed.js";
import { signedText } from "./legend.js";

/** @typedef {{ layer: number, head: number, weight: number, ratio: Maybe, was: Maybe }} HeadLink of one head, on the
 *   chosen pair; `was` is its weight in the reference */

const USUAL = "Weight, and its ratio to the mean weight that all queries give this key.";
const CHANGED = "Weight now, and its change from the reference; the largest change first.";
const RELOADING = ["query", "key", "hide", "renorm", "words"];
const PAUSE = 40; // milliseconds that a pair stays chosen, before the server is asked
const LISTED = 7;
const SELECTIVE = 3; // from this ratio on a head singles the key out
const BROAD = 2; // up to this one, other queries give the key nearly as much

/** Emits when the link of the chosen head is known, or changes. @extends {View<[]>} */
export class PairLinksView extends View {
  #latest = this.latest((sentence) => this.#fail(sentence));
  /** @type {HeadLink[]} */ links = []; // by layer and head, of the pair that is told
  /** @type {Run | null} */ #against = null;
  #of = ""; // which pair these are of
  /** @type {Compared | null} */ compared = null; // with the reference, where there is one
  /** @type {Compared | null} */ #alignment = null; // the last that came, whatever is chosen
  #alignmentOf = "";
  title = el("h3");
  what = el("p", { class: "viz-caption" });
  list = el("ol", { class: "viz-pair-list" });
  says = el("p", { class: "viz-caption", role: "status" });

  /** @param {PageSelection} selection @param {HeadStatistics} measures */
  constructor(selection, measures) {
    super(selection);
    this.measures = measures;
    this.node = section("viz-pair", "Heads that link the chosen pair", this.title, this.what, this.list, this.says);
    measures.on(() => {
      const { other, run } = this.measures;
      if (other !== this.#against && this.run && this.run === run) this.load(); // another reference, or none any more
    }, this.signal);
    selection.on((changed) => {
      if (!this.run) return;
      if (RELOADING.some((name) => changed.has(name))) this.load();
      else if (changed.has("layer") || changed.has("head")) this.#mark();
    }, this.signal);
  }

  // Another run is on its way to the page, in which places may be chosen that the one before has not.
  clear() {
    super.clear();
    this.#latest.stop();
    this.run = null;
    this.behind();
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    return this.load();
  }

  // Ask for the chosen pair, once it stays chosen.
  load() {
    const { query, key, kept } = this.selection;
    const run = this.run;
    if (!run) return;
    const of = `${run.key}:${kept}:${query}:${key}`;
    const reference = this.measures.other;
    this.#entitle(run, reference !== null);
    const hidden = [query, key].find((token) => this.selection.hide && run.special[token]);
    if (hidden !== undefined) {
      this.#latest.stop();
      return this.#fail(
        `${quoted(run.tokens[hidden])} is a special token, and special tokens are hidden; show them first.`,
      );
    }
    const cell = `query=${query}&key=${key}&${switched(this.selection)}`;
    this.#against = reference;
    const before = reference ? `compared?reference=${reference.key}&${cell}` : "";
    this.behind();
    return this.#latest.run(
      async (fresh) => {
        const found = /** @type {PairLinks} */ (await fresh(run.json(`pair?${cell}`)));
        const compared = before ? /** @type {Compared} */ (await fresh(run.json(before))) : null;
        [this.links, this.#of] = [linksOf(found, compared?.cell?.was), of];
        this.compared = compared;
        if (compared && reference) [this.#alignment, this.#alignmentOf] = [compared, `${run.key}:${reference.key}`];
        this.#draw(run, key);
        this.tell();
      },
      { pause: PAUSE },
    );
  }

  /** The links of a pair; none while they are on their way. @type {(pair: { query: number, key: number }) => HeadLink[]} */
  of({ query, key }) {
    return this.#of === `${this.run?.key}:${this.selection.kept}:${query}:${key}` ? this.links : [];
  }

  /** Matching tokens of two runs; null while unknown.
   * @type {(run: Run, reference: Run) => Compared | null} */
  alignment(run, reference) {
    return this.#alignmentOf === `${run.key}:${reference.key}` ? this.#alignment : null;
  }

  /** The link of the head that is shown; undefined while the pair is on its way, or of fused heads.
   * @returns {HeadLink | undefined} */
  get chosen() {
    const { layer, head, query, key } = this.selection;
    return this.of({ query, key }).find((link) => link.layer === layer && link.head === head);
  }

  /** Why the pair has no change to tell, though there is a reference of as many heads; "" where it has one. */
  get incomparable() {
    return this.compared?.cell ? this.compared.why : "";
  }

  /** @type {(run: Run, changed: boolean) => void} */
  #entitle(run, changed) {
    const [from, to] = [this.selection.query, this.selection.key].map((token) => shownName(run, this.selection, token));
    const title = changed ? "What changed for " : "Which heads link ";
    this.title.replaceChildren(title, el("bdi", {}, from), " → ", el("bdi", {}, to));
  }

  // The largest changes; if there are none, why, and the current values.
  #draw(/** @type {Run} */ run, /** @type {number} */ key) {
    const moved = mostChanged(this.links, LISTED);
    const changed = moved.length > 0;
    this.#entitle(run, changed);
    const why = changed ? "" : (this.compared?.why ?? "");
    this.what.textContent = [why, changed ? CHANGED : USUAL, shownSentence(this.selection)].filter(Boolean).join(" ");
    const ranked = changed ? moved : strongest(this.links, LISTED);
    const most = Math.max(...ranked.map(({ weight }) => weight || 0), 0);
    this.list.replaceChildren(...ranked.map((link) => this.#line(link, most)));
    this.list.hidden = !ranked.length;
    this.#remark(changed ? "" : reading(ranked, shownName(run, this.selection, key)));
    this.#mark();
    this.painted(this.#of);
  }

  #line(/** @type {HeadLink} */ link, /** @type {number} */ most) {
    const { layer, head, weight, ratio, was } = link;
    const bar = el("i", { class: "viz-pair-bar" });
    const cut = Number.isNaN(weight);
    bar.style.width = `${most && !cut ? (100 * weight) / most : 0}%`;
    const ratioText = ratio == null ? "" : `${ratio.toFixed(1)} ×`;
    const said = was == null ? ratioText : cut ? `was ${rounded(was)}` : signedText(weight - was);
    const times = el("span", { class: "viz-pair-ratio" }, said);
    times.classList.toggle("viz-selective", was == null && ratio != null && ratio >= SELECTIVE);
    const line = button("", () => this.selection.set({ layer, head }), {
      class: "viz-pair-line",
      "data-link": `${layer}.${head}`,
      title: `Show head ${layer}.${head}${cut ? ", in which a mask forbids this pair" : ""}`,
    });
    line.append(
      ...[el("b", {}, `${layer}.${head}`), el("span", { class: "viz-pair-track" }, bar)],
      ...[el("span", { class: "viz-pair-weight" }, cut ? "cut" : rounded(weight)), times],
    );
    return el("li", {}, line);
  }

  #mark() {
    const name = this.selection.name;
    for (const line of this.list.querySelectorAll("button")) line.ariaPressed = String(line.dataset.link === name);
    this.tell();
  }

  // Why there are no links, as of a token that is hidden.
  #fail(/** @type {string} */ sentence) {
    [this.links, this.#of, this.compared] = [[], "", null];
    this.behind(false);
    this.list.replaceChildren();
    this.list.hidden = true; // the sentence stands in its place
    this.what.textContent = "";
    this.#remark(sentence);
    this.tell();
  }

  #remark(/** @type {string} */ sentence) {
    this.says.textContent = sentence;
  }
}

/** A token as it is shown: by its word, where sub-words are merged.
 * @type {(run: Run, kept: Switches, token: number) => string} */
export function shownName(run, kept, token) {
  const units = run.shown({ hide: false, words: kept.words });
  return units[units.places[token]]?.name ?? run.tokens[token];
}

/** How a pair's weights were processed. @type {(kept: Switches) => string} */
function shownSentence({ hide, renorm, words }) {
  const said = [
    hide && "special tokens hidden, also as queries of that mean",
    renorm ? "rows divided by their sum over the tokens shown" : hide && "weights not renormalized",
    words && "sub-words merged, the mean over words",
  ].filter(Boolean);
  return said.length ? `With ${said.join("; ")}.` : "";
}

/** A link a head, by layer and head; NaN where the mask forbids the pair.
 * @type {(found: PairLinks, was?: Maybe[][]) => HeadLink[]} */
export function linksOf({ weights, ratios }, was) {
  return weights.flatMap((heads, layer) =>
    heads.map((weight, head) => ({
      ...{ layer, head, weight: weight ?? NaN },
      ...{ ratio: ratios[layer][head], was: was?.[layer][head] ?? null },
    })),
  );
}

/** The heads whose weight on the pair moved most, to none where it was cut; no head where it is forbidden in all.
 * @type {(links: HeadLink[], most: number) => HeadLink[]} */
export function mostChanged(links, most) {
  if (links.every(({ weight }) => Number.isNaN(weight))) return [];
  const moved = (/** @type {HeadLink} */ { weight, was }) => Math.abs((weight || 0) - Number(was));
  return links
    .filter(({ was }) => was != null)
    .sort((a, b) => moved(b) - moved(a))
    .slice(0, most);
}

/** The heads with the largest weights, in their order. @type {(links: HeadLink[], most: number) => HeadLink[]} */
export const strongest = (links, most) =>
  links
    .filter(({ weight }) => !Number.isNaN(weight))
    .sort((a, b) => b.weight - a.weight)
    .slice(0, most);

/** What the list does not show: a large weight that every query gives.
 * @type {(ranked: HeadLink[], key: string) => string} */
export function reading([first], key) {
  if (!first) return "The mask forbids this pair in every head.";
  if (first.ratio == null || first.ratio > BROAD) return "";
  const { layer, head, ratio } = first;
  return `In ${layer}.${head} nearly every word looks at ${quoted(key)}: this is only ${ratio.toFixed(1)} times the average.`;
}
