// Change codes for clicks on words, and for heads by name.

import { deleting, hiding, masking, replacing } from "../core/change_codes.js";
import { headName } from "../views/cells.js";

/** @typedef {import("../core/payloads.d.ts").HeadPlace} HeadPlace */

/** @type {[action: string, words: string][]} */
export const ACTIONS = [
  ["t", "hide it from all"],
  ["m", "mask it"],
  ["d", "delete it"],
  ["r", "replace it with …"],
];

export const headCode = (/** @type {HeadPlace} */ place) => `h${headName(place)}`;

/** The codes of what a click does to a token. @type {(action: string, token: number, word: string) => string[]} */
export function wordCodes(action, token, word) {
  if (action === "r") return replacing(token, word);
  if (action === "d") return deleting(token);
  return action === "m" ? masking([token]) : hiding([token]);
}

/** The codes that each changed token has. @type {(changes: string[]) => Map<number, string[]>} */
export function changedTokens(changes) {
  const found = new Map();
  for (const code of changes) {
    const token = /^[tmdr](\d+)(:|$)/.exec(code)?.[1];
    if (token) found.set(Number(token), [...(found.get(Number(token)) ?? []), code]);
  }
  return found;
}
