// The map of a measure that is not of weights: each link's share of the score, or the effect of cutting it.

import { rounded } from "../core/dom.js";
import { Emitter } from "../core/emitter.js";
import { partOf, viewed } from "../core/run.js";
import { signedText } from "./legend.js";
import { MEASURES } from "./measures.js";
import { briefly, resultSaid, unitSaid } from "./answers.js";
import { amountSaid, shareSaid } from "../views/routes_layout.js";

const ALONE = "not measured; click a row to measure it";

/** @type {Record<string, { noun: string, path: string, titled: string, none: string, empty: string, alone: string, legend: (result: string) => string, of: string }>} */
const SAID = {
  share: {
    noun: "share",
    path: "attribution/map",
    titled: "Share of each link",
    ...{ none: "no share", empty: "not part of the question", alone: ALONE },
    legend: (result) => `Red raises ${result}, blue lowers it`,
    of: "brings",
  },
  effect: {
    noun: "effect",
    path: "attribution/effect/map",
    titled: "Effect of each link",
    ...{ none: "nothing measured", empty: "not measured", alone: ALONE },
    legend: (result) => `Red: without the link, ${result} rises; blue: it falls`,
    of: "cutting it changes the result by",
  },
};

const FEW = 16; // tokens, of which all links of a query are measured at once
const STEPS = [1, 4, 16, 0]; // so many links of a query, then all

/** Emits when it is of another question, or none. @extends {Emitter<[]>} */
export class ShareMaps extends Emitter {
  #asked = "";
  /** @type {Explained | null} */ #found = null;
  /** @type {Run | null} */ run = null;
  most = 0;

  /** `against` is what is asked against, in words.
   * @param {PageSelection} selection @param {() => string} against @param {AbortSignal} signal */
  constructor(selection, against, signal) {
    super();
    this.selection = selection;
    this.against = against;
    selection.on((changed) => {
      const other = this.#kind === "effect" && ["query", "head", "words"].some((name) => changed.has(name));
      if (changed.has("measure") || other) this.tell();
    }, signal);
  }

  /** The question that is asked of a run, as an address has it; "" of none. @type {(run: Run | null, question: string) => void} */
  ask(run, question) {
    if (this.run === run && this.#asked === question) return;
    [this.run, this.#asked, this.#found, this.most] = [run, question, null, 0];
    this.tell();
  }

  // All maps of an answer have the scale of its strongest link.
  found(/** @type {Explained} */ found) {
    this.#found = found;
    this.most = Math.max(0, ...found.edges.map(({ share, by_head }) => Math.abs(by_head ?? share)));
    this.tell();
  }

  write(/** @type {number} */ value, brief = false) {
    return this.#found ? (brief ? briefly : shareSaid)(value, this.#found) : "";
  }

  get #kind() {
    return MEASURES[this.selection.measure]?.map ?? null;
  }

  get words() {
    return SAID[this.#kind ?? "share"];
  }

  get shows() {
    const { head, words } = this.selection;
    if (!this.#asked || !this.#kind) return "";
    if (this.#kind === "effect" && (typeof head !== "number" || words)) return ""; // links are cut one by one
    return `${this.#kind}:${this.#asked}${this.#kind === "effect" ? `:${this.selection.query}` : ""}`;
  }

  get steps() {
    if (this.#kind === "share") return null;
    return Number(this.run?.n) > FEW ? STEPS : STEPS.slice(-1);
  }

  get legend() {
    const [result, unit] = this.#found
      ? [resultSaid(this.#found), `, in ${unitSaid(this.#found)}`]
      : ["the result", ""];
    return `${this.words.legend(result)}${unit}; square-root scale`;
  }

  /** @type {(run: Run, view: MapView, rows: Span, keys: Span, most?: number, signal?: AbortSignal) => Promise<Numbers<Alone>>} */
  part(run, view, rows, keys, most = 0, signal = undefined) {
    if (this.#kind === "share") return this.shares(run, view, rows, keys);
    const asked = `${this.#of(view)}&told=1${most ? `&most=${most}` : ""}`;
    return run.numbers(`${SAID.effect.path}?${asked}&${partOf(rows, keys)}`, signal);
  }

  /** What each link brings. @type {(run: Run, view: MapView, rows: Span, keys: Span) => Promise<Numbers<Alone>>} */
  shares(run, view, rows, keys) {
    return run.numbers(`${SAID.share.path}?${this.#of(view)}&told=1&${partOf(rows, keys)}`);
  }

  #of(/** @type {MapView} */ view) {
    return `${this.#asked}&query=${this.selection.query}&${viewed(view)}`;
  }

  /** Of a file what is asked against, too. @type {(map: string, run?: Run) => string} */
  titled(map, run) {
    return `${this.words.titled}${run ? this.against() : ""}: l${this.named(map)}`;
  }

  // Of several heads shares are added up.
  named(/** @type {string} */ map) {
    return map.replace(/\b(mean|max) (of|over)\b/, "sum $2");
  }

  /** @type {(cell: SignedCell) => string} */
  cell({ value, now }) {
    const weight = Number.isNaN(now) ? "masked" : `weight ${rounded(now)}`;
    if (Number.isNaN(value)) return `${weight}; ${this.words.none}`;
    return `${weight}; ${this.words.of} ${this.#found ? amountSaid(value, this.#found) : signedText(value)}`;
  }

  file(/** @type {string} */ format) {
    return `${this.words.path}/${format}?${this.#of(this.selection)}`;
  }
}
