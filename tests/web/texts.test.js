// The lesson's words: what is put into a sentence stands in it in the same order in every language.

import assert from "node:assert/strict";
import { test } from "node:test";
import { filled, woven } from "../../assets/web/learn/sentences.js";
import { DE } from "../../assets/web/learn/texts_de.js";
import { EN } from "../../assets/web/learn/texts_en.js";

/** Every text by its path. @returns {Generator<[string, unknown]>} */
function* flat(texts, path = "") {
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text === "object") yield* flat(text, `${path}${name}.`);
    else yield [path + name, text];
  }
}

const namesIn = (text) => Array.from(text.matchAll(/\{(\w+)/g), ([, name]) => name);

test("sentences are made of the same parts in all languages, and of all that they are given", () => {
  const translated = new Map(flat(DE));
  const sentences = [...flat(EN)].filter(([name]) => name.endsWith(")"));
  assert.ok(sentences.length > 50);
  for (const [name, text] of sentences) {
    assert.deepEqual(
      [...new Set(namesIn(text))].sort(),
      name
        .match(/\((.*)\)/)[1]
        .split(", ")
        .sort(),
      name,
    );
    assert.deepEqual(namesIn(translated.get(name)), namesIn(text), name);
  }
});

test("a choice is made by what is given, and nodes stand in the order of their marks", () => {
  const said = (/** @type {string | number} */ n) => filled("{n|=none|1=one|{n} of {all}}", { n, all: "{n}" });
  assert.deepEqual([said(""), said(1), said(11)], ["none", "one", "11 of {n}"]);
  assert.deepEqual(woven("\u0000 sees \u0000.", "a", "b"), ["", "a", " sees ", "b", "."]);
});
