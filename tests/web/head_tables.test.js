// Tables of heads: the one that ships is asked for once, and what a table says of its texts and of a head.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { shippedTable, spreadOf, tableName } from "../../assets/web/views/head_tables.js";

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
