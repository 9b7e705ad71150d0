// The lesson's words: what is put into a sentence stands in it in the same order in every language.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TEXTS } from "../../assets/web/learn/texts.js";

/** Every text by its path. @returns {Generator<[string, unknown]>} */
function* flat(texts, path = "") {
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text === "object") yield* flat(text, `${path}${name}.`);
    else yield [path + name, text];
  }
}

// Which of the given numbers a sentence has, in its order; each is a list of one, which some texts join.
function given(text) {
  const numbers = Array.from({ length: text.length }, (_, at) => [101 + 7 * at]);
  return JSON.stringify(text(...numbers)).match(/\b1\d\d\b/g);
}

const { en, ...others } = TEXTS;
for (const [code, texts] of Object.entries(others))
  test(`sentences are made of the same parts in en and ${code}`, () => {
    const translated = new Map(flat(texts));
    const functions = [...flat(en)].filter(([name, text]) => typeof text === "function" && name !== "exercise.level");
    assert.ok(functions.length > 50);
    for (const [name, text] of functions) {
      const parts = given(text);
      assert.ok(parts?.length, name);
      assert.deepEqual(given(translated.get(name)), parts, name);
    }
  });
