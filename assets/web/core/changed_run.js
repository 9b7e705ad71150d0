// The changes of the run that is shown: each that is added or taken away makes the run anew, for all tabs.

import { current } from "./app_state.js";
import { carried, makesText, moved, samePlaces, toggled } from "./change_codes.js";
import { Latest, sentenceOf } from "./latest.js";
import { Run } from "./run.js";
import { json } from "./server.js";
import { partners } from "./token_alignment.js";

/** @typedef {{ query: number, key: number }} Pair */
/** @typedef {(sentence: string) => unknown} Tell is told how long it takes, and of a fault; "" once it is done */

const PATIENCE = 300; // milliseconds before it is said that something runs
const GONE = "That token is not in the text without changes; restore the run, then choose a token there.";

/** The codes of a run's changes. @type {(run: Run | null) => string[]} */
export const codesOf = (run) => run?.changed?.changes.map(({ code }) => code) ?? [];

class ChangedRun {
  #latest = new Latest();
  /** @type {string[] | null} */ #asked = null; // the changes that are on their way
  /** @type {Tell} */ #tell = () => {};
  /** @type {Run | null} */ #plain = null; // the last in which nothing was changed
  /** @type {{ of: string, at: Int32Array } | null} */ #places = null; // of a text's tokens in the plain one

  /** @type {{ run: Run, from: Pair, to: Pair } | null} */ #left = null; // the pair chosen in a text that was left

  constructor() {
    current.on((run) => {
      if (run && !run.changed) this.#plain = run;
      this.#done("");
    });
  }

  /** Make these changes too, or take them back where all of them are made already. The codes are of the tokens
   * of the shown run. @param {string[]} codes @param {Tell} tell */
  async toggle(codes, tell) {
    const { run } = current;
    if (!run) return;
    try {
      const found = await this.#inPlain(run, codes);
      if (run === current.run) await this.#make((made) => toggled(made, found), tell);
    } catch (fault) {
      tell(sentenceOf(fault));
    }
  }

  /** Take one change away, by the code that the run has. @param {string} code @param {Tell} tell */
  drop(code, tell) {
    return this.#make((made) => made.filter((other) => other !== code), tell);
  }

  /** Go back to the run in which nothing is changed. @param {Tell} tell */
  restore(tell) {
    return this.#make(() => [], tell);
  }

  /** Toggle codes of the plain run's tokens. @param {string[]} codes @param {Tell} tell */
  toggleInPlain(codes, tell) {
    return this.#make((made) => toggled(made, codes), tell);
  }

  /** The run in which nothing is changed, of one in which something is. @type {(run: Run) => Promise<Run>} */
  async plainOf(run) {
    if (!run.changed) return run;
    if (this.#plain?.key === run.plainKey) return this.#plain;
    const plain = new Run((await ask(run, codesOf(run))).plain);
    this.#plain = plain;
    return plain;
  }

  // Whether all of these are made, in codes of the shown run's tokens.
  has(/** @type {Run} */ run, /** @type {string[]} */ codes) {
    const made = codesOf(run);
    const found = made.length ? this.#moved(run, codes) : null;
    return Boolean(found?.every((code) => made.includes(code)));
  }

  /** One request at a time; requests made meanwhile build on the previous one.
   * @type {(change: (made: string[]) => string[], tell: Tell) => Promise<void>} */
  async #make(change, tell) {
    const { run } = current;
    if (!run) return;
    const changes = change(this.#asked ?? codesOf(run));
    this.#tell("");
    [this.#asked, this.#tell] = [changes, tell];
    const waited = (/** @type {number} */ seconds) => tell(`Running …${seconds ? ` ${seconds} s` : ""}`);
    try {
      const made = await this.#latest.run((fresh) => fresh(ask(run, changes, fresh.signal)), {
        ...{ tell: waited, patience: PATIENCE },
      });
      if (made) this.#enter(made);
    } catch (fault) {
      this.#done(sentenceOf(fault));
    }
  }

  // Reuse what is known of the plain run and of this one.
  #enter(/** @type {ChangedRunMade} */ { run, plain }) {
    if (this.#plain?.key !== plain.key) this.#plain = new Run(plain);
    const next = run.key === plain.key ? this.#plain : new Run(run);
    current.enter(next, current.run ? this.#pairIn(next, current.run, current.selection) : undefined);
  }

  /** The chosen pair in another run of the same input: the same places, else those of the same tokens; back in a
   * text that was left, the pair that was chosen there. @type {(next: Run, run: Run, chosen: Pair) => Pair} */
  #pairIn(next, run, { query, key }) {
    const from = { query, key };
    const left = this.#left;
    if (samePlaces(codesOf(run), codesOf(next))) return from;
    const back =
      left?.run.plainKey === next.plainKey &&
      samePlaces(codesOf(left.run), codesOf(next)) &&
      left.to.query === query &&
      left.to.key === key;
    const to = back ? left.from : carried(from, partners(run, next));
    this.#left = { run, from, to };
    return to;
  }

  #done(/** @type {string} */ sentence) {
    this.#latest.stop();
    this.#asked = null;
    this.#tell(sentence);
    this.#tell = () => {};
  }

  // In a text that was made by a change, tokens stand elsewhere than in the plain one, whose codes count.
  async #inPlain(/** @type {Run} */ run, /** @type {string[]} */ codes) {
    const made = codesOf(run);
    if (makesText(made)) await this.plainOf(run);
    const found = this.#moved(run, codes);
    if (!found) throw new Error(GONE);
    return found;
  }

  /** Null where a token is not in the plain text, or that is not known. @type {(run: Run, codes: string[]) => string[] | null} */
  #moved(run, codes) {
    if (!makesText(codesOf(run))) return codes;
    if (!this.#plain || this.#plain.key !== run.plainKey) return null;
    if (this.#places?.of !== run.key) this.#places = { of: run.key, at: partners(run, this.#plain) };
    return moved(codes, this.#places.at);
  }
}

/** @type {(run: Run, changes: string[], signal?: AbortSignal) => Promise<ChangedRunMade>} */
async function ask(run, changes, signal) {
  // Told rather than refused what cannot be: browsers report a refusal as an error.
  return json(run.url("whatif/changed?told=1"), { body: JSON.stringify({ changes }), signal });
}

export const changedRun = new ChangedRun();
