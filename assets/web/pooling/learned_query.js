// The query that was learned last on this page: both parts of the tab that use it are told.

class Learned {
  #listeners = new Set();

  constructor() {
    this.latest = null;
  }

  enter(description) {
    this.latest = description;
    for (const listener of this.#listeners) listener(description);
  }

  on(listener) {
    this.#listeners.add(listener);
    if (this.latest) listener(this.latest);
  }
}

export const learned = new Learned();
