// Between Gradio's client and the server: a run that finds the queue full waits and asks again, where Gradio by itself
// would show an error over the old run; its place in the queue is said while it waits; and a page that closes says so,
// and the server lets its runs go, where Gradio would hold a connection open to know it.

import { el } from "./dom.js";
import { rest } from "./latest.js";
import { address } from "./server.js";

/** @typedef {(input: RequestInfo | URL, init?: RequestInit) => Promise<Response>} Fetch */
/** @typedef {{ rank: number, size: number, until: number | null }} Waits `until`: ms, by the clock of `now` */
/** @typedef {{ msg?: string, event_id?: string, rank?: number, queue_size?: number, rank_eta?: number | null }} Told */

const FULL = [429, 503]; // too many of one person's, too many in all
const MOST = 40; // tries, some five minutes
const [SHORTEST, LONGEST] = [1, 8]; // seconds between two

/** Seconds to wait before asking again: what the server says, or longer each time; a share of it by chance, so
 * that those who wait do not come all at once. @type {(tried: number, said: string | null, chance: number) => number} */
export function secondsToWait(tried, said, chance) {
  const asked = Number(said) || Math.min(SHORTEST * 2 ** tried, LONGEST);
  return Math.min(asked, LONGEST) * (1 + chance / 2);
}

/** fetch, with patience where it joins the queue.
 * @type {(fetch: Fetch, say?: (sentence: string) => unknown, wait?: (ms: number) => Promise<void>) => Fetch} */
export function patient(fetch, say = sayOverPage, wait = rest) {
  return async (input, init) => {
    for (let tried = 0; ; tried++) {
      const answer = await fetch(input, init);
      const full = FULL.includes(answer.status) && addressOf(input).endsWith("/queue/join");
      if (!full || tried >= MOST) {
        if (tried) say("");
        return answer;
      }
      const seconds = secondsToWait(tried, answer.headers.get("retry-after"), Math.random());
      say(`The server is busy. Retrying in ${Math.ceil(seconds)} s; nothing is lost.`);
      await wait(seconds * 1000);
    }
  };
}

/** @type {(input: RequestInfo | URL) => string} */
export const addressOf = (input) => new URL(input instanceof Request ? input.url : input, document.baseURI).pathname;

const STREAM = "/queue/data";

/** fetch, which remembers the session that Gradio's results come by, and names it as the page closes.
 * @type {(fetch: Fetch, page?: EventTarget, send?: (session: string) => unknown) => Fetch} */
export function closing(fetch, page = window, send = told) {
  let session = "";
  page.addEventListener("pagehide", (event) => {
    if (session && !(/** @type {PageTransitionEvent} */ (event).persisted)) send(session); // else it may come back
  });
  return (input, init) => {
    const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input, document.baseURI);
    if (pathname.endsWith(STREAM)) session = searchParams.get("session_hash") ?? session;
    return fetch(input, init);
  };
}

const told = (/** @type {string} */ session) => navigator.sendBeacon(address("viz/closed"), session);

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

/** @type {HTMLElement | null} */
let note = null;

/** "" takes it away. @param {string} sentence */
export function sayOverPage(sentence) {
  note ??= document.body.appendChild(el("p", { class: "viz-page-note", role: "status" }));
  note.textContent = sentence;
  note.hidden = !sentence;
}
