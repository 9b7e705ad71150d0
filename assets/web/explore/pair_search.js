// "it -> animal" in the search for heads: which two tokens are meant.

/** @typedef {{ query: number, key: number }} AskedPair */

import { betweenTexts } from "./head_filter.js";

const ARROW = /\s*(?:->|=>|→)\s*/;

/** The pair that a text names, each token by its name or its number; a fault in a sentence where there is no
 * such token; null where the text has no arrow. Of a name that occurs more than once the key is the occurrence
 * nearest to the query, for that is what a link within a sentence means. "A → B" are a pair's sentences.
 * @type {(text: string, tokens: string[]) => AskedPair | { fault: string } | null} */
export function pairAsked(text, tokens) {
  const sides = text.trim().split(ARROW);
  if (sides.length < 2 || (betweenTexts(text) && sides.some((side) => !tokens.includes(side)))) return null;
  const [from, to] = sides;
  if (sides.length > 2 || !from || !to) return { fault: "Write two tokens with one arrow, such as it -> animal." };
  const [queries, keys] = [places(from, tokens), places(to, tokens)];
  for (const [found, asked] of /** @type {const} */ ([
    [queries, from],
    [keys, to],
  ]))
    if (!found.length)
      return { fault: `There is no token “${asked}” in this run; tokens can be named by their number too.` };
  const query = queries[0];
  const key = keys.reduce((best, at) => (Math.abs(at - query) < Math.abs(best - query) ? at : best));
  return { query, key };
}

/** @type {(asked: string, tokens: string[]) => number[]} */
function places(asked, tokens) {
  const name = plain(asked);
  const named = tokens.flatMap((token, at) => (plain(token) === name ? [at] : []));
  const number = /^\d+$/.test(name) ? Number(name) : -1;
  return named.length ? named : number >= 0 && number < tokens.length ? [number] : [];
}

const plain = (/** @type {string} */ text) =>
  text
    .toLocaleLowerCase()
    .replace(/^(##|Ġ|▁)/i, "")
    .trim();
