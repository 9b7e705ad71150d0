// What shades the words and the picture: their scales, the strongest, and numbers as text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, number } from "../../assets/web/core/dom.js";
import { heatmapOf, plainText, unpack } from "../../assets/web/views/figure_numbers.js";
import { textsOf } from "../../assets/web/views/figure_table.js";
import { descending, scaleOf, scaleText, strongestOf } from "../../assets/web/views/shading.js";

const VALUES = Float32Array.of(0.125, 0.5, 0, 0.25, NaN);

test("weights follow the page's scale; a row's is its own largest", () => {
  assert.equal(scaleOf("head", VALUES).high, 0.5);
  assert.equal(scaleOf("row", VALUES).high, 0.5);
  assert.equal(scaleOf("layer", VALUES, 0.75).high, 0.75);
  assert.equal(scaleOf("shared", VALUES).high, 1);
  assert.equal(
    scaleText(scaleOf("layer", VALUES, 0.25), "weight", VALUES),
    "weight; larger ones, up to 0.5000, are clipped",
  );
});

test("the strongest: the fewest that hold the share, the largest first", () => {
  assert.deepEqual(descending(VALUES), [1, 3, 0]);
  const half = strongestOf(VALUES, 0.5);
  assert.deepEqual([[...half.kept], half.count, half.held, half.whole], [[0, 1, 0, 0, 0], 1, 0.5, 0.875]);
  assert.equal(strongestOf(VALUES, 0.58).count, 2);
  assert.equal(strongestOf(VALUES, 1).count, 3);
});

test("numbers as text never read as zero where they are not", () => {
  assert.deepEqual([0.25, 0.00099, 0.00002, 0, NaN, null].map(number), [
    "0.2500",
    "0.000990",
    "2.00e-5",
    "0",
    "masked",
    "unknown",
  ]);
  assert.deepEqual(
    [amount(1.234, 2), amount(0.004, 2), amount(0, 2), amount(null, 2)],
    ["1.23", "0.00400", "0.00", "unknown"],
  );
});

test("a figure's numbers, packed or plain, and its texts", () => {
  const bdata = btoa(String.fromCharCode(...new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer)));
  assert.deepEqual([...unpack({ bdata, dtype: "f4", shape: "2, 3" }).values], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(
    unpack([
      [1, null],
      [3, 4],
    ]),
    { values: [1, null, 3, 4], shape: [2, 2] },
  );
  const marks = { type: "heatmap", showscale: false, z: [[0]] };
  const figure = { data: [marks, { type: "heatmap", z: [[1, null]], x: ["a<br>b", "c &amp; d"] }], layout: {} };
  const found = heatmapOf(figure);
  assert.deepEqual([found.rows, found.cols, [...found.values]], [1, 2, [1, NaN]]);
  assert.deepEqual([found.x, found.y], [["a b", "c & d"], ["0"]]);
  assert.equal(plainText(undefined), "");
});

test("of a large figure the first cells are listed, each of its own row", () => {
  const values = Float64Array.from({ length: 2 * 61 }, (_, at) => at);
  values[62] = NaN;
  const found = textsOf({ rows: 2, cols: 61, values }, [0]);
  assert.deepEqual([found.length, found[0].length], [2, 60]);
  assert.deepEqual([found[0].slice(0, 2), found[1].slice(0, 3)], [["masked", "1"], ["61", "", "63"]]); // biome-ignore format: rows
});
