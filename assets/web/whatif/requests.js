// Server requests of the What if tab, all about the unchanged run.

import { Run } from "../core/run.js";
import { json } from "../core/server.js";
import { streamed } from "../core/streamed.js";

/** @import { FlipsFound, HeadEffects, JointEffect, Patched, Said, TextEffects } from "../core/payloads.d.ts" */
/** @import { MasksOffered, TokenEffects, WhatIfOffered } from "../core/payloads.d.ts" */
/** @import { Tell } from "../core/streamed.js" */
/** @typedef {{ measure: string, how: string }} Way what is measured, and what replaces a head's output */

/** @type {(run: Run, path: string, asked?: Record<string, string>) => string} */
const url = (run, path, asked = {}) => run.url(`whatif/${path}?${new URLSearchParams(asked)}`);

/** @type {(run: Run) => Promise<WhatIfOffered>} */
export const offered = (run) => json(url(run, "offered"));

/**
 * Effect of changes on the output.
 * @type {(run: Run, changes: string[], signal?: AbortSignal) => Promise<Said>}
 */
export const said = (run, changes, signal) => json(url(run, "said", { changes: changes.join(",") }), { signal });

/** @type {(run: Run, way: Way, tell: Tell, signal: AbortSignal) => Promise<HeadEffects>} */
export const headEffects = (run, way, tell, signal) => streamed(url(run, "heads", way), tell, { signal });

/** @type {(run: Run, way: Way, tell: Tell, signal: AbortSignal) => Promise<TokenEffects>} */
export const tokenEffects = (run, way, tell, signal) => streamed(url(run, "tokens", way), tell, { signal });

/** @type {(run: Run, twin: string, tell: Tell, signal: AbortSignal) => Promise<Patched>} */
export const patched = (run, twin, tell, signal) => streamed(url(run, "patch", { twin }), tell, { signal });

/** @type {(run: Run, most: number, tell: Tell, signal: AbortSignal) => Promise<FlipsFound>} */
export const flips = (run, most, tell, signal) => streamed(url(run, "flips", { most: String(most) }), tell, { signal });

/** Heads removed at once, each by zeros. @type {(run: Run, heads: string[], measure: string, signal: AbortSignal) => Promise<JointEffect>} */
export const joint = (run, heads, measure, signal) =>
  json(url(run, "joint", { heads: heads.join(","), measure }), { signal });

/** Each text by its line, counted from 1.
 * @type {(run: Run, texts: [line: number, text: string][], way: Way, tell: Tell, signal: AbortSignal) => Promise<TextEffects>} */
export function overTexts(run, texts, way, tell, signal) {
  const sent = { texts: texts.map(([, text]) => text), lines: texts.map(([line]) => line), ...way };
  return streamed(url(run, "texts"), tell, { body: JSON.stringify(sent), signal });
}
