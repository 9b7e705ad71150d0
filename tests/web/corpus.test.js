// Tables of heads: heads ranked, differences with signs, texts marked by code points, sentences; the one that ships is asked for once.

import assert from "node:assert/strict";
import { test, afterEach, beforeEach } from "node:test";
import { digitsOf, spreadOf, shippedTable, tableName } from "../../assets/web/views/head_tables.js";
import { linesOf, relationSaid } from "../../assets/web/corpus/relations.js";
import { roleOf, roleSaid } from "../../assets/web/corpus/roles.js";
import * as tables from "../../assets/web/corpus/tables.js";
import { headName } from "../../assets/web/views/cells.js";

/** @type {(values: (number | null)[][]) => any} */
const table = (values) => ({
  about: { kind: "text" },
  shape: [values.length, values[0].length],
  n_texts: { previous: 3 },
  arrays: { previous: values, previous_sd: values, previous_least: values, previous_most: values },
});
const [ONE, TWO] = [
  table([
    [0.5, null],
    [0.1, 0.9],
  ]),
  table([
    [0.25, 0.2],
    [0.7, 0.9],
  ]),
];

test("heads stand in the order of their values, those without one nowhere", () => {
  assert.deepEqual(tables.ranked(ONE.arrays.previous).map(headName), ["1.1", "0.0", "1.0"]);
  assert.deepEqual(tables.ranked(TWO.arrays.previous, 1).map(headName), ["1.1"]);
});

test("a difference is this table less the other, ranked by its size", () => {
  assert.deepEqual(tables.difference(ONE, TWO, "previous"), [
    [0.25, null],
    [0.1 - 0.7, 0],
  ]);
  const found = tables.changes(ONE, TWO, "previous");
  assert.deepEqual(
    found.map(({ at }) => headName(at)),
    ["1.0", "0.0", "1.1"],
  );
  assert.equal(
    tables.changeSaid(found, "Weight on the previous token"),
    "Head 1.0 differs most in weight on the previous token: 0.10 here, 0.70 there (−0.60).",
  );
  assert.equal(tables.changeSaid(tables.changes(ONE, ONE, "previous"), "Entropy"), "No head differs in entropy.");
});

test("tables of other shapes, or without the statistic, are not subtracted", () => {
  assert.match(tables.incomparable(ONE, table([[1, 2, 3]]), "previous"), /2 × 2 heads .* the other 1 × 3/);
  assert.match(tables.incomparable(ONE, { ...TWO, arrays: {} }, "previous"), /does not have this statistic/);
  assert.equal(tables.incomparable(ONE, TWO, "previous"), "");
});

test("spans count code points, so letters of two code units move no mark", () => {
  const example = { texts: ["😀 a dog"], query_side: 0, key_side: 0, query_span: [4, 7], key_span: [2, 3] };
  assert.deepEqual(tables.markedParts(/** @type {any} */ (example), 0), [
    ["😀 ", ""],
    ["a", "key"],
    [" ", ""],
    ["dog", "query"],
  ]);
});

test("a head is read from its name, if the table has it", () => {
  assert.deepEqual(tables.headOf(ONE, "1.0"), { layer: 1, head: 0 });
  for (const name of ["2.0", "0.2", "1", "", "a.b"]) assert.equal(tables.headOf(ONE, name), null);
});

test("a spread too small for two decimals has more", () => {
  assert.deepEqual([0.2, 0.004, 0.0003, 0].map(digitsOf), [2, 3, 4, 2]);
  const pictured = spreadOf({ ...ONE, about: { kind: "image" } }, "previous", { layer: 0, head: 0 });
  assert.equal(pictured, "Head 0.0: 0.50 ± 0.50 over 3 pictures; from 0.50 to 0.50 in single pictures.");
});

test("a head has the role of the place with more than half of its attention, the largest first", () => {
  /** @type {(shares: Record<string, number | null>) => any} */
  const of = (shares) => ({
    arrays: Object.fromEntries(Object.entries(shares).map(([name, share]) => [name, [[share]]])),
  });
  const HEAD = { layer: 0, head: 0 };
  assert.equal(roleOf(of({ previous: 0.5, first: 0.4 }), HEAD), null);
  assert.equal(roleOf(of({ previous: 0.51, first: 0.4 }), HEAD)?.label, "prev");
  assert.equal(roleOf(of({ next: 0.6, punctuation: 0.7, delimiter: null }), HEAD)?.label, "punct");
  assert.equal(roleOf(of({ "offset_-2": 0.6 }), HEAD)?.label, "−2");
  assert.equal(roleOf(of({ "offset_+8": 0.6 }), HEAD)?.where, "the token 8 places after it");
  assert.equal(roleOf(of({ entropy: 3, confidence: 0.9, special: 0.9 }), HEAD), null);
  assert.equal(roleSaid(of({ same: 0.834 }), HEAD), "Role: 83% of its attention is on the query itself.");
  const faint = of({ same: 0.1, previous: 0.071, next: 0.3, delimiter: null });
  assert.equal(
    roleSaid(faint, HEAD),
    "No clear role: on average, 30% of its attention is on the next token, 10% on the query itself.",
  );
  const one = "No clear role: on average, 10% of its attention is on the query itself.";
  assert.equal(roleSaid(of({ same: 0.1 }), HEAD), one);
  assert.equal(roleSaid(of({ entropy: 3 }), HEAD), "");
});

test("relations stand in the order of how far their best head is above offset and random weights", () => {
  const found = linesOf({
    ...{ relations: ["det", "obj"], n_arcs: [40, 12], offsets: [1, -2], offset_accuracy: [0.9, 0.2] },
    accuracy: [
      [
        [0.1, 0.95],
        [0.2, 0.3],
      ],
      [
        [0.1, 0.2],
        [0.72, 0.3],
      ],
    ],
    random: [[[0.1, 0.2]], [[0.5, 0.3]]],
    ...{ direction: "to_head", n_sentences: 20, n_left_out: 0 },
  });
  assert.deepEqual(
    found.map(({ name, at, share, random }) => [name, headName(at), share, random]),
    [
      ["obj", "1.0", 0.72, 0.5],
      ["det", "0.1", 0.95, 0.2],
    ],
  );
  const said = "Head 1.0 attends most to the right word in 72% of “obj” arcs (offset −2: 20%, random weights: 50%).";
  assert.equal(relationSaid(found), said);
});

test("small changes have the decimals by which they are seen", () => {
  assert.deepEqual([0.6, 0.05, 0.0089, 0.00002, 0, 130].map(tables.decimalsOf), [2, 3, 4, 4, 2, 2]);
  assert.deepEqual(
    [tables.signed(-0.0089, 4), tables.signed(0.0089), tables.signed(-0.001)],
    ["−0.0089", "+0.01", "0.00"],
  );
  const found = [{ at: { layer: 1, head: 0 }, now: 0.8701, was: 0.879, change: -0.0089 }];
  assert.equal(
    tables.changeSaid(found, "Entropy"),
    "Head 1.0 differs most in entropy: 0.8701 here, 0.8790 there (−0.0089).",
  );
});

/** @type {any} */
const page = globalThis;
let asked = 0;
let answer = () => new Response("{}");
const before = page.fetch;

beforeEach(() => {
  asked = 0;
  page.document = { baseURI: "http://page/here/" };
  page.fetch = async () => {
    asked += 1;
    return answer();
  };
});
afterEach(() => {
  delete page.document;
  page.fetch = before;
});

/** @type {any} */
const TABLE = {
  about: { model: "tiny", source: "C:\\texts\\mine.csv", untrained: false },
  shape: [1, 2],
  counts: [1, 9, 0],
  n_texts: { entropy: 1, a_to_b: 0 },
  words: { entropy: { title: "Entropy", over: "Mean over the real queries." }, a_to_b: { title: "From A", over: "" } },
  arrays: {
    entropy: [[1.5, null]],
    entropy_sd: [[0.1, null]],
    entropy_least: [[1.4, null]],
    entropy_most: [[1.6, null]],
    a_to_b: [[null, null]],
  },
};

test("the table that ships is asked for once, and again after a fault", async () => {
  answer = () => new Response("broken", { status: 500 });
  await assert.rejects(shippedTable());
  answer = () => new Response(JSON.stringify(TABLE));
  const [table, again] = await Promise.all([shippedTable(), shippedTable()]);
  assert.equal(asked, 2);
  assert.equal(table, again);
});

test("a head is told with its spread over the texts", () => {
  const said = (n_texts, head) => spreadOf({ ...TABLE, n_texts }, "entropy", { layer: 0, head });
  assert.equal(said({ entropy: 1 }, 0), "Head 0.0: 1.50 over 1 text.");
  assert.equal(said({ entropy: 2 }, 0), "Head 0.0: 1.50 ± 0.10 over 2 texts; from 1.40 to 1.60 in single texts.");
  assert.equal(said({ entropy: 2 }, 1), "Head 0.1: not defined for any of these texts.");
});

test("a file is named without its folders", () => {
  assert.equal(tableName(TABLE), "mine.csv (1 text, tiny)");
  assert.equal(tableName({ ...TABLE, about: { ...TABLE.about, source: "/tmp/a/b.txt" } }), "b.txt (1 text, tiny)");
  assert.equal(tableName({ ...TABLE, about: { ...TABLE.about, source: "" } }), "a table (1 text, tiny)");
});
