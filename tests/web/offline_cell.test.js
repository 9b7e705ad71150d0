// One query's row of a map in words, against numbers made by hand.

import assert from "node:assert/strict";
import test from "node:test";
import { KeptMap } from "../../assets/web/offline/maps.js";
import { readRow, sentenceOf, shortName, weight } from "../../assets/web/offline/reading.js";

const names = { tokens: ["[CLS]", "it", "was", "[SEP]"], others: ["x", "y"] };
const square = { cross: false, counts: [4, 4], shape: [4, 4], layer: 3, head: 1, name: "3.1" };
const map = new KeptMap(names, square, () => new Float32Array(16), 0.8, 254);
const special = (/** @type {number} */ key) => key === 0 || key === 3;
const row = (/** @type {number[]} */ ...weights) => Float32Array.from(weights);
/** @type {(weights: Float32Array, of?: KeptMap, query?: number) => string} */
const said = (weights, of = map, query = 1) =>
  sentenceOf(of, query, readRow(weights, special))
    .map((part) => (typeof part === "string" ? part : part.name))
    .join("");

test("the strongest first, and what the rest share", () => {
  const found = readRow(row(0.1, 0.3, 0.05, 0.2, 0.15, 0.12, 0.06, 0.02, NaN), () => false);
  assert.deepEqual(
    found.strongest.map(({ at }) => at),
    [1, 3, 4, 5, 0, 6],
  );
  assert.deepEqual([found.others, found.rest.toFixed(4), found.word], [2, "0.0700", null]);
});

test("a sentence names the strongest key, and the strongest word where that key is none", () => {
  assert.equal(said(row(0.1, 0.1, 0.7, 0.1)), "Head 3.1: it looks most at was: 0.70 of its attention.");
  assert.equal(
    said(row(0.6, 0.1, 0.3, 0)),
    "Head 3.1: it looks most at [CLS]: 0.60 of its attention. Among the words, at was: 0.30.",
  );
  assert.equal(said(row(0, 1, 0, 0)), "Head 3.1: it looks most at itself: 1.00 of its attention.");
  assert.equal(said(row(0, 0, NaN, NaN)), "Head 3.1: it looks at nothing: all its weights are 0 or masked.");
});

test("blocks are called by their numbers", () => {
  const pooled = new KeptMap(names, { ...square, shape: [2, 2] }, () => new Float32Array(4), 1, 254);
  assert.equal(shortName(pooled, 1, 1), "tokens 2–3");
  assert.equal(said(row(0.2, 0.5), pooled, 0), "Head 3.1: the largest weight of tokens 0–1 goes to tokens 2–3: 0.50.");
});

test("another sequence's keys have their own names", () => {
  const cross = new KeptMap(names, { ...square, cross: true, counts: [4, 2], shape: [4, 2] }, () => row(), 1, 254);
  assert.equal(said(row(0.4, 0.6), cross), "Head 3.1: it looks most at y: 0.60 of its attention.");
});

test("two decimals, more where these would be 0", () => {
  assert.deepEqual([0.642, 0.005, 0.0045, 0].map(weight), ["0.64", "0.01", "0.0045", "0"]);
});
