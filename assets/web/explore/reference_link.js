// The reference of a comparison: its name, and its place in the link, which can bring the comparison back.

import { quoted } from "../core/token_names.js";

/** @import { Selection } from "./types.d.ts" */

const PARTS = ["kind", "model", "a", "b", "example", "run", "ran", "pad", "mistake", "scope", "cut", "from"];
const FIRST_WORDS = 25; // characters
const LAST_WORDS = 15;

/** Store in the link what restores the reference; null removes it.
 * @type {(selection: Selection, reference: RunDescription | null) => void} */
export function noteReference(selection, reference) {
  const link = reference ? { ...reference.link, run: reference.key } : {};
  selection.note(Object.fromEntries(PARTS.map((name) => [`ref.${name}`, /** @type {any} */ (link)[name] ?? ""])));
}

/** The parts of the reference in the link; null without any.
 * @type {(selection: Selection) => Record<string, string> | null} */
export function notedReference(selection) {
  const parts = PARTS.map((name) => [name, selection.noted(`ref.${name}`)]).filter(([, value]) => value);
  return parts.length ? Object.fromEntries(parts) : null;
}

/** A run by its model and its first words. @type {(run: Run) => string} */
export const named = (run) => `${run.model}, ${inputNamed(run)}`;

/** A run's input, by its first and last words. @type {(run: Run) => string} */
export function inputNamed(run) {
  if (run.grid) return `a picture of ${run.grid.rows} × ${run.grid.cols} patches`;
  return quoted(shortened(run.link.a ?? run.tokens.filter((_, at) => !run.special[at]).join(" ")));
}

// Texts that are compared often differ in their last words.
const shortened = (/** @type {string} */ text) =>
  text.length > FIRST_WORDS + LAST_WORDS ? `${text.slice(0, FIRST_WORDS)}…${text.slice(-LAST_WORDS)}` : text;
