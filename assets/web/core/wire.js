// What goes over the wire to the server; a page without one puts another module in the place of this.

import { loadPicture } from "./dom.js";

/** @typedef {Pick<Response, "ok" | "status" | "json" | "arrayBuffer"> & { headers: Pick<Headers, "get"> }} Answer */

/** @typedef {{ signal?: AbortSignal, body?: BodyInit }} Sent what goes along; with a body it is posted */

// The URL of a path on the server.
export const placed = (/** @type {string} */ path) => new URL(path, document.baseURI).href;

/** @type {(url: string, sent: Sent) => Promise<Response>} */
export const send = (url, { signal, body }) =>
  fetch(url, { method: body === undefined ? "GET" : "POST", body, signal });

/** The picture at an address, or null where there is none. @type {(url: string) => Promise<HTMLImageElement | null>} */
export const fetchPicture = loadPicture;

/** Raw numbers, in the form of fetch's answer.
 *
 * XMLHttpRequest hands a megabyte over in one step. fetch does it in many small ones that wait behind
 * the page's own drawing: 18 ms against 14 for a map of 512² (Chromium 156, software rendering).
 * @type {(url: string, signal?: AbortSignal) => Promise<Answer>} */
export function fetchBytes(url, signal) {
  return new Promise((done, fail) => {
    const asked = new XMLHttpRequest();
    const gone = () => fail(new DOMException("It is wanted no longer.", "AbortError"));
    const stop = () => asked.abort();
    asked.responseType = "arraybuffer";
    asked.onload = () => done(answer(asked));
    asked.onerror = () => fail(new TypeError("No answer came."));
    asked.onabort = gone;
    asked.onloadend = () => signal?.removeEventListener("abort", stop);
    asked.open("GET", url);
    if (signal?.aborted) return gone();
    signal?.addEventListener("abort", stop);
    asked.send();
  });
}

/** @type {(asked: XMLHttpRequest) => Answer} */
function answer(asked) {
  const { status, response } = asked;
  return {
    ok: status >= 200 && status < 300,
    status,
    headers: { get: (name) => asked.getResponseHeader(name) },
    arrayBuffer: async () => response,
    json: async () => JSON.parse(new TextDecoder().decode(response)),
  };
}
