// Tokens: isolated in sentences where they are read from right to left, and which of one run is which of another.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isolated, numbered, quoted, toldApart } from "../../assets/web/core/token_names.js";
import { commonSubsequence, partners } from "../../assets/web/core/token_alignment.js";

test("what is read from right to left is isolated", () => {
  for (const text of ["שלום", "سلام", "##لام", "don שלום", "ﷲ", "\u{1e900}"]) {
    assert.equal(isolated(text), `\u2068${text}\u2069`);
  }
  assert.equal(quoted("سلام"), "“\u2068سلام\u2069”");
  assert.equal(numbered(3, "سلام"), "3 “\u2068سلام\u2069”");
});

test("other text stays as it is", () => {
  for (const text of ["", "[CLS]", "naïve", "犬", "привет", "😀", "₹", "\ufeff"]) assert.equal(isolated(text), text);
  assert.equal(numbered("0–3", "dog"), "0–3 “dog”");
});

test("a token has its number where another has its name", () => {
  const names = ["the", "dog", "the", "سلام"];
  const told = names.map((_, at) => toldApart(names, at));
  assert.deepEqual(told, ["“the” (token 0)", "“dog”", "“the” (token 2)", "“\u2068سلام\u2069”"]);
  assert.equal(toldApart(["a dog", "saw", "a dog"], 2, String, 4), "a dog (token 4)"); // a word, by one of its tokens
});

/** A run of one word a token; "un+do" is a word of two. @param {string} text */
function run(text) {
  const parts = text.split(" ").map((word) => word.split("+"));
  const tokens = ["[CLS]", ...parts.flat(), "[SEP]"];
  const words = [null, ...parts.flatMap((each, at) => each.map(() => at)), null];
  return { tokens, words, segments: tokens.map(() => 0) };
}
const matched = (one, other) => [...partners(run(one), run(other))];
const TIRED = "the animal didn ' t cross the street because it was too tired";

test("a token is found again in a text of another length", () => {
  const found = matched(TIRED, "the animal was tired");
  assert.deepEqual(found, [0, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, 3, -1, 4, 5]);
  const longer = matched(TIRED, TIRED.replace("too", "so very old and"));
  assert.deepEqual([longer[10], longer[2], longer[13], longer[12]], [10, 2, 16, -1]);
});

test("one word changed for another keeps every place", () => {
  const all = [...Array(15).keys()];
  assert.deepEqual(matched(TIRED, TIRED.replace("tired", "wide")), all);
  assert.deepEqual(matched("we un+do it", "we re+make it"), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(matched("we do them it", "we see us it"), [0, 1, -1, -1, 4, 5], "two words are no swap");
});

test("the subsequence is a longest one, by trying all", () => {
  const letters = ["a", "b", "c"];
  let seed = 7;
  const draw = (n) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * n);
  };
  const longest = (one, other) =>
    one.reduce(
      (best, token, at) =>
        other.reduce(
          (most, same, to) =>
            same === token ? Math.max(most, 1 + longest(one.slice(at + 1), other.slice(to + 1))) : most,
          best,
        ),
      0,
    );
  for (let n = 0; n < 40; n++) {
    const [one, other] = [draw(7), draw(7)].map((length) => Array.from({ length }, () => letters[draw(3)]));
    const pairs = commonSubsequence(one, other);
    assert.equal(pairs.length, longest(one, other));
    assert.ok(pairs.every(([at, to]) => one[at] === other[to]));
    assert.ok(pairs.every(([at, to], n) => !n || (at > pairs[n - 1][0] && to > pairs[n - 1][1])));
  }
});

test("of long texts only the common beginning and end are found", () => {
  const middle = Array.from({ length: 700 }, (_, at) => `w${at}`).join(" ");
  const found = matched(`same ${middle} end`, `same new w5 ${middle.replace("w5 ", "")} other end`);
  assert.deepEqual([found[0], found[1], found[7], found.at(-2), found.at(-1)], [0, 1, -1, 704, 705]);
});
