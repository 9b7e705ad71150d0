// The run that this one is asked against and compared with: the one before a change or a swap, an earlier one of this
// page, a saved one, or a link's.

import { keep, kept } from "../core/dataset.js";
import { button, el } from "../core/dom.js";
import { Run } from "../core/run.js";
import { json } from "../core/server.js";
import { View } from "../core/view.js";
import { comparable } from "./head_statistics.js";
import { compare, earlierOf, notedReference, noteReference, offered } from "./reference_words.js";

/** @import { Earlier } from "./reference_words.js" */

const MOST_RUNS = 20; // that are offered beside the shown one
const WITHOUT = "the run without the change";
const KEPT = "viz-runs"; // in the window's own memory, which a reload leaves

/** @returns {Map<string, Earlier>} */
const earlierRuns = () => new Map(JSON.parse(kept(KEPT) || "[]").map((/** @type {Earlier} */ one) => [one.key, one]));

export class Reference extends View {
  #opening = this.latest((sentence) => {
    this.#fault = sentence;
  });
  #fault = "";
  #waiting = "";
  #asked = {};
  #awaited = ""; // the key of the run that is chosen, until it is here
  #swapped = ""; // the text of the next run, where it is to be compared with the shown one
  /** @type {{ plain: string, text: string, earlier: Run | null } | null} the run before a change or a
   * swap, the one without changes after it, and what was compared before */
  #given = null;
  /** @type {Map<string, Earlier>} */ #runs = earlierRuns(); // made or opened in this window, by their keys
  /** @type {Record<string, string> | null} */ #linked; // the reference of the link, until it is here
  change = button("Show the change", () => this.selection.set({ change: !this.selection.change }), {
    class: "viz-small viz-pressed",
    title: "Draw the maps as now − before",
  });
  node = el("p", { class: "viz-caption viz-reference-said", role: "status", hidden: true });

  /** @param {PageSelection} selection @param {HeadStatistics} measures @param {PairLinksView} pair */
  constructor(selection, measures, pair) {
    super(selection);
    this.measures = measures;
    this.pair = pair;
    this.#linked = notedReference(selection);
    measures.on(() => this.#sync(), this.signal);
    pair.on(() => this.#sync(), this.signal);
    selection.on((changed) => (changed.has("measure") || changed.has("change")) && this.#sync(), this.signal);
    this.#sync();
  }

  /** The other run; null where there is none. @returns {Run | null} */
  get other() {
    return this.measures.other;
  }

  /** The key of what is chosen, or on its way; "" of none. */
  get key() {
    return this.#awaited || (this.other?.key ?? "");
  }

  /** The runs to choose from, the latest first. @type {(shown: Run) => [key: string, name: string][]} */
  offered(shown) {
    const others = [...this.#runs.values()].filter(({ key }) => key !== shown.key).toReversed();
    const ids = others.map(({ key, link, made }) => (made ? key : JSON.stringify(link))); // one made again is one line
    const once = others.filter(({ key }, at) => key === this.key || ids.indexOf(ids[at]) === at);
    return once.map((one) => [one.key, one.key === shown.changed?.plain ? WITHOUT : offered(one, shown)]);
  }

  /** A run that was made here before, which is made again where it has expired; without a key none. */
  choose(key = "") {
    const run = this.#runs.get(key);
    if (run) return this.#open({ ...run.link, run: key }, key);
    this.#opening.stop();
    this.#fault = this.#waiting = this.#awaited = "";
    if (!this.measures.reference) return this.#sync();
    this.selection.set({ change: false });
    this.measures.keep(null);
  }

  /** A saved run. */
  upload(/** @type {File} */ file) {
    return this.#compareWith("Opening the saved run", () => json("viz/open/saved", { body: file }));
  }

  /** The next run is the shown one with another text, and is compared with it. */
  hold(/** @type {string} */ text) {
    this.#swapped = text;
    this.selection.hold({ a: text });
  }

  // A changed or swapped run is compared with the one before it; once that is back, or another text is there, all is as
  // it was before. What cannot be compared with the next run is given up.
  follow(/** @type {Run} */ next) {
    const { run, reference } = this.measures;
    const given = this.#given;
    const swapped = this.#swapped !== "" && next.link.a === this.#swapped;
    if (swapped) this.#swapped = "";
    if (run && (swapped || next.changed?.plain === run.key)) {
      this.#given = { plain: run.key, text: next.plainKey, earlier: swapped ? null : reference };
      this.measures.keep(run);
    } else if (this.other && run?.changed?.plain === next.key && isSame(this.other, next))
      this.#back(given?.plain === next.key ? given.earlier : null);
    else if (given && reference?.key === given.plain && ![given.plain, given.text].includes(next.plainKey))
      this.#back(given.earlier);
    else if (this.other && this.other.key !== next.key && !comparable(this.other, next).maps) this.choose("");
  }

  #back(/** @type {Run | null} */ earlier) {
    if (!earlier) this.selection.set({ change: false });
    this.#given = null;
    this.measures.keep(earlier);
  }

  #open(/** @type {Record<string, string>} */ link, key = "") {
    const ask = () => json("viz/open/link", { body: JSON.stringify(link) });
    return this.#compareWith("Opening that run", ask, key);
  }

  /** Make another run the reference, and leave this one in its place.
   * @type {(words: string, ask: () => Promise<RunDescription>, key?: string) => Promise<unknown>} */
  #compareWith(words, ask, key = "") {
    const tell = (/** @type {number} */ seconds) => {
      this.#waiting = `${words} …${seconds ? ` ${seconds} s` : ""}`;
      this.#sync();
    };
    [this.#fault, this.#awaited] = ["", key];
    const asked = {};
    this.#asked = asked;
    return this.#opening
      .run(
        async (fresh) => {
          const run = new Run(/** @type {RunDescription} */ (await fresh(ask())));
          this.#remember(run);
          this.#awaited = run.key;
          this.measures.keep(run);
        },
        { tell },
      )
      .finally(() => {
        if (asked !== this.#asked) return; // another was chosen meanwhile
        this.#waiting = this.#awaited = "";
        this.measures.tell();
      });
  }

  // The comparison of the link, once the run itself is shown.
  restore() {
    const { run } = this.measures;
    const linked = this.#linked;
    if (!linked || !run) return;
    this.#linked = null;
    if (run.key === this.selection.opened) this.#open(linked);
  }

  #remember(/** @type {Run} */ run) {
    if ([...this.#runs.keys()].at(-1) === run.key) return;
    this.#runs.delete(run.key);
    this.#runs.set(run.key, earlierOf(run));
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > MOST_RUNS + 1) this.#runs.delete(oldest);
    keep(KEPT, JSON.stringify([...this.#runs.values()]));
  }

  #sync() {
    const { other: run, measures, selection } = this;
    const shown = measures.run;
    if (shown) this.#remember(shown);
    const settled = !this.#linked && !this.#waiting && (run || !this.#fault); // else the link keeps what it has
    if (settled && shown) noteReference(selection, run);
    this.change.hidden = !run || !measures.comparable.maps || selection.measure !== "attention";
    this.change.ariaPressed = String(selection.change);
    const said = shown && run && shown.changed?.plain !== run.key && this.#said(shown, run); // a banner tells changes
    const told = this.#waiting || [this.#fault, said].filter(Boolean).join(" ");
    if (told !== this.node.textContent) this.node.textContent = told;
    this.node.hidden = !told;
  }

  // What differs.
  #said(/** @type {Run} */ shown, /** @type {Run} */ run) {
    const { maps, why } = this.measures.comparable;
    return maps ? compare(shown, run, this.pair.alignment(shown, run)) : why;
  }
}

// A link's own run is made again beside the reference that the link holds.
const isSame = (/** @type {Run} */ one, /** @type {Run} */ other) =>
  one.key === other.key || JSON.stringify(one.link) === JSON.stringify(other.link);
