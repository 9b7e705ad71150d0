// Between Gradio's client and the server: a run that finds the queue full waits and asks again, where Gradio by itself
// would show an error over the old run; and a page that closes says so, and the server lets its runs go, where Gradio would
// hold a connection open to know it.

import { el } from "./dom.js";
import { rest } from "./latest.js";
import { address } from "./server.js";

/** @typedef {(input: RequestInfo | URL, init?: RequestInit) => Promise<Response>} Fetch */

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

/** @type {HTMLElement | null} */
let note = null;

/** "" takes it away. @param {string} sentence */
export function sayOverPage(sentence) {
  note ??= document.body.appendChild(el("p", { class: "viz-page-note viz-warning", role: "status" }));
  note.textContent = sentence;
  note.hidden = !sentence;
}
