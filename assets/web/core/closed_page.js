// A page that closes says so, and the server lets its runs go; Gradio would hold a connection open to know it.

import { address } from "./server.js";

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
