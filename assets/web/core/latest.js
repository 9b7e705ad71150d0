// Only the latest counts: answers and faults of what was asked before are dropped, and stop coming.

/** @typedef {(<T>(answer: T | Promise<T>) => Promise<Awaited<T>>) & { signal: AbortSignal }} Fresh */
/** @typedef {{ pause?: number, tell?: (seconds: number) => void, patience?: number }} Waiting */

const STALE = new Error("Something else was asked for.");

export class Latest {
  #stop = new AbortController();
  #fail;
  #life;

  /** @param {(sentence: string) => unknown} [fail] is told of a fault; without it, run() throws it
   * @param {AbortSignal} [life] of whoever asks: nothing is asked for after its end */
  constructor(fail, life) {
    this.#fail = fail;
    this.#life = life;
    life?.addEventListener("abort", () => this.stop());
  }

  // Ignore requests under way.
  stop() {
    this.#stop.abort();
  }

  /**
   * Do the work in place of what was begun before: after `pause` ms, in which a newer one may come,
   * and telling from `patience` ms on, every second, how long it takes. `fresh(answer)` waits, and
   * never comes back where something else was asked for meanwhile. Null then, and after a fault.
   * @template T
   * @param {(fresh: Fresh) => T | Promise<T>} work
   * @param {Waiting} [waiting]
   * @returns {Promise<T | null>}
   */
  async run(work, { pause = 0, tell, patience = 0 } = {}) {
    this.stop();
    if (this.#life?.aborted) return null;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    /** @type {Fresh} */
    const fresh = Object.assign(
      async (/** @type {any} */ answer) => {
        const found = await answer;
        if (signal.aborted) throw STALE;
        return found;
      },
      { signal },
    );
    let done = () => {};
    try {
      if (pause) await fresh(rest(pause));
      if (tell) done = clock(tell, patience, signal);
      return await work(fresh);
    } catch (fault) {
      if (signal.aborted) return null;
      if (!this.#fail) throw fault;
      this.#fail(sentenceOf(fault));
      return null;
    } finally {
      done();
    }
  }
}

/** @type {(ms: number) => Promise<void>} */
export const rest = (ms) => new Promise((done) => setTimeout(done, ms));

export const sentenceOf = (/** @type {unknown} */ fault) => (fault instanceof Error ? fault.message : String(fault));

/** @type {(tell: (seconds: number) => void, patience: number, signal: AbortSignal) => () => void} */
function clock(tell, patience, signal) {
  let [seconds, timer] = [0, 0];
  const tick = () => {
    tell(seconds++);
    timer = setTimeout(tick, 1000);
  };
  const end = () => clearTimeout(timer);
  signal.addEventListener("abort", end);
  if (patience) timer = setTimeout(tick, patience);
  else tick();
  return end;
}
