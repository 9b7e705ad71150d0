// Which lines are drawn between tokens, and which of them are one token's.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  byToken,
  countSentence,
  eachAt,
  leastOf,
  linked,
  PAIRS,
  strongest,
  tokenSentence,
} from "../../assets/web/explore/strongest_lines.js";

const MAP = Float32Array.of(0.5, 0.25, 0.25, NaN, 1, 0.0003, 0.125, 0.75, 0.125, 0, 0, 0);
const SIDES = { rows: [0, 0, 1, 1], keys: [0, 0, 1] };
const ends = ({ query, key }) => query.map((row, at) => `${row}${key[at]}`);

test("each query's strongest up to a share, and those that are as strong", () => {
  const of = (share) => strongest(MAP, share, null, SIDES);
  assert.deepEqual(ends(of(0.5)), ["00", "11", "21"]);
  assert.deepEqual(ends(of(0.6)), ["00", "01", "02", "11", "21"]); // 0.25 twice
  assert.deepEqual(ends(of(1)), ["00", "01", "02", "11", "20", "21", "22"]);
  assert.deepEqual([of(1).faint, of(1).cells, of(0.5).faint], [1, 11, 0]);
  assert.deepEqual(of(0.5).weight, [0.5, 1, 0.75]);
});

test("a filter picks from the lines, and leaves the shares as they are", () => {
  const of = (pair, share) => strongest(MAP, share, PAIRS[pair], SIDES);
  assert.deepEqual(ends(of("AA", 1)), ["00", "01", "11"]);
  assert.deepEqual(ends(of("AB", 1)), ["02"]);
  assert.deepEqual(ends(of("BA", 0.5)), ["21"]);
  assert.deepEqual(ends(of("BB", 0.5)), []);
  assert.equal(of("AB", 1).cells, 2);
});

test("one token's lines are found by an index", () => {
  const found = strongest(MAP, 1, null, SIDES);
  const by = { query: byToken(found.query, 4), key: byToken(found.key, 4) };
  const at = (side, token) => {
    const lines = [];
    eachAt({ by }, { side, at: token }, (line) => lines.push(line));
    return lines;
  };
  assert.deepEqual([at("query", 0), at("query", 1), at("query", 3)], [[0, 1, 2], [3], []]);
  assert.deepEqual([at("key", 0), at("key", 1), at("key", 2), at("key", 3)], [[0, 4], [1, 3, 5], [2, 6], []]);
  const sets = [{ ...found, head: 0, by }];
  const joined = linked(sets, { side: "key", at: 1 });
  assert.deepEqual([[...joined.query], [...joined.key]], [[0, 1, 2], [1]]);
  assert.equal(leastOf(sets, { side: "query", at: 0 }, 3), 0);
  assert.equal(leastOf(sets, { side: "key", at: 1 }, 2), 0.75);
});

test("the lines in words", () => {
  const found = strongest(MAP, 1, null, SIDES);
  const by = { query: byToken(found.query, 4), key: byToken(found.key, 4) };
  const sets = [{ ...found, head: 2, by }];
  const plain = { hide: false, renorm: false, words: false };
  assert.equal(
    countSentence(sets, plain, false),
    "7 lines drawn of 11. 1 more is too faint to be seen (weight below 0.0004).",
  );
  const said = countSentence([], { hide: true, renorm: true, words: true }, true);
  assert.match(
    said,
    /^0 lines .* chosen query only\. .* tokens shown, renormalized to sum to 1\. Sub-words .* Choose a head/,
  );
  const index = ["a", "b", "c", "d"].map((name, at) => ({ name, tokens: [at + 5] }));
  const of = (side, at) => tokenSentence(sets, { side, at }, 3, index);
  assert.equal(of("query", 2), "Query 7 “c”: 3 lines, the strongest to key 6 “b” (head 3.2: 0.7500).");
  assert.equal(of("key", 1), "Key 6 “b”: 3 lines, the strongest from query 6 “b” (head 3.2: 1.0000).");
  assert.equal(of("query", 3), "Query 8 “d”: 0 lines.");
});
