// State shared by all tabs: the current run, the selection in it, and the hovered token.

import { Emitter, Held } from "./emitter.js";
import { PageSelection } from "./selection.js";

class Current {
  selection = new PageSelection();
  /** @type {Held<Run>} */
  #run = new Held();
  /** @type {Emitter<[number | null]>} */
  #pointed = new Emitter();
  /** @type {number | null} */
  hovered = null;
  coming = true; // the first run is loading
  fillForm = () => {}; // by the link of the run that was entered; whoever holds the form does it

  get run() {
    return this.#run.value;
  }

  // A new run; null when one failed its check.
  /** @type {(run: Run | null, place?: Partial<Chosen>) => void} `place` is where it is shown */
  enter(run, place) {
    if (run) this.selection.enter(run, place);
    this.#run.set(run);
  }

  // Loading has finished, or failed.
  settle() {
    this.coming = false;
    if (!this.run) this.enter(null);
  }

  /** Told of each new run, and at once of the one that is there.
   * @param {(run: Run | null) => unknown} listener @param {AbortSignal} [signal] */
  on(listener, signal) {
    this.#run.on(listener, signal);
  }

  // The token that is pointed at anywhere, by its number; null where none is.
  hover(/** @type {number | null} */ token) {
    if (this.hovered === token) return;
    this.hovered = token;
    this.#pointed.tell(token);
  }

  /** @param {(token: number | null) => unknown} listener @param {AbortSignal} signal */
  onHover(listener, signal) {
    this.#pointed.on(listener, signal);
  }
}

export const current = new Current();
