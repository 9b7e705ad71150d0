// Event emitters: who listens is called with what is told.

/** @template {unknown[]} Told what each listener gets */
export class Emitter {
  /** @type {Set<(...told: Told) => unknown>} */
  #listeners = new Set();

  on(/** @type {(...told: Told) => unknown} */ listener) {
    this.#listeners.add(listener);
  }

  tell(/** @type {Told} */ ...told) {
    for (const listener of this.#listeners) listener(...told);
  }
}

/**
 * A value of which listeners are told when it changes, and at once where there is one already.
 * @template Value
 * @extends {Emitter<[Value | null]>}
 */
export class Held extends Emitter {
  /** @type {Value | null} */
  value = null;

  set(/** @type {Value | null} */ value) {
    this.value = value;
    this.tell(value);
  }

  /** @override @param {(value: Value | null) => unknown} listener */
  on(listener) {
    super.on(listener);
    if (this.value !== null) listener(this.value);
  }
}
