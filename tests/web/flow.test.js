// The Flow tab's list of tokens, its sentences, and where the controls of a view begin.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Run } from "../../assets/web/core/run.js";
import { startOf } from "../../assets/web/flow/any_view.js";
import { rowSaid } from "../../assets/web/flow/layer_reading.js";
import { matching, walked } from "../../assets/web/flow/token_list.js";

const tokens = ["[CLS]", "The", "street", "2", "STREETS", "[SEP]"];
const numbered = (from, to) => Array.from({ length: to - from }, (_, at) => from + at);

test("without a search those around the chosen token are listed, as many at either end", () => {
  const [many, every] = [Array(1000).fill("a"), numbered(0, 1000)];
  assert.deepEqual(matching(many, " ", 500, every).shown, numbered(400, 600));
  assert.deepEqual(matching(many, "", 0, every).shown, numbered(0, 200));
  assert.deepEqual(matching(many, "", 100, every).shown, numbered(0, 200));
  assert.deepEqual(matching(many, "", 101, every).shown, numbered(1, 201));
  assert.deepEqual(matching(many, "", 999, every).shown, numbered(800, 1000));
  assert.equal(matching(many, "", 999, every).total, 1000);
  assert.deepEqual(matching(tokens, "", -1, numbered(0, 6)), { shown: numbered(0, 6), total: 6 });
});

test("a search finds parts of a token's text, and a token's whole number", () => {
  assert.deepEqual(matching(tokens, " Street ", 0, numbered(0, 6)).shown, [2, 4]);
  assert.deepEqual(matching(tokens, "2", 0, numbered(0, 6)).shown, [2, 3]);
  assert.deepEqual(matching(Array(12).fill("a"), "1", 0, numbered(0, 12)).shown, [1]);
  assert.deepEqual(matching(tokens, "nothing", 0, numbered(0, 6)), { shown: [], total: 0 });
  assert.deepEqual(matching(Array(300).fill("a"), "A", 299, numbered(0, 300)), { shown: numbered(0, 200), total: 300 });
});

test("keys walk among the listed tokens, and beyond them where they are a part of all", () => {
  assert.equal(walked("ArrowDown", [3, 4, 5], 4, numbered(0, 9)), 5);
  assert.equal(walked("ArrowRight", [3, 4, 5], 5, numbered(0, 9)), 6);
  assert.equal(walked("ArrowDown", [3, 4, 5], 5, numbered(0, 6)), 5);
  assert.equal(walked("ArrowUp", [3, 4, 5], 4, numbered(0, 9)), 3);
  assert.equal(walked("ArrowLeft", [3, 4, 5], 3, numbered(0, 9)), 2);
  assert.equal(walked("ArrowUp", [0, 1], 0, numbered(0, 9)), 0);
  assert.deepEqual(
    ["Home", "End"].map((key) => walked(key, [3, 4, 5], 4, numbered(0, 9))),
    [3, 5],
  );
});

test("among what was searched keys stay, and begin at the first", () => {
  assert.equal(walked("ArrowDown", [2, 4], 4, []), 4);
  assert.equal(walked("ArrowUp", [2, 4], 2, []), 2);
  assert.equal(walked("ArrowDown", [2, 4], 7, []), 2);
  assert.equal(walked("ArrowUp", [2, 4], 7, []), 2);
});

test("hidden tokens are neither listed nor walked to", () => {
  const words = [1, 2, 4]; // 0, 3 and 5 are special
  assert.deepEqual(matching(tokens, "", 0, words), { shown: words, total: 3 });
  assert.deepEqual(matching(tokens, "s", 1, words).shown, [2, 4]); // not [CLS], nor [SEP]
  assert.equal(walked("ArrowDown", [1, 2], 2, words), 4);
  assert.equal(walked("ArrowUp", [2, 4], 2, words), 1);
  assert.equal(walked("ArrowUp", words, 1, words), 1);
  assert.equal(walked("ArrowDown", words, 4, words), 4);
});

test("a row is said of its query and layer, and a part in brackets only of a query", () => {
  const template = "What rises[, read at {query}], {after}, of layer {layer}";
  assert.equal(
    rowSaid(template, "3 “$&{layer}[x]”", 2, 3),
    "What rises, read at 3 “$&{layer}[x]”, after 3 blocks, of layer 2",
  );
  assert.equal(rowSaid(template, "", 0, 1), "What rises, after 1 block, of layer 0");
});

test("a control begins at what is selected, where the view has that; else as usual", () => {
  const control = (more) => ({ name: "head", words: ["mean"], most: 3, default: 1, ...more });
  assert.equal(startOf(control(), { head: 3 }), 3);
  assert.equal(startOf(control(), { head: 4 }), 1);
  assert.equal(startOf(control(), { head: "mean" }), "mean");
  assert.equal(startOf(control(), { head: "1,2" }), 1);
  assert.equal(startOf(control({ name: "show" }), { head: 3 }), 1);
  assert.equal(startOf(control({ default: null }), { head: 3 }), "");
});

test("views stand where they say, in their order; a view without a place stands nowhere", async () => {
  const place = (tab, slot, order) => ({ tab, slot, order });
  const run = new Run({ tokens: ["[CLS]", "cat", "[PAD]"], special: [true, false, false], valid: [true, true, false] });
  run.views = async () => ({
    third: { name: "third", place: place("flow", "answer", 3) },
    none: { name: "none", place: null },
    second: { name: "second", place: place("flow", "query", 2) },
    other: { name: "other", place: place("hidden", "query", 0) },
    first: { name: "first", place: place("flow", "query", 1) },
  });
  const names = async (...where) => (await run.viewsAt(...where)).map(({ name }) => name);
  assert.deepEqual(await names("flow"), ["first", "second", "third"]);
  assert.deepEqual(await names("flow", "query"), ["first", "second"]);
  assert.deepEqual(await names("flow", "none"), []);
  assert.deepEqual([run.real(), run.real(true), run.named(1)], [[0, 1], [1], "1 “cat”"]);
});
