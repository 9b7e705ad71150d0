// When the server does not answer, or holds the run no more: the page waits for it, and shows the run again.

import { current } from "./app_state.js";
import { rest, sentenceOf } from "./latest.js";
import { sayOverPage } from "./queue.js";
import { Run } from "./run.js";
import { address, unanswered } from "./server.js";

const PAUSES = [0, 500, 1000, 2000, 4000]; // milliseconds before each try; the last one again and again
const SPELL = 30_000; // milliseconds in which the same run is shown again only once
const LOST = "The server is not responding. Retrying; your text and selection are kept.";

/** Delay before a try, by its number from 0. @type {(tried: number) => number} */
export const pauseBefore = (tried) => PAUSES[Math.min(tried, PAUSES.length - 1)];

/**
 * Link that restores the run: its key, or its inputs.
 * @type {(run: RunDescription) => Record<string, string>}
 */
const linkOf = ({ link, key }) => ({ ...link, run: key });

export class Connection {
  #waiting = false;
  #entered = -Infinity; // when a run was last shown again
  /** @type {Run | null} */
  #last = null; // last page note; the page may have hidden it since

  constructor() {
    current.on((run) => {
      this.#last = run ?? this.#last;
    });
    unanswered.on((path) => this.#last && path.includes(`viz/run/${this.#last.key}/`) && this.#restore(this.#last));
  }

  async #restore(/** @type {Run} */ run) {
    if (this.#waiting) return;
    this.#waiting = true;
    await this.#tried(run);
    this.#waiting = false;
  }

  async #tried(/** @type {Run} */ run) {
    try {
      const description = await this.#described(run);
      sayOverPage("");
      if (this.#last !== run || !this.#worthIt(description.key === run.key)) return;
      const { query, key } = current.selection;
      current.enter(new Run(description), { query, key }); // an example too stays where a person was in it
    } catch (fault) {
      sayOverPage(sentenceOf(fault)); // its input is not in the link
    }
  }

  // A part of a run that fails whenever it is asked for is not asked for on and on.
  #worthIt(/** @type {boolean} */ same) {
    const before = this.#entered;
    this.#entered = performance.now();
    return !same || this.#entered - before > SPELL;
  }

  // Asked for until the server answers.
  async #described(/** @type {Run} */ run) {
    for (let tried = 0; ; tried++) {
      await rest(pauseBefore(tried));
      const answer = await fetch(address("viz/open/link"), { method: "POST", body: JSON.stringify(linkOf(run)) }).catch(
        () => null,
      );
      if (!answer) {
        sayOverPage(LOST);
        continue;
      }
      const said = await answer.json();
      if (!answer.ok) throw new Error(said.message);
      return /** @type {RunDescription} */ (said);
    }
  }
}
