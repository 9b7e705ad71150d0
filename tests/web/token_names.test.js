// Tokens in sentences: isolated where they are read from right to left, untouched elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { listed } from "../../assets/web/masks/mask_bits.js";
import { isolated, numbered, quoted, toldApart } from "../../assets/web/core/token_names.js";

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

test("sentences of several tokens isolate each", () => {
  assert.equal(listed([1, 0], ["dog", "سلام"]), "1 “\u2068سلام\u2069”, 0 “dog”");
});
