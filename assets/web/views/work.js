// Work that takes its time: a bar of what is done, words beside it, and a way to give it up.

import { button, el, status } from "../core/dom.js";
import { Latest, sentenceOf } from "../core/latest.js";
import { streamed } from "../core/streamed.js";

const GIVEN_UP = "Canceled. Nothing was changed.";

export class Work {
  #latest;
  bar = el("progress", { max: 1, value: 0, "aria-label": "Done" });
  said = status();
  cancel = button("Cancel", () => {
    this.stop();
    this.said.textContent = GIVEN_UP;
  });
  node = el("div", { class: "viz-work" }, this.bar, this.cancel, this.said);

  /** @param {AbortSignal} [life] of whoever asks for the work */
  constructor(life) {
    this.#latest = new Latest(undefined, life);
    this.stop();
  }

  /** Have the server do it, in place of what is in progress. Null if it was aborted, or failed, which is reported.
   * @template Found @param {string} words @param {string} path @param {BodyInit} [body]
   * @returns {Promise<Found | null>} */
  async run(words, path, body) {
    const tell = (/** @type {number} */ done) => {
      this.bar.value = done;
      this.said.textContent = `${words} … ${Math.round(100 * done)}%`;
    };
    this.bar.hidden = this.cancel.hidden = false;
    this.bar.removeAttribute("value"); // until the first share comes
    this.said.textContent = `${words} …`;
    try {
      const ask = (/** @type {Fresh} */ fresh) => fresh(streamed(path, tell, { body, signal: fresh.signal }));
      const found = await this.#latest.run(ask);
      if (found !== null) this.stop();
      return found;
    } catch (fault) {
      this.stop();
      this.said.textContent = sentenceOf(fault);
      return null;
    }
  }

  // Stop, or show that nothing is running.
  stop() {
    this.#latest.stop();
    this.bar.hidden = this.cancel.hidden = true;
    this.said.textContent = "";
  }
}
