// What all tabs share: the run that is shown and the selection in it.

import { Selection } from "./selection.js";

class Current {
  #listeners = new Set();
  #pointed = new Set();

  constructor() {
    this.selection = new Selection();
    this.run = null;
    this.hovered = null;
  }

  enter(run) {
    this.run = run;
    for (const listener of this.#listeners) listener(run);
  }

  // The token that is pointed at anywhere, by its number; null where none is.
  hover(token) {
    if (this.hovered === token) return;
    this.hovered = token;
    for (const listener of this.#pointed) listener(token);
  }

  onHover(listener) {
    this.#pointed.add(listener);
  }

  // Told of each new run, and at once of the one that is there; null when a run failed its check.
  on(listener) {
    this.#listeners.add(listener);
    if (this.run) listener(this.run);
  }
}

export const current = new Current();
