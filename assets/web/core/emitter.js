// Event emitters: who listens is called with what is told, until its signal says that it ends.

/** @template {unknown[]} Told what each listener gets */
export class Emitter {
  /** @type {Set<(...told: Told) => unknown>} */
  #listeners = new Set();

  /** @param {(...told: Told) => unknown} listener @param {AbortSignal} [signal] */
  on(listener, signal) {
    this.#listeners.add(listener);
    signal?.addEventListener("abort", () => this.#listeners.delete(listener));
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

  /** @override @param {(value: Value | null) => unknown} listener @param {AbortSignal} [signal] */
  on(listener, signal) {
    super.on(listener, signal);
    if (this.value !== null) listener(this.value);
  }
}
