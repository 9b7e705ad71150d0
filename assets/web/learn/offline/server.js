// In the place of core/server.js where there is no server: the same functions, answered by the page itself.

import { Emitter } from "../../core/emitter.js";
import { answers } from "./page_data.js";

/** Told of nothing: every answer comes. @type {Emitter<[path: string]>} */
export const unanswered = new Emitter();

export const address = (/** @type {string} */ path) => path;

/** @template T @param {string} path @param {Sent} [sent] @returns {Promise<T>} */
export const json = async (path, { body } = {}) =>
  /** @type {T} */ (answers.answer(path, /** @type {Uint8Array | string | null} */ (body ?? null)));

/** @template About @param {string} path @param {AbortSignal} [_signal] @returns {Promise<Numbers<About>>} */
export const numbers = async (path, _signal) => /** @type {Numbers<About>} */ (answers.answer(path));

/** The lesson reads texts. @type {(path: string) => Promise<HTMLImageElement | null>} */
export const picture = async (_path) => null;

/** Progress stream with a single line, the result. @type {(path: string) => Promise<Response>} */
export const ask = async (path) => new Response(JSON.stringify({ result: answers.answer(path) }));
