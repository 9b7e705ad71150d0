// The Pooling tab without a page: order and cells of the square, the table's order, the losses' scale, numbers.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { sorted } from "../../assets/web/vectors/method_table.js";
import { alikeSaid, besideOthers, closest, cut, fixed, madeOf, small } from "../../assets/web/vectors/results.js";
import { placeIn } from "../../assets/web/vectors/set_link.js";
import { asked, secondText } from "../../assets/web/vectors/two_texts.js";
import { band } from "../../assets/web/vectors/similarity_matrix.js";

test("a frame is its cell's, at least three pixels, and inside the square", () => {
  assert.deepEqual(band(3, 10, 100), [30, 10]);
  assert.deepEqual(band(50, 1, 100), [49, 3]);
  assert.deepEqual(
    [band(0, 1, 100), band(99, 1, 100)],
    [
      [0, 3],
      [97, 3],
    ],
  );
});

test("the table is sorted either way, and what is not known comes last", () => {
  const rows = [
    { method: "mean", state: 2, silhouette: 0.1 },
    { method: "cls", state: 10, silhouette: null },
    { method: "max", state: 0, silhouette: -0.3 },
    { method: "last", state: 1, silhouette: 0.25 },
  ];
  const by = (column, down) => sorted(rows, column, down).map(({ method }) => method);
  assert.deepEqual(by("silhouette", true), ["last", "mean", "max", "cls"]);
  assert.deepEqual(by("silhouette", false), ["max", "mean", "last", "cls"]);
  assert.deepEqual(by("state", false), ["max", "last", "mean", "cls"]);
  assert.deepEqual(by("method", false), ["cls", "last", "max", "mean"]);
  assert.equal(rows[0].method, "mean"); // what was given stays as it is
});

test("numbers keep their digits, their minus and their size", () => {
  assert.deepEqual([fixed(-0.5), fixed(1 / 3, 4), fixed(null), fixed(NaN)], ["−0.500", "0.3333", "–", "–"]);
  assert.deepEqual(
    [small(null), small(0), small(0.25), small(0.00049), small(-3e-7)],
    ["–", "0", "0.250", "4.9e-4", "-3.0e-7"],
  );
  assert.deepEqual([cut("abcd", 4), cut("abcde", 4)], ["abcd", "abc…"]);
});

test("what a vector is made of names its largest parts, and none where others are as large", () => {
  const said = (tokens, shares) => madeOf(tokens, "mean", shares);
  const tokens = ["the", "dog", "the", "ran"];
  assert.equal(
    said(tokens, [0.5, 0.3, 0.15, 0.05]),
    "The “mean” vector is 50% “the” (token 0), 30% “dog” and 15% “the” (token 2).",
  );
  const even = "The “mean” vector has no larger part than 25%, from several of its 4 tokens.";
  assert.equal(said(tokens, [0.25, 0.25, 0.25, 0.25]), even);
  assert.equal(said(["dog"], [1]), "The “mean” vector is 100% “dog”.");
  const methods = ["declared", "mean", "last", "max"].map((name) => ({ name }));
  const cosines = [[1, 1, 0.8, 0.3]];
  assert.equal(
    besideOthers("declared", { methods, cosines }),
    "Of the other poolings, “mean” points the same way; “last” is nearest (cosine 0.80) and “max” farthest (0.30).",
  );
});

test("two texts are most alike by the pooling in which they stand out from any two texts", () => {
  const alike = { declared: 0.7, mean: 0.7, max: 0.9, attention: null };
  const usual = { declared: 0.1, mean: 0.1, max: 0.85 };
  assert.deepEqual(
    closest(alike, usual).map(({ name }) => name),
    ["declared", "mean", "max"],
  );
  const [start, more] = [
    "Against texts on different topics, these two are most alike by the model’s own pooling and “mean”: cosine 0.70, where those have 0.10.",
    " By “max” it is 0.90, where those have 0.85.",
  ];
  assert.equal(alikeSaid(alike, usual), start + more);
  const unlike =
    "By no pooling are these two more alike than texts on different topics; by “max”: cosine 0.50, where those have 0.85.";
  assert.equal(alikeSaid({ max: 0.5 }, usual), unlike);
  assert.equal(alikeSaid({ mean: 0.5 }, {}), "These two are most alike by “mean”: cosine 0.50.");
});

test("the second text is at first the twin of an example's minimal pair", () => {
  const link = { a: "it was tired", model: "m" };
  assert.equal(secondText({ link, swap: ["tired", "wide"] }), "it was wide");
  assert.equal(secondText({ link, swap: null }), "");
  assert.equal(secondText({ link: { run: "key" }, swap: ["tired", "wide"] }), "");
});

test("a second text is asked for by its pooling; none only of a pair", () => {
  const pooling = { layer: 3, method: "mean" };
  assert.equal(asked(" a & b ", false, pooling), "token_pairs?other=a+%26+b&method=mean&state=3");
  assert.equal(asked("  ", false, pooling), null);
  assert.equal(asked("", true, pooling), "token_pairs?other=&method=mean&state=3");
});

test("a place of a link is taken only where the set has it", () => {
  const set = { methods: { mean: "the mean" }, layers: [3, 6], names: ["a", "b"] };
  assert.deepEqual(placeIn("mean:6:1", set), { method: "mean", layer: 6, item: 1 });
  for (const gone of ["max:6:1", "mean:5:1", "mean:6:2", "mean:6", ""]) assert.equal(placeIn(gone, set), null);
});
