// Rows and lines: which are drawn between tokens, and the numbers of a row or a column with what is said of them.

import "./address.js";
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
import { RowView } from "../../assets/web/explore/row_view.js";

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

const fresh = Object.assign(async (answer) => answer, { signal: null });
const TOKENS = ["[CLS]", "un", "##do", "it"];
const single = { units: [[0], [1], [2], [3]], places: [0, 1, 2, 3] };
const words = { units: [[0], [1, 2], [3]], places: [0, 1, 1, 2] };
const LISTS = { single, words };

function shown({ units, places }) {
  const named = units.map((tokens) => ({ tokens, name: tokens.map((at) => TOKENS[at].replace("##", "")).join("") }));
  return Object.assign(named, { places });
}

// Weights of a 4 × 4 map: 0.1 · query + 0.01 · key; of words, 10 times as many.
const run = {
  key: "r",
  tokens: TOKENS,
  named: (token) => `${token} “${TOKENS[token]}”`,
  shown: ({ words }) => shown(LISTS[words ? "words" : "single"]),
  async map(_view, rows, keys) {
    const n = rows[1];
    assert.deepEqual(
      [rows, keys],
      [
        [0, n],
        [0, n],
      ],
    );
    return { values: Float32Array.from({ length: n * n }, (_, at) => 0.125 * Math.floor(at / n) + 0.25 * (at % n)) };
  },
  shownRow: async ({ query }) => ({ values: Float32Array.of(0.1, 0.2, 0.3, query) }),
  shownColumn: async ({ key }) => ({ values: Float32Array.of(0.1, 0.2, 0.3, key) }),
};
const SELECTION = { layer: 2, head: 1, query: 1, key: 3, hide: false, renorm: false, words: false };
const made = (changes, direction = "looks") =>
  new RowView(run, { ...SELECTION, name: "2.1", kept: "all", ...changes }, direction);

test("a small run's rows and columns are of its whole map", async () => {
  const row = made({});
  assert.equal(row.asked, "r:looks:all:2.1:1");
  await row.fetch(fresh);
  assert.deepEqual([...row.values], [0.125, 0.375, 0.625, 0.875]);
  assert.deepEqual([...row.fromWhole(row.whole, 2)], [0.25, 0.5, 0.75, 1]);
  assert.equal(row.heading(1), "Where query 1 “un” looks (2.1)");
  assert.equal(row.sentence(1, row.values), "“un” looks most at “it” (0.88), “do” (0.63), “un” (0.38)");
  assert.equal(row.cell(row.values, 2), "2.1  query 1 “un” → key 2 “do”: 0.6250");
  const column = made({}, "who");
  await column.fetch(fresh);
  assert.deepEqual([...column.values], [0.75, 0.875, 1, 1.125]);
  assert.equal(column.side, "key");
  assert.match(column.sentence(3, column.values), /^“it” is looked at most by “it” \(1.13\)/);
  assert.equal(column.cell(column.values, 2), "2.1  query 2 “do” → key 3 “it”: 1.0000");
});

test("what a row was before a change is told of the row that was asked for, and of no other", async () => {
  const length = 600; // more than come as a whole map
  const units = Object.assign(
    Array.from({ length }, (_, at) => ({ name: `t${at}`, tokens: [at] })),
    { places: Array.from({ length }, (_, at) => at) },
  );
  const long = { ...run, tokens: units.map(({ name }) => name), shown: () => units };
  const found = (value) => async () => ({ values: new Float32Array(length).fill(value, 4, 5) });
  Object.assign(long, { shownRow: found(0.75) });
  const row = new RowView(long, { ...SELECTION, name: "2.1", kept: "all" }, "looks", "other");
  const were = Object.assign(units.slice(), { places: units.places, 4: { name: "was4", tokens: [4] } });
  await row.fetch(fresh, { ...long, shownRow: found(0.25), shown: () => were });
  assert.match(row.sentence(1, row.values), /looks most at “t4” \(0.75\); was “was4” \(0.25\)$/);
  assert.equal(row.asked, "r-other:looks:all:2.1:1");
  assert.match(row.sentence(2, row.values), /looks most at “t4” \(0.75\)$/);
});
