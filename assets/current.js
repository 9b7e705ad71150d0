// What all tabs share: the run that is shown and the selection in it.

import { Selection } from "./selection.js";

class Current {
  #listeners = new Set();

  constructor() {
    this.selection = new Selection();
    this.run = null;
  }

  enter(run) {
    this.run = run;
    for (const listener of this.#listeners) listener(run);
  }

  // Told of each new run, and at once of the one that is there; null when a run failed its check.
  on(listener) {
    this.#listeners.add(listener);
    if (this.run) listener(this.run);
  }
}

export const current = new Current();
