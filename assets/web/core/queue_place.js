// Shows the place in the queue, and the estimated seconds, while a request waits.

import { sayOverPage } from "./page_note.js";
import { addressOf } from "./queue_patience.js";

/** @typedef {{ rank: number, size: number, until: number | null }} Waits `until`: ms, by the clock of `now` */
/** @typedef {{ msg?: string, event_id?: string, rank?: number, queue_size?: number, rank_eta?: number | null }} Told */

const PATIENCE = 500; // ms; what is begun at once is not said to wait
const TICK = 5_000; // ms; a screen reader reads each change aloud

/**
 * A place in words. `left`: seconds until the answer.
 * @type {(rank: number, size: number, left: number | null) => string}
 */
export function placeSaid(rank, size, left) {
  const place = `Waiting in the queue: place ${rank + 1} of ${Math.max(size, rank + 1)}`;
  if (left === null) return `${place}.`;
  return left > 0 ? `${place}, about ${Math.ceil(left)} s left.` : `${place}, longer than expected.`;
}

export class Queued {
  /** @type {Map<string, Waits>} */
  #waiting = new Map();
  #timer = 0;
  #said = "";

  constructor(say = sayOverPage, now = () => performance.now()) {
    this.say = say;
    this.now = now;
  }

  /** Handle a server message about one event: its place, or that it no longer waits. */
  told(/** @type {Told} */ { msg, event_id: id = "", rank, queue_size: size, rank_eta: eta }) {
    if (msg === "estimation" && rank !== undefined && size !== undefined) {
      this.#waiting.set(id, { rank, size, until: typeof eta === "number" ? this.now() + eta * 1000 : null });
      if (this.#said) this.speak();
      else if (!this.#timer) this.#timer = setTimeout(() => this.speak(), PATIENCE);
    } else if (this.#waiting.delete(id) && !this.#waiting.size) this.end();
  }

  // Show the event that is due first.
  speak() {
    clearTimeout(this.#timer);
    const [first] = [...this.#waiting.values()].sort((a, b) => a.rank - b.rank);
    if (!first) return this.end();
    const left = first.until === null ? null : (first.until - this.now()) / 1000;
    this.#say(placeSaid(first.rank, first.size, left));
    this.#timer = setTimeout(() => this.speak(), TICK);
  }

  // Stop: nothing waits.
  end() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#waiting.clear();
    this.#say("");
  }

  #say(/** @type {string} */ sentence) {
    if (sentence !== this.#said) this.say(sentence);
    this.#said = sentence;
  }
}

/** fetch, which listens along where the queue tells what becomes of events.
 * @type {(fetch: Fetch, queued?: () => Queued) => Fetch} */
export function placed(fetch, queued = () => new Queued()) {
  return async (input, init) => {
    const answer = await fetch(input, init);
    if (!answer.ok || !answer.body || !addressOf(input).endsWith("/queue/data")) return answer;
    return new Response(listened(answer.body, queued()), answer);
  };
}

// Everything comes as it came; a stream that ends, breaks or is closed tells no more.
/** @type {(body: ReadableStream<Uint8Array>, queued: Queued) => ReadableStream<Uint8Array>} */
function listened(body, queued) {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let rest = "";
  const hear = (/** @type {Uint8Array} */ part) => {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data:")) queued.told(parsed(line.slice(5)));
  };
  return new ReadableStream({
    async pull(to) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          queued.end();
          return to.close();
        }
        hear(value);
        to.enqueue(value);
      } catch (fault) {
        queued.end();
        to.error(fault);
      }
    },
    cancel(why) {
      queued.end();
      return reader.cancel(why);
    },
  });
}

/** @type {(text: string) => Told} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
