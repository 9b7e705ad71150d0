// In the place of core/wire.js in a notebook: what the page asks for goes to the kernel, through the cell around it.

import { loadPicture } from "../../core/dom.js";

/** @typedef {{ id: string, status?: number, headers?: Record<string, string>, bytes?: ArrayBuffer, more: boolean }} Part
 *   of an answer: its first one has the status and the headers, and `more` says whether another follows */

/** @type {Map<string, (part: Part) => void>} */
const waiting = new Map();
let asked = 0;
const FRAME = Math.random().toString(36).slice(2); // several frames may look at one view

addEventListener("message", ({ source, data }) => {
  if (source === parent) waiting.get(data?.id)?.(data);
});

export const placed = (/** @type {string} */ path) => path;

/** @type {(path: string, sent: Sent) => Promise<Response>} */
export function send(path, { signal, body }) {
  const id = `${FRAME}:${++asked}`;
  const { readable, writable } = new TransformStream();
  const parts = writable.getWriter();
  parts.closed.catch(() => tell({ id, stop: true })); // the reader has canceled
  return new Promise((done, fail) => {
    waiting.set(id, ({ status, headers, bytes, more }) => {
      if (status) done(new Response(readable, { status, headers }));
      if (bytes) parts.write(new Uint8Array(bytes)).catch(() => {});
      if (more) return;
      waiting.delete(id);
      parts.close().catch(() => {});
    });
    const gone = () => {
      const fault = new DOMException("It is wanted no longer.", "AbortError");
      waiting.delete(id);
      parts.abort(fault);
      fail(fault);
    };
    if (signal?.aborted) return gone();
    signal?.addEventListener("abort", gone);
    tell({ id, path, body });
  });
}

/** @type {(path: string, signal?: AbortSignal) => Promise<Response>} */
export const fetchBytes = (path, signal) => send(path, { signal });

/** @type {(path: string) => Promise<HTMLImageElement | null>} */
export async function fetchPicture(path) {
  const answer = await send(path, {});
  return answer.ok ? loadPicture(URL.createObjectURL(await answer.blob())) : null;
}

// What the cell around the frame is told.
export const tell = (/** @type {object} */ content) => parent.postMessage(content, "*");
