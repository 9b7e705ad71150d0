// One run on the server: fetches its numbers as raw bytes, and remembers the latest answers.

import { largest } from "./colors.js";
import { counted } from "./dom.js";
import { address, json, numbers, picture } from "./server.js";
import { numbered } from "./token_names.js";

/** @typedef {{ name: string, tokens: number[] }} Unit a token, or the sub-words of one word */
/** @typedef {Unit[] & { places: Int32Array }} Shown `places` says which unit a token is in, -1 where it is hidden */
/** @typedef {{ answer: Promise<any>, signal?: AbortSignal }} Asked */
/** @typedef {{ hide: boolean, renorm: boolean, words: boolean }} Switches */

const REMEMBERED = 96;
export const ADDED_TOKENS = "tokens that the model adds, such as [CLS]";

/** @type {Switches} */
export const AS_IT_RAN = { hide: false, renorm: false, words: false };

// Query parameters for hidden tokens, renormalized rows and merged words.
export const switched = (/** @type {Switches} */ { hide, renorm, words }) =>
  `hide_special=${hide}${renorm ? "&renormalize=true" : ""}${words ? "&words=true" : ""}`;
export const viewed = (/** @type {MapView} */ view) => `layer=${view.layer}&head=${view.head}&${switched(view)}`;
/** @type {(rows: [from: number, to: number], keys: [from: number, to: number]) => string} */
export const partOf = (rows, keys) => `rows=${rows.join(":")}&keys=${keys.join(":")}`;
/** "6 layers × 12 heads". @type {(run: { nLayers: number, nHeads: number }) => string} */
export const sizeSaid = ({ nLayers, nHeads }) => `${counted(nLayers, "layer")} × ${counted(nHeads, "head")}`;
export const isChanged = (/** @type {Switches} */ { hide, renorm, words }) => hide || renorm || words;

// Sub-words as one word, without the marks of its continuations.
const wordOf = (/** @type {string[]} */ [first, ...more]) =>
  first + more.map((name) => name.replace(/^##/, "")).join("");

/** @type {new (description: RunDescription) => RunDescription} */
const Described = /** @type {any} */ (
  class {
    constructor(/** @type {RunDescription} */ description) {
      Object.assign(this, description);
    }
  }
);

export class Run extends Described {
  /** @type {Map<string, Asked>} */
  #asked = new Map();
  /** @type {Map<string, Shown>} */
  #shown = new Map();
  /** @type {Map<number, Numbers>} */
  #thumbnails = new Map();
  /** @type {Map<string, number>} */
  #largest = new Map(); // by the switches and the layer

  constructor(/** @type {RunDescription} */ description) {
    super(description);
    this.n = description.tokens.length;
  }

  url(/** @type {string} */ path) {
    return address(`viz/run/${this.key}/${path}`);
  }

  /** An answer in JSON. @template T @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
  json(path, signal) {
    return this.#once(path, (url) => json(url, { signal }), signal);
  }

  /** An answer in raw numbers. @template About @param {string} path @param {AbortSignal} [signal]
   * @returns {Promise<Numbers<About>>} */
  numbers(path, signal) {
    return this.#once(path, (url) => numbers(url, signal), signal);
  }

  /** Thumbnails of a layer's heads, of the kept tokens if some are hidden or merged.
   * @param {number} layer @param {Switches} [kept] */
  async thumbnails(layer, kept = AS_IT_RAN) {
    const changed = isChanged(kept);
    const found = await this.numbers(`thumbnails?layer=${layer}${changed ? `&${switched(kept)}` : ""}`);
    if (!changed) this.#thumbnails.set(layer, found);
    if (kept.words) this.#largest.set(`${switched(kept)}:${layer}`, largest(found.values));
    return found;
  }

  // One head's thumbnail if already loaded, of all tokens as they are.
  thumbnail(/** @type {{ layer: number, head: Head, kept: string }} */ { layer, head, kept }) {
    const found = this.#thumbnails.get(layer);
    if (!found || typeof head !== "number" || kept !== "all") return null;
    const [, height, width] = found.shape;
    const values = found.values.subarray(head * height * width, (head + 1) * height * width);
    return { shape: [height, width], values };
  }

  /** A layer's statistics of the tokens that are kept; sub-words stay apart.
   * @param {number} layer @param {Switches} [kept] */
  async statistics(layer, kept = AS_IT_RAN) {
    const of = { ...kept, words: false };
    /** @type {LayerStatistics} */
    const known = await this.json(`statistics?layer=${layer}${isChanged(of) ? `&${switched(of)}` : ""}`);
    this.#largest.set(`${switched(of)}:${layer}`, Math.max(0, ...known.largest.map(Number)));
    return known;
  }

  /** Names of the statistics, and the tokens they cover.
   * @type {(kept: Switches) => Promise<Record<string, StatisticText>>} */
  async statisticsSaid(kept) {
    const of = { ...kept, words: false };
    return isChanged(of) ? this.json(`statistics/said?${switched(of)}`) : this.vocabulary.statistics;
  }

  // Fetch the largest weight of a layer's heads.
  async measureLargest(/** @type {number} */ layer, /** @type {Switches} */ kept) {
    await (kept.words ? this.thumbnails(layer, kept) : this.statistics(layer, kept));
  }

  /** The largest weight of a layer's heads, or of all heads; null until the server has swept them.
   * @type {(scale: string, layer: number, kept?: Switches) => number | null} */
  largest(scale, layer, kept = AS_IT_RAN) {
    const layers = scale === "all" ? Array.from({ length: this.nLayers }, (_, at) => at) : [layer];
    const known = layers.flatMap((each) => this.#largest.get(`${switched(kept)}:${each}`) ?? []);
    return known.length < layers.length ? null : Math.max(...known);
  }

  /** A part of a map, in places among the shown tokens; its total weight comes with it.
   * @type {(view: MapView, rows: Span, keys: Span, more?: string) => Promise<Numbers>} */
  map(view, rows, keys, more = "") {
    return this.numbers(`map?${viewed(view)}&${partOf(rows, keys)}${more}`);
  }

  /** One query's weights over all tokens, as they ran.
   * @param {{ layer: number, head: Head, query: number }} place */
  row({ layer, head, query }) {
    return this.numbers(`row?layer=${layer}&head=${head}&query=${query}`);
  }

  // The row as shown: one weight per entry of shown(selection).
  shownRow(/** @type {MapView & { query: number }} */ view) {
    return this.numbers(`row?${viewed(view)}&query=${view.query}`);
  }

  /** One key's column as shown; the signal aborts the server's work.
   * @type {(view: MapView & { key: number }, signal?: AbortSignal) => Promise<Numbers>} */
  shownColumn(view, signal) {
    return this.numbers(`column?${viewed(view)}&key=${view.key}`, signal);
  }

  /** One query's weights in every head of a layer, on the kept tokens.
   * @param {number} layer @param {number} query @param {Switches} [kept] */
  rows(layer, query, kept = AS_IT_RAN) {
    return this.numbers(`rows?layer=${layer}&query=${query}${isChanged(kept) ? `&${switched(kept)}` : ""}`);
  }

  /** The model head's predictions at the output, or after a number of blocks.
   * @type {(task: string, layer: number | "") => Promise<Prediction[]>} */
  predictions(task, layer) {
    return this.json(`predictions?task=${task}${layer === "" ? "" : `&layer=${layer}`}`);
  }

  // The picture as it was cut into patches; null where there is none.
  picture() {
    return picture(this.url("picture.png"));
  }

  /** @returns {Promise<Proof>} */
  proof() {
    return this.json("proof");
  }

  /** Views available for the run. @returns {Promise<Views>} */
  views() {
    return this.json("views");
  }

  /** The views that say they stand in a tab, in their order. @param {string} tab */
  async viewsAt(tab) {
    const views = Object.values(await this.views()).flatMap((view) =>
      view.place ? { ...view, place: view.place } : [],
    );
    const there = views.filter(({ place }) => place.tab === tab);
    return there.sort((a, b) => a.place.order - b.place.order);
  }

  // A token by its number and its text.
  named(/** @type {number} */ token) {
    return numbered(token, this.tokens[token]);
  }

  // Real tokens by their numbers, without those that the model adds where they are hidden.
  real(hide = false) {
    return this.visible(hide).filter((index) => this.valid[index]);
  }

  // The tokens that are shown, by their numbers.
  visible(/** @type {boolean} */ hide) {
    const all = this.tokens.map((_, index) => index);
    return hide ? all.filter((index) => !this.special[index]) : all;
  }

  /** Tokens along a map's sides. @type {(switches: { hide: boolean, words: boolean }) => Shown} */
  shown({ hide, words }) {
    const key = `${hide}:${words}`;
    const known = this.#shown.get(key) ?? this.#list(hide, words);
    this.#shown.set(key, known);
    return known;
  }

  // The key of the run in which nothing was changed.
  get plainKey() {
    return this.changed?.plain ?? this.key;
  }

  // Whether any word of the run has several sub-words.
  get mergeable() {
    return this.shown({ hide: false, words: true }).length < this.n;
  }

  /** @type {(hide: boolean, words: boolean) => Shown} */
  #list(hide, words) {
    /** @type {number[][]} */
    const units = [];
    let before = null;
    for (let at = 0; at < this.n; at++) {
      const known = words && !this.special[at] && this.words[at] != null;
      const word = known ? `${this.segments[at] ?? 0}:${this.words[at]}` : null;
      if (word !== null && word === before) units[units.length - 1].push(at);
      else if (!hide || !this.special[at]) units.push([at]);
      before = word;
    }
    const places = new Int32Array(this.n).fill(-1);
    units.forEach((tokens, place) => {
      for (const token of tokens) places[token] = place;
    });
    const named = units.map((tokens) => ({ tokens, name: wordOf(tokens.map((token) => this.tokens[token])) }));
    return Object.assign(named, { places });
  }

  /** Requests that another caller may abort are not shared.
   * @template T @param {string} path @param {(url: string) => Promise<T>} ask @param {AbortSignal}
   *   [signal]
   * @returns {Promise<T>} */
  #once(path, ask, signal) {
    let known = this.#asked.get(path);
    this.#asked.delete(path);
    if (!known || (known.signal && (known.signal !== signal || signal.aborted))) {
      const asked = { answer: ask(this.url(path)), signal };
      asked.answer.then(
        () => delete asked.signal,
        () => this.#asked.get(path) === asked && this.#asked.delete(path),
      );
      known = asked;
    }
    this.#asked.set(path, known);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > REMEMBERED) this.#asked.delete(oldest);
    return known.answer;
  }
}
