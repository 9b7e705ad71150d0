// The selection that all views share: layer, head, query, key and how to draw. It lives in the URL.

import {
  ATLAS,
  addressOf,
  DEFAULTS,
  headFrom,
  headsOf,
  isOf,
  PLACE,
  QUESTION,
  SWITCHES,
  selected,
  tabIn,
} from "./selection_address.js";
import { painted } from "./dom.js";
import { Emitter } from "./emitter.js";
import { partners } from "./token_alignment.js";

/** @import { Tokens } from "./token_alignment.js" */
/** @import { Entry } from "./visited.js" */
const NOWHERE = { layer: 0, head: 0, query: 0, key: 0 };

/** @extends {Emitter<[changed: Set<string>]>} */
export class PageSelection extends Emitter {
  layer = 0;
  /** @type {Head} */
  head = 0;
  query = 0;
  key = 0;
  scale = "";
  hide = false;
  renorm = false;
  words = false;
  change = false;
  measure = DEFAULTS.measure;
  stat = "";
  order = "";
  fallen = ""; // what of the heads was left when the run changed
  tab = ""; // which is open; nothing for the first
  part = ""; // of it, which the link of a tab of before named
  arrived = location.search; // the link that the page was opened by; the address is written anew with the first run
  opened = ""; // the key of the first run, which the link asked for
  /** @type {(address: string, entry: Entry, since: number) => void} */
  writes = (address) => history.replaceState(history.state, "", address);
  /** @type {{ asked: Record<string, string>, place: Partial<Chosen> | true } | null} */ #held = null; // for the next run of that
  #chosen = false; // whether a person, or the link, has chosen anything
  #measured = false; // and whether a measure
  #awaits = ""; // the key of a run that goes to its first finding once that is known
  #leads = ""; // the key of a run whose opening was chosen before its answer was known
  #model = "";
  #key = "";
  /** @type {Tokens & Pick<Run, "valid"> | null} */ #tokens = null; // of the run that was there last
  /** @type {Record<string, string>} */
  #link = {};
  #due = false;
  #since = 0; // when what is to be written was chosen
  /** @type {string | null} */
  leaves = null; // the tab that is left for the next run: the one that opens for it and the run are one step of Back
  asked = -1; // the token of which something is still to be chosen
  placed = 0; // how often a person chose a place: what was begun for the one before leaves it
  /** @type {Map<string, string>} */
  #notes = new Map(); // tabs' link entries, by dotted name
  /** @type {Map<string, () => unknown>} */
  #restored = new Map([[QUESTION, () => this.tell(new Set(["question"]))]]); // of these, what Back brings back, and how

  constructor() {
    super();
    Object.assign(this, selected(location.search));
    const named = new URLSearchParams(location.search);
    Object.assign(this, tabIn(location.search));
    this.#notes = new Map([...named].filter(([name]) => name.includes(".")));
    this.#chosen = PLACE.some((name) => named.has(name));
    this.#measured = named.has("measure") || this.#chosen;
    addEventListener("pagehide", () => this.flush());
  }

  // A new run opens on what stands out in it, where nothing was chosen yet, where the model is another, where it is an
  // example, where it lacks a chosen token, and where most of the text is another. Else: keep the head, and the chosen
  // tokens wherever they stand now; of a set of heads, those that it has.
  /** @type {(run: Run, place?: Partial<Chosen>) => void} `place` is where it is shown, whatever it is of */
  enter(run, place) {
    const held = this.#held && isOf(run.link, this.#held.asked) ? this.#held : null;
    if (held) this.#held = null;
    this.#link = run.link;
    this.leaves = null;
    this.opened ||= run.key;
    this.#open(run, place ?? held?.place);
    if (!Object.hasOwn(run.vocabulary.scales, this.scale)) this.scale = DEFAULTS.scale;
    this.layer = Math.min(this.layer, run.nLayers - 1);
    const heads = headsOf(this.head);
    const left = heads.filter((head) => head < run.nHeads);
    if (heads.length) this.head = left.length ? headFrom(left) : heads.length > 1 ? 0 : run.nHeads - 1;
    this.fallen = left.length < heads.length ? fell(heads, left, this.head, run.nHeads) : "";
    const last = run.tokens.length - 1;
    this.query = Math.min(this.query, last);
    this.key = Math.min(this.key, last);
    this.#write();
  }

  /** The next run of what is asked for keeps the chosen tokens, or is shown at that place; runs that come before do not.
   * @type {(asked: Record<string, string>, place?: Partial<Chosen>) => void} */
  hold(asked, place) {
    this.#held = { asked, place: place ?? true };
  }

  /** @type {(run: Run, held?: Partial<Chosen> | true) => void} */
  #open({ key, opening, model, example, tokens, words, segments, valid }, held) {
    const other = this.#key !== "" && key !== this.#key && (model !== this.#model || example);
    const run = { tokens, words, segments, valid };
    const placed = typeof held === "object";
    const { why: _, ...place } = opening ?? {}; // which is said, not chosen
    const anew = !placed && ((!held && (!this.#chosen || other)) || !this.#follow(run));
    if (placed) Object.assign(this, held);
    else if (opening && anew) Object.assign(this, place, this.#measured && { measure: this.measure });
    else if (anew && !held && this.#key) Object.assign(this, NOWHERE); // for another run
    if (anew && !opening && !this.#measured) this.measure = DEFAULTS.measure;
    this.#awaits = anew && !opening ? key : "";
    this.#leads = anew && opening && !opening.measure ? key : "";
    [this.#model, this.#key, this.#tokens] = [model, key, run];
  }

  // If the findings come after the first map, go to the first, unless a place was chosen meanwhile.
  openOn(/** @type {string} */ key, /** @type {{ layer: number, head: number, query: number, key: number }} */ place) {
    if (this.#awaits !== key) return;
    this.lead(place);
    if (this.measure !== DEFAULTS.measure) this.#leads = key; // what its answer names
  }

  /** Whether the answer of a run may still choose its head, because no place was chosen in it. @type {(key: string) => boolean} */
  isLed(key) {
    return this.#leads === key;
  }

  // Go to a place that the page leads to: no choice of a person's, so that the next run may open elsewhere.
  lead(/** @type {Partial<Chosen>} */ place) {
    const [chosen, placed] = [this.#chosen, this.placed];
    this.set(place);
    [this.#chosen, this.placed] = [chosen, placed];
  }

  // Keep query and key on the tokens they are on, wherever these stand now. False, and both as they were, where one of
  // them is gone, or most of the text is another.
  #follow(/** @type {Tokens & Pick<Run, "valid">} */ run) {
    const before = this.#tokens;
    if (!before) return true;
    const found = partners(before, run);
    const [query, key] = [found[this.query] ?? -1, found[this.key] ?? -1];
    const longer = Math.max(...[before, run].map(({ valid }) => valid.filter(Boolean).length));
    if (query < 0 || key < 0 || 2 * found.filter((at) => at >= 0).length < longer) return false;
    [this.query, this.key] = [query, key];
    return true;
  }

  // A token is asked about: what stands out of it is chosen, too, once it is known.
  ask(/** @type {number} */ query) {
    if (query === this.query) return;
    this.set({ query });
    this.asked = query;
  }

  set(/** @type {Partial<Chosen>} */ changes) {
    if (PLACE.some((name) => name in changes)) {
      [this.#awaits, this.#leads, this.asked] = ["", "", -1]; // also where it is the place that is shown
      this.placed += 1;
    }
    const names = /** @type {(keyof Chosen)[]} */ (Object.keys(changes));
    const changed = names.filter((name) => this[name] !== changes[name]);
    if (!changed.length) return;
    Object.assign(this, changes);
    if (PLACE.some((name) => name in changes)) this.#chosen = true;
    this.#measured ||= "measure" in changes;
    this.#write();
    this.tell(new Set(changed));
  }

  // The run, the tab and what is chosen in it, which are what Back restores.
  get entry() {
    const notes = [...this.#restored.keys()].filter((name) => this.noted(name)).map((name) => [name, this.noted(name)]);
    const chosen = `${addressOf({ ...this, ...ATLAS }, {})}&${new URLSearchParams(notes)}`;
    const entry = { tab: this.tab, link: JSON.stringify(this.#link), chosen };
    return this.leaves !== null && this.leaves !== this.tab ? { ...entry, passing: true } : entry;
  }

  // Restore a visited address, now or in the run that is `coming`.
  goBack(/** @type {string} */ address, /** @type {boolean} */ coming) {
    this.#due = false; // the address of where one was
    this.tab = tabIn(address).tab;
    const { stat: _stat, order: _order, ...place } = selected(address);
    const params = new URLSearchParams(address);
    this.#held = coming ? { asked: Object.fromEntries(params), place } : null;
    const noted = (/** @type {string} */ name) => params.get(name) ?? "";
    const others = [...this.#restored].filter(([name]) => noted(name) !== this.noted(name));
    for (const [name] of others) this.#notes.set(name, noted(name));
    this.opened = coming ? "" : this.#key; // the run that the address asks for
    if (!coming) this.set(place);
    for (const [name, restore] of others) if (!coming || name !== QUESTION) restore();
  }

  /** Have Back bring a tab's link entry back, and call this then.
   * @type {(name: string, restore: () => unknown, signal?: AbortSignal) => void} */
  restored(name, restore, signal) {
    this.#restored.set(name, restore);
    signal?.addEventListener("abort", () => this.#restored.get(name) === restore && this.#restored.delete(name));
  }

  // Keep in the link which tab is open.
  openTab(/** @type {string} */ name) {
    if (name === this.tab) return;
    this.tab = name;
    if (this.#key) this.#write(); // before the first run the address is the one that asks for it
  }

  // Keep in the link what only the atlas shows: its statistic and its order.
  keep(/** @type {Partial<typeof ATLAS>} */ changes) {
    Object.assign(this, ATLAS, changes);
    this.#write();
  }

  /** A tab's link entry, by its dotted name; "" if unset. @type {(name: string) => string} */
  noted(name) {
    return this.#notes.get(name) ?? "";
  }

  /** Keep such texts in the link; an empty one goes. @type {(notes: Record<string, string>) => void} */
  note(notes) {
    const changed = Object.entries(notes).filter(([name, value]) => value !== this.noted(name));
    for (const [name, value] of changed) {
      if (value) this.#notes.set(name, value);
      else this.#notes.delete(name);
    }
    if (changed.length && this.#key) this.#write();
  }

  get name() {
    return `${this.layer}.${this.head}`;
  }

  // Everything besides layer and head that determines the shown numbers.
  get kept() {
    return SWITCHES.filter((name) => this[name]).join("+") || "all";
  }

  // Browsers take their time over a new address, so it waits until what was clicked is painted.
  #write() {
    if (this.#due) return;
    this.#due = true;
    this.#since = performance.now();
    painted().then(() => this.flush());
  }

  // Write the selection to the address.
  flush() {
    if (!this.#due) return;
    this.#due = false;
    const params = addressOf(this, this.#link);
    if (this.tab) params.set("tab", this.tab);
    for (const [name, value] of this.#notes) if (value) params.set(name, value);
    const theme = new URLSearchParams(location.search).get("__theme");
    if (theme) params.set("__theme", theme);
    this.writes(`${location.pathname}?${params}`, this.entry, this.#since);
  }
}

/** Describe heads missing from the run.
 * @type {(heads: number[], left: number[], head: Head, nHeads: number) => string} */
function fell(heads, left, head, nHeads) {
  const has = nHeads > 1 ? `heads 0 to ${nHeads - 1}` : "head 0 alone";
  const chosen = heads.length > 1 ? `heads ${heads.join(", ")}` : `head ${heads[0]}`;
  const shown = left.length > 1 ? `heads ${left.join(", ")} are` : `head ${head} is`;
  return `This run has ${has}; ${left.length ? "of the chosen" : "instead of"} ${chosen}, ${shown} shown.`;
}
