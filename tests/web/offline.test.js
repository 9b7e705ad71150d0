// A document's maps: bytes to weights, and what is said of a cell and of a row, against numbers made by hand.

import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";
import { borderAt, bordered } from "../../assets/web/core/border.js";
import { digits, KeptMap, plain, readMaps, unpack } from "../../assets/web/offline/maps.js";
import { readRow, sentenceOf, shortName, weight } from "../../assets/web/offline/row_reading.js";

const sides = { cross: false, counts: [2, 2], shape: [2, 2] };
const facts = /** @type {any} */ ({
  tokens: ["a", "b", "c", "d", "e"],
  segments: [0, 0, 0, 1, 1],
  others: ["x", "y", "z"],
  levels: 4,
  heads: [3, 1],
  maps: [
    { ...sides, layer: 0, head: 0, top: 0.5 },
    { ...sides, layer: 0, head: 1, top: 1 },
    { cross: true, counts: [5, 3], shape: [2, 3], layer: 1, head: 0, top: 0.8 },
  ],
  kept: [{ segments: [1] }, null],
  opening: { layer: 1, head: 0, query: 0 },
  chosen: { ...sides, layer: 0, head: 1, name: "layer 0, head 1" },
});
const bytes = Uint8Array.from([0, 1, 4, 255, /**/ 1, 2, 3, 4, /**/ 4, 3, 2, 1, 0, 255]);
const cells = Float32Array.from([0.25, 0.75, NaN, 0.5]);
/** @type {(given?: object, steps?: Uint8Array | Uint16Array) => { layers: KeptMap[][], opened: KeptMap }} */
const read = (given = {}, steps = bytes) =>
  /** @type {any} */ (
    readMaps(
      { ...facts, ...given },
      /** @type {ArrayBuffer} */ (steps.buffer),
      /** @type {ArrayBuffer} */ (cells.buffer),
    )
  );
const same = (/** @type {Float32Array} */ found, /** @type {number[]} */ wanted) =>
  assert.deepEqual(found, Float32Array.from(wanted));

test("zlib in base64 is unpacked", async () => {
  const packed = deflateSync(Uint8Array.from([7, 0, 255])).toString("base64");
  assert.deepEqual([...new Uint8Array(await unpack(packed))], [7, 0, 255]);
});

test("a byte is so many steps of its map's largest weight, and 255 is masked", () => {
  const { layers } = read();
  same(layers[0][0].values(), [0, 0.125, 0.5, NaN]);
  same(layers[1][0].values(), [0.8, 0.6, 0.4, 0.2, 0, NaN]);
  assert.equal(layers[0][0].off, 0.0625); // half a step
  assert.deepEqual([layers[0][0].about.segments, layers[0][0].about.name, layers[0][2]], [[1], "0.0", null]);
  const fine = read({ levels: 65534 }, Uint16Array.of(65535, 65534, 32767, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 65534));
  same(fine.layers[0][0].values(), [NaN, 0.5, 0.25, 0]);
  const without = read({ chosen: null });
  assert.deepEqual([without.opened, without.layers[0][1].top], [without.layers[1][0], 1]);
});

test("the chosen map is exact and stands in its place, unless it is of several heads", () => {
  const { layers, opened: chosen } = read();
  assert.equal(layers[0][1], chosen);
  assert.deepEqual([chosen.top, chosen.off, chosen.kept], [0.75, 0, "Exact, float32."]);
  const fused = read({ chosen: { ...facts.chosen, head: null, note: "Mean." } });
  same(fused.layers[0][1].values(), [0.25, 0.5, 0.75, 1]);
  assert.equal(fused.opened.kept, "Exact, float32. Mean.");
});

test("cells are called by their tokens, blocks by the first and the last", () => {
  const { layers, opened: chosen } = read();
  const pooled = layers[1][0];
  assert.equal(chosen.sentence(0, 1, 0.75), "query 0 “a” → key 1 “b”: weight 0.75");
  assert.equal(chosen.label(1, 1, false), "1 b");
  assert.deepEqual([pooled.label(0, 0), pooled.label(0, 1), pooled.label(1, 2)], ["0–2", "3–4", "2 “z”"]);
  assert.equal(pooled.sentence(1, 0, 0.2), "query 3–4 → key 0 “x”: weight 0.2 ± 0.1, the largest of the block");
  assert.equal(pooled.sentence(1, 2, NaN), "query 3–4 → key 2 “z”: masked, may not attend");
  assert.match(pooled.kept, /^Stored in 8 bits: 4 steps .* weight, 0.8, .* at most 0.1\. Each cell .* up to 3 × 1\.$/);
});

test("merged words have their own names and numbers", () => {
  const about = {
    names: [
      ["ab", "c"],
      ["ab", "c"],
    ],
    numbers: [
      ["0–1", "2"],
      ["0–1", "2"],
    ],
  };
  const { opened: chosen } = read({ chosen: { ...facts.chosen, ...about } });
  assert.equal(chosen.sentence(0, 1, 0.5), "query 0–1 “ab” → key 2 “c”: weight 0.5");
});

test("a row of a map without special tokens is that of its token in the run, and back", () => {
  const about = { ...facts.chosen, counts: [4, 4], shape: [2, 2], queries: [1, 2, 4, 5] };
  const { opened: chosen } = read({ chosen: about });
  assert.deepEqual([0, 1].map((row) => chosen.tokenAt(row)), [1, 4]); // biome-ignore format: a row
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6].map((token) => chosen.rowOf(token)),
    [0, 0, 0, 0, 1, 1, 1],
  );
});

test("digits and characters that would not be seen", () => {
  assert.deepEqual([digits(0, 3), digits(0.000123456, 3), digits(0.5, 4)], ["0", "0.000123", "0.5"]);
  assert.equal(plain("a\u202eb\tc"), "a⟨U+202E⟩b⟨U+0009⟩c");
  assert.equal(plain("👩\u200d🔬 é"), "👩\u200d🔬 é"); // joined emoji stay
});

test("text B begins at its first token, in cells of the map, and not along another sequence's keys", () => {
  const { layers, opened: chosen } = read();
  assert.deepEqual(layers[1][0].borders, [3 / 3, -1]); // blocks of three queries
  const kept = { ...facts.chosen, counts: [4, 4], shape: [4, 4], segments: [0, 1, 1, 1] };
  assert.deepEqual(read({ chosen: kept }).opened.borders, [1, 1]);
  assert.deepEqual(read({ segments: [0, 0, 0, 0, 0] }).opened.borders, [-1, -1]);
  assert.equal(borderAt([1, 1]), -1); // nothing is before it
  assert.deepEqual(chosen.borders, [3, 3]);
});

test("of a border and its letters, what is in sight is drawn", () => {
  assert.deepEqual(bordered(4, 0, 10), {
    at: 4,
    letters: [
      ["A", 2, 4],
      ["B", 7, 6],
    ],
  });
  assert.deepEqual(bordered(4, 3, 7), {
    at: 1,
    letters: [
      ["A", 0.5, 1],
      ["B", 2.5, 3],
    ],
  });
  assert.deepEqual(bordered(4, 5, 9), { at: null, letters: [["B", 2, 4]] });
  assert.deepEqual(bordered(-1, 0, 9), { at: null, letters: [] });
});

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
