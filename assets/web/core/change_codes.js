// The short codes of changes to a run: of what is chosen, added to others, and carried to another text.

/** @typedef {{ layer: number, head: Head, queries: number[], keys: number[] }} Place */

const OF_TEXT = /^[dr]/; // these make another text; all others keep the tokens
const OF_TOKEN = /^[mdr](\d+)/; // at most one of these per token
const TOKEN = /^([tmdr])(\d+)(.*)$/s;
const LINK = /^(l[\d.]*:)(\d+)-(\d+)$/;

/** Heads removed. @type {(layer: number, heads: number[]) => string[]} */
export const removing = (layer, heads) => heads.map((head) => `h${layer}.${head}`);

/** Queries that may not attend to keys: in one head, or in all heads of the layer where several are chosen.
 * @type {(place: Place) => string[]} */
export function cutting({ layer, head, queries, keys }) {
  const where = typeof head === "number" ? `${layer}.${head}` : String(layer);
  return queries.flatMap((query) => keys.map((key) => `l${where}:${query}-${key}`));
}

/** Tokens hidden from every token. @type {(tokens: number[]) => string[]} */
export const hiding = (tokens) => tokens.map((token) => `t${token}`);

/** Tokens replaced by [MASK]. @type {(tokens: number[]) => string[]} */
export const masking = (tokens) => tokens.map((token) => `m${token}`);

export const deleting = (/** @type {number} */ token) => [`d${token}`];
export const replacing = (/** @type {number} */ token, /** @type {string} */ word) => [
  `r${token}:${encodeURIComponent(word.replace(/[\ud800-\udfff]/gu, "\ufffd"))}`,
];

export const makesText = (/** @type {string[]} */ codes) => codes.some((code) => OF_TEXT.test(code));

/** Whether two changes leave the same text, in which every token keeps its place.
 * @type {(one: string[], other: string[]) => boolean} */
export function samePlaces(one, other) {
  const [words, others] = [one, other].map((codes) => codes.filter((code) => OF_TEXT.test(code)));
  return words.length === others.length && words.every((code) => others.includes(code));
}

/** Codes with others added; where all of these are there already, without them. What is masked, deleted or
 * replaced anew is no longer what it was. @type {(codes: string[], others: string[]) => string[]} */
export function toggled(codes, others) {
  if (others.every((code) => codes.includes(code))) return codes.filter((code) => !others.includes(code));
  const anew = others.flatMap((code) => OF_TOKEN.exec(code)?.[1] ?? []);
  const left = codes.filter((code) => !anew.includes(OF_TOKEN.exec(code)?.[1] ?? "none"));
  return [...new Set([...left, ...others])];
}

/** Codes of one text's tokens as codes of another's, by each token's place there; null where one has none.
 * @type {(codes: string[], places: Int32Array) => string[] | null} */
export function moved(codes, places) {
  const found = codes.map((code) => movedOne(code, places));
  return found.every((code) => code !== null) ? found : null;
}

/** @type {(code: string, places: Int32Array) => string | null} */
function movedOne(code, places) {
  const at = (/** @type {string} */ token) => places[Number(token)] ?? -1;
  const [, kind, token, rest] = TOKEN.exec(code) ?? [];
  if (kind) return at(token) < 0 ? null : `${kind}${at(token)}${rest}`;
  const [, where, query, key] = LINK.exec(code) ?? [];
  if (!where) return code;
  return at(query) < 0 || at(key) < 0 ? null : `${where}${at(query)}-${at(key)}`;
}

/** The chosen tokens in another text: their places there; of one that is gone, what stands in its stead, or else
 * the nearest before it. @type {(chosen: { query: number, key: number }, places: Int32Array) =>
 *   { query: number, key: number }} */
export function carried({ query, key }, places) {
  const near = (/** @type {number} */ token) => {
    if (places[token] >= 0) return places[token];
    const before = places.subarray(0, token).findLast((place) => place >= 0) ?? -1;
    const after = places.subarray(token).find((place) => place >= 0) ?? before + 1;
    return Math.max(0, after > before + 1 ? before + 1 : before);
  };
  return { query: near(query), key: near(key) };
}
