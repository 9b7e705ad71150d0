// Tables that the page holds: the one that ships is asked for once, and which table is of a run's model.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { TableStatistics, unfit } from "../../assets/web/explore/statistic_source.js";
import { isShipped, shippedTable, sourceOf, tableName } from "../../assets/web/views/head_tables.js";

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
const RUN = { model: "tiny", nLayers: 1, nHeads: 2, weights: "" };

test("the table that ships is asked for once, and again after a fault", async () => {
  answer = () => new Response("broken", { status: 500 });
  await assert.rejects(shippedTable());
  answer = () => new Response(JSON.stringify(TABLE));
  const [table, again] = await Promise.all([shippedTable(), shippedTable()]);
  assert.equal(asked, 2);
  assert.equal(table, again);
  assert.ok(isShipped(table) && !isShipped(TABLE));
});

test("a table stands for a run of the same model, shape and kind of weights", () => {
  assert.equal(unfit(TABLE, RUN), "");
  for (const other of [{ model: "other" }, { nLayers: 2 }, { nHeads: 3 }, { weights: "untrained" }])
    assert.match(unfit(TABLE, { ...RUN, ...other }), /^That table is of tiny \(1 layer × 2 heads\), this run of /);
  assert.match(unfit(TABLE, { ...RUN, weights: "untrained" }), /2 heads, random weights\)\. These statistics are of/);
  assert.notEqual(unfit({ ...TABLE, about: { ...TABLE.about, untrained: true } }, RUN), "");
});

test("a table's statistics are those that its texts have, each over the texts", () => {
  const statistics = new TableStatistics(TABLE);
  assert.deepEqual(statistics.names(), ["entropy"]);
  assert.equal(statistics.text("entropy").over, "Mean over the real queries. Averaged over 1 text: mine.csv.");
  assert.deepEqual(
    statistics.heads("entropy").map(({ name, value }) => [name, value]),
    [
      ["0.0", 1.5],
      ["0.1", null],
    ],
  );
  assert.equal(statistics.said("entropy", { layer: 0, head: 0 }), "Entropy. Head 0.0: 1.50 over 1 text.");
  const two = new TableStatistics({ ...TABLE, n_texts: { entropy: 2 } });
  const both = two.said("entropy", { layer: 0, head: 0 });
  assert.match(both, /^Entropy\. Head 0\.0: 1\.50 ± 0\.10 over 2 texts; from 1\.40 to 1\.60 in single texts\.$/);
});

test("a file is named without its folders", () => {
  assert.equal(sourceOf(TABLE), "mine.csv");
  assert.equal(sourceOf({ ...TABLE, about: { ...TABLE.about, source: "/tmp/a/b.txt" } }), "b.txt");
  assert.equal(tableName({ ...TABLE, about: { ...TABLE.about, source: "" } }), "a table (1 text, tiny)");
});
