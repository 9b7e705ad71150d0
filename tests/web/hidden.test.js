// The Vectors tab's scales, words and blocks of tokens.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { layerNear, layerPlace, PlaneScale, roundEnds, ticks } from "../../assets/web/views/scales.js";
import { blockOf, sentence } from "../../assets/web/vectors/similarity_matrix.js";
import { afterBlocks } from "../../assets/web/core/states.js";
import { wayOf } from "../../assets/web/vectors/token_similarity.js";
import { digits } from "../../assets/web/vectors/layer_chart.js";

const near = (got, expected) => {
  assert.equal(got.length, expected.length);
  for (const [at, value] of expected.entries())
    assert.ok(Math.abs(got[at] - value) < 1e-9, `${got} is not ${expected}`);
};

test("the sentence says which way the cosines went, also where they turn", () => {
  assert.equal(wayOf([0.1, 0.3, 0.6]), "The tokens grow alike");
  assert.equal(wayOf([0.6, 0.61, 0.2]), "The tokens grow apart");
  assert.equal(wayOf([0.4, 0.1, 0.5]), "The tokens grow apart, then alike");
  assert.equal(wayOf([0.1, 0.6, 0.2]), "The tokens grow alike, then apart");
  assert.equal(wayOf([0.3]), "The tokens stay as alike");
});

test("an axis ends in round numbers that hold all values", () => {
  near(roundEnds(0, 7.3), [0, 8]);
  near(roundEnds(0, 1), [0, 1]);
  near(roundEnds(-0.2, 1), [-0.5, 1.5]);
  near(roundEnds(0, 0.09), [0, 0.1]);
  near(roundEnds(3, 3), [3, 4]);
});

test("ticks are round numbers between the ends", () => {
  near(ticks(0, 10), [0, 5, 10]);
  near(ticks(-1, 1), [-1, -0.5, 0, 0.5, 1]);
  near(ticks(0.13, 0.87), [0.2, 0.4, 0.6, 0.8]);
  near(ticks(-3100, 4200), [-2000, 0, 2000, 4000]);
});

test("layers stand evenly between the ends, a single one in the middle; a click means the nearest", () => {
  const layers = { count: 5, left: 50, right: 250 };
  near(
    [0, 1, 4].map((layer) => layerPlace(layer, layers)),
    [50, 100, 250],
  );
  near([layerPlace(0, { ...layers, count: 1 })], [150]);
  assert.deepEqual(
    [0, 74, 76, 124, 126, 999].map((x) => layerNear(x, layers)),
    [0, 0, 1, 1, 2, 4],
  );
  assert.equal(layerNear(240, { ...layers, count: 1 }), 0);
});

test("a plane is as long along both axes, its points in the middle of 94 % of the room", () => {
  const scale = new PlaneScale([0, 0, 4, 1, 2, 3], { left: 10, right: 210, top: 20, bottom: 120 });
  near(scale.each, [3 / 94, 3 / 94]); // the taller side decides
  near(scale.place(0), [110 - (2 * 94) / 3, 70 + 1.5 * (94 / 3)]);
  near(scale.place(1), [110 + (2 * 94) / 3, 70 + 0.5 * (94 / 3)]);
  near(
    [scale.x(scale.low[0]), scale.y(scale.low[1]), scale.x(scale.high[0]), scale.y(scale.high[1])],
    [10, 120, 210, 20],
  );
  const apart = new PlaneScale([2, -1, 4, -3], scale.box, false); // two units: each axis is filled, from 0 on
  near([...apart.low, ...apart.high], [2 - 2 / 0.94, -1.5 - 1.5 / 0.94, 2 + 2 / 0.94, -1.5 + 1.5 / 0.94]);
});

test("of points in reach the nearest is meant", () => {
  const scale = new PlaneScale([0, 0, 1, 0, 2, 0], { left: 0, right: 100, top: 0, bottom: 100 });
  const [[x, y], [apart]] = [scale.place(1), scale.place(2)];
  assert.equal(scale.nearest(x + 1, y, 60), 1);
  assert.equal(scale.nearest((x + apart) / 2, y, 5), -1);
});

test("numbers have four digits, and powers of ten where they are very large or small", () => {
  const said = [0, -0.5, 12.3456, 123456, 0.00001234, -1e5, null, NaN].map(digits);
  assert.deepEqual(said, ["0", "-0.5", "12.35", "1.23e+5", "1.23e-5", "-1.00e+5", "not defined", "not defined"]);
  assert.deepEqual([0, 1, 2].map(afterBlocks), ["in the embeddings", "after 1 block", "after 2 blocks"]);
});

test("a token is in the block that its place among the kept tokens is in", () => {
  const blocks = { kept: [1, 2, 4, 5, 7], edges: [0, 2, 4, 5] };
  assert.deepEqual(
    [1, 2, 4, 5, 7].map((token) => blockOf(blocks, token)),
    [0, 0, 1, 1, 2],
  );
  assert.deepEqual(
    [0, 3, 8].map((token) => blockOf(blocks, token)),
    [-1, -1, -1],
  );
  const cells = { ...blocks, values: Float32Array.of(0, 0, 0, 0, 0, 0.5, 0, NaN, 0) };
  const said = (row, column) => sentence({ named: String }, cells, [row, column]);
  assert.equal(said(1, 2), "tokens 4–5 and 7: mean cosine 0.5000");
  assert.equal(said(2, 1), "7 and tokens 4–5: mean cosine not defined");
});
