// The Mask zoo: what differs between two lines of code, and which specimens a search finds.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { difference } from "../../assets/web/masks/lines.js";
import { matches } from "../../assets/web/masks/specimen_list.js";

const marked = (pieces) => pieces.map(({ text, changed }) => (changed ? `[${text}]` : text)).join("");

test("two lines differ in the words that are not in both", () => {
  const cases = [
    ["~mask", "mask", "[~]mask", "mask"],
    ["a b c", "a x c", "a [b] c", "a [x] c"],
    ["same", "same", "same", "same"],
    ["", "new", "", "[new]"],
  ];
  for (const [one, other, before, after] of cases) {
    assert.deepEqual(difference(one, other).map(marked), [before, after]);
  }
});

test("the pieces of a line are the line, and what is common is the same in both", () => {
  const [one, other] = ["scores.masked_fill(mask, -inf)  # keep", "scores.masked_fill(~mask.T, -1e9)"];
  const [before, after] = difference(one, other);
  const texts = (pieces, changed) => pieces.filter((piece) => piece.changed === changed).map(({ text }) => text);
  assert.equal(before.map(({ text }) => text).join(""), one);
  assert.equal(after.map(({ text }) => text).join(""), other);
  assert.equal(texts(before, false).join(""), texts(after, false).join(""));
  assert.deepEqual(texts(after, true), ["~", ".T", "1e9"]);
});

test("a specimen is found by all words of a search, in any case and order", () => {
  const text = "d1-window is_causal with a window of two";
  assert.ok(matches(text, "  Window IS_CAUSAL ") && matches(text, ""));
  assert.ok(!matches(text, "window three"));
});
