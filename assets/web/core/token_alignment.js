// Matches tokens of two runs, so that a choice stays on its token.

/** @typedef {{ tokens: string[], words: (number | null)[], segments: (number | null)[] }} Tokens of one run */

const LONGEST = 600; // tokens between the common beginning and end, up to which these are aligned too

/** The place in `after` of each token of `before`, -1 where it has none: by the longest common subsequence, or by
 * place where the two are as long and differ in one word. @type {(before: Tokens, after: Tokens) => Int32Array} */
export function partners(before, after) {
  const [one, other] = [before.tokens, after.tokens];
  const found = new Int32Array(one.length).fill(-1);
  const shorter = Math.min(one.length, other.length);
  let [first, last] = [0, 0];
  while (first < shorter && one[first] === other[first]) found[first] = first++;
  while (last < shorter - first && one.at(-1 - last) === other.at(-1 - last))
    found[one.length - 1 - last] = other.length - 1 - last++;
  const [end, otherEnd] = [one.length - last, other.length - last];
  if (end === otherEnd && [before, after].every((run) => isOneWord(run, first, end))) return found.map((_, at) => at);
  if (Math.max(end, otherEnd) - first > LONGEST) return found;
  for (const [at, to] of commonSubsequence(one.slice(first, end), other.slice(first, otherEnd)))
    found[first + at] = first + to;
  return found;
}

/** @type {(run: Tokens, first: number, end: number) => boolean} */
function isOneWord({ words, segments }, first, end) {
  if (end - first <= 1) return true;
  const of = (/** @type {number} */ at) => `${segments[at]}:${words[at]}`;
  const places = Array.from({ length: end - first }, (_, at) => first + at);
  return words[first] != null && places.every((at) => of(at) === of(first));
}

/** The places of a longest common subsequence, rising in both.
 * @type {(one: string[], other: string[]) => [number, number][]} */
export function commonSubsequence(one, other) {
  const width = other.length + 1;
  const longest = new Uint16Array((one.length + 1) * width); // of the suffixes
  for (let at = one.length - 1; at >= 0; at--)
    for (let to = other.length - 1; to >= 0; to--) {
      const [down, right] = [longest[(at + 1) * width + to], longest[at * width + to + 1]];
      longest[at * width + to] = one[at] === other[to] ? 1 + longest[(at + 1) * width + to + 1] : Math.max(down, right);
    }
  /** @type {[number, number][]} */
  const pairs = [];
  for (let [at, to] = [0, 0]; at < one.length && to < other.length; )
    if (one[at] === other[to]) pairs.push([at++, to++]);
    else if (longest[(at + 1) * width + to] >= longest[at * width + to + 1]) at++;
    else to++;
  return pairs;
}
