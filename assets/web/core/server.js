// The one way to ask the server: numbers, JSON or text, and a fault as the sentence that it said.

import { Emitter } from "./emitter.js";
import { fetchBytes, fetchPicture, placed, send } from "./wire.js";

/** @import { Answer } from "./wire.js" */

const EXPIRED = 410;
const FAULT = "x-fault"; // of an answer that is told what is wrong with what was asked, not refused

/** Told of each answer that never came, and of each run that the server holds no more.
 * @type {Emitter<[path: string]>} */
export const unanswered = new Emitter();

// URL of a path on the page's own server, such as "viz/zoo".
export const address = placed;

/** @type {(path: string, sent?: Sent) => Promise<Response>} */
export const ask = (path, sent = {}) => answered(path, send(address(path), sent), sent.signal);

/** @template T @param {string} path @param {Sent} [sent] @returns {Promise<T>} */
export async function json(path, sent) {
  const response = await ask(path, sent);
  return response.json().catch(() => refuse(response)); // cut off, or no JSON
}

/** @type {(path: string, sent?: Sent) => Promise<string>} */
export const text = async (path, sent) => (await ask(path, sent)).text();

/** The picture at a path, or null where there is none. @type {(path: string) => Promise<HTMLImageElement | null>} */
export const picture = (path) => fetchPicture(address(path));

/** Raw numbers with what stands in their headers.
 * @template About @param {string} path @param {AbortSignal} [signal] @returns {Promise<Numbers<About>>} */
export async function numbers(path, signal) {
  const response = await answered(path, fetchBytes(address(path), signal), signal);
  const header = (/** @type {string} */ name) => response.headers.get(`x-${name}`);
  const list = (/** @type {string | null} */ listed) => (listed ? listed.split(",").map(Number) : []);
  const shape = list(header("shape"));
  const cells = shape.reduce((product, side) => product * side, 1);
  const all = new Float32Array(await response.arrayBuffer());
  const about = decodeURIComponent(header("about") ?? "");
  return {
    shape,
    values: all.subarray(0, cells),
    step: header("step") ? list(header("step")) : [1, 1],
    tops: all.length > cells ? all.subarray(cells) : null,
    total: Number(header("total") ?? NaN),
    empty: Number(header("empty") ?? 0),
    answer: decodeURIComponent(header("answer") ?? ""),
    about: about ? JSON.parse(about) : null,
  };
}

/** @template {Answer} T @param {string} path @param {Promise<T>} asking @param {AbortSignal} [signal] */
async function answered(path, asking, signal) {
  const response = await asking.catch((fault) => {
    if (signal?.aborted) throw fault;
    unanswered.tell(path);
    throw new Error("The server is not responding; is it still running?");
  });
  if (response.ok && !response.headers.get(FAULT)) return response;
  if (response.status === EXPIRED) unanswered.tell(path);
  const { message } = await response.json().catch(() => ({}));
  return refuse(response, message);
}

/** @type {(response: Answer, message?: string) => never} */
function refuse({ status }, message) {
  throw new Error(message || `The server answered ${status}; try again.`);
}
