// Weights to colors and to text: known steps of the ramp, what lies at its ends, the strongest, and a figure's numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as colors from "../../assets/web/core/colors.js";
import { laidOut } from "../../assets/web/views/figure_layout.js";
import {
  gradient,
  pairOf,
  tintOf,
  descending,
  scaleOf,
  scaleText,
  strongestOf,
} from "../../assets/web/views/shading.js";
import { amount, number } from "../../assets/web/core/dom.js";
import { heatmapOf, plainText, unpack } from "../../assets/web/views/figure_numbers.js";
import { textsOf } from "../../assets/web/views/figure_table.js";

const paperColors = colors.paper();
const unpacked = (pixel) => [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255, pixel >>> 24];
const painted = (value, scale) => unpacked(colors.pixels(Float32Array.of(value), scale, paperColors)[0]);
const step = (number) => [...paperColors.ramp[number], 255];

test("the ramp ends in the palette's own ends and has 256 steps", () => {
  assert.equal(paperColors.ramp.length, 256);
  assert.deepEqual(paperColors.ramp[0], colors.rgb("#fafdfb"));
  assert.deepEqual(paperColors.ramp[255], colors.rgb("#0b0405"));
  assert.deepEqual(paperColors.ramp[51], colors.rgb("#a0dfb9")); // 2 of its 10 stretches
});

test("linear: a weight has the step that is its share of the largest", () => {
  const scale = colors.makeScale("head", 0.5);
  for (const at of [1, 2, 100, 127, 128, 254, 255]) {
    assert.deepEqual(painted((0.5 * at) / 255, scale), step(at));
    assert.deepEqual(colors.shade((0.5 * at) / 255, scale, paperColors), paperColors.ramp[at]);
  }
  assert.deepEqual(painted((0.5 * 99.4) / 255, scale), step(99));
  assert.deepEqual(painted((0.5 * 99.6) / 255, scale), step(100));
});

test("logarithmic: 1e-4 has the first step, each power of ten 63.75 more, 1 the last", () => {
  const scale = colors.makeScale("log", 0.5);
  for (const [value, at] of [
    [1e-4, 0],
    [1e-3, 64],
    [0.02, 147],
    [1e-1, 191],
    [1, 255],
  ]) {
    assert.deepEqual(painted(value, scale), step(at));
    assert.deepEqual(colors.shade(value, scale, paperColors), paperColors.ramp[at]);
  }
  assert.deepEqual(painted(1e-7, scale), step(0));
  for (const share of [0, 0.25, 0.5, 1]) assert.ok(Math.abs(scale.share(scale.at(share)) - share) < 1e-12);
});

test("square root: a weight has the step of its root, and ticks are weights", () => {
  const scale = colors.makeScale("sqrt", 0.5);
  for (const at of [1, 2, 100, 254, 255]) {
    assert.deepEqual(painted(0.5 * (at / 255) ** 2, scale), step(at));
    assert.ok(Math.abs(scale.at(at / 255) - 0.5 * (at / 255) ** 2) < 1e-12);
  }
});

test("percentiles: from the 1st to the 99th of the weights above 0, linearly, and clipped beyond", () => {
  const weights = Float32Array.from({ length: 203 }, (_, at) => (at < 201 ? (at + 1) / 256 : at === 201 ? 0 : NaN));
  weights.reverse(); // 201 weights: 1/256 … 201/256; their 1st and 99th percentiles are the 3rd and 199th
  assert.deepEqual(colors.percentiles(weights), [3 / 256, 199 / 256]);
  const between = colors.percentiles(Float32Array.of(0.25, 0.5));
  assert.ok(Math.abs(between[0] - 0.2525) < 1e-7 && Math.abs(between[1] - 0.4975) < 1e-7);
  const scale = colors.makeScale("percentile", 1, null, weights);
  assert.deepEqual(painted(101 / 256, scale), step(Math.round((255 * 98) / 196)));
  assert.deepEqual([painted(1 / 256, scale), painted(0.9, scale)], [step(0), step(255)]);
  assert.deepEqual([scale.at(0), scale.at(1)], [3 / 256, 199 / 256]);
  assert.equal(colors.makeScale("percentile", 0.5, null, Float32Array.of(0.5, 0.5)).low, 0); // no range: as a whole
  assert.equal(colors.makeScale("percentile", 0.5, null, new Float32Array()).high, 0.5);
});

test("0 and masked have colors of their own, and what lies beyond has the last one", () => {
  const scale = colors.makeScale("head", 0.5);
  assert.deepEqual(painted(0, scale), [...paperColors.zero, 255]);
  assert.deepEqual(painted(NaN, scale), [...paperColors.masked, 255]);
  assert.deepEqual(painted(0.7, scale), step(255));
  assert.deepEqual(colors.shade(0, scale, paperColors), paperColors.zero);
  assert.deepEqual(colors.shade(NaN, scale, paperColors), paperColors.masked);
  assert.deepEqual(colors.shade(0.7, scale, paperColors), paperColors.ramp[255]);
});

test("shared scales go up to the shared largest, and to 1 until it is known", () => {
  assert.equal(colors.makeScale("layer", 0.2, 0.8).high, 0.8);
  assert.deepEqual([colors.makeScale("all", 0.2).high, colors.makeScale("all", 0.2).waiting], [1, true]);
  assert.equal(colors.makeScale("shared", 0.2).high, 1);
  assert.equal(colors.makeScale("head", 0).high, 1);
});

test("rows: their largest, and each weight as a share of it", () => {
  const values = Float32Array.of(0.25, 0.5, NaN, 0, 0, NaN);
  assert.deepEqual([...colors.topsOf(values, 3)], [0.5, 0]);
  assert.deepEqual([...colors.byRow(values, 3, [0.5, 0])], [0.5, 1, NaN, 0, 0, NaN]);
  assert.deepEqual([colors.largest(values), colors.largest(values, 3)], [0.5, 0]);
  assert.deepEqual([colors.anyMasked(values), colors.anyMasked([0, 1])], [true, false]);
});

test("fewer cells keep the largest amount of each block, with its sign; only a block without any number is masked", () => {
  const values = Float32Array.of(0.1, NaN, 0.3, 0.2, -0.9, NaN, NaN, NaN);
  const { values: found, height, width } = colors.shrink(values, 2, 4, 1, 2);
  assert.deepEqual([height, width], [1, 2]);
  assert.deepEqual([[...found], colors.largestAmount(values)], [[...Float32Array.of(-0.9, 0.3)], Math.fround(0.9)]);
  const column = colors.shrink(Float32Array.of(1, 2, 3, 4, 5), 5, 1, 2, 1);
  assert.deepEqual([...column.values], [3, 5]); // rows 0 to 2, and 3 to 4
  const masked = colors.shrink(Float32Array.of(NaN, NaN, 0, 0), 2, 2, 2, 1);
  assert.deepEqual([...masked.values], [NaN, 0]);
  assert.equal(colors.shrink(values, 2, 4, 2, 4).values, values);
});

test("ink stands out from every color of the ramp by 4.5 : 1", () => {
  const light = ([r, g, b]) =>
    [0.2126 * r, 0.7152 * g, 0.0722 * b].reduce((sum, part, i) => {
      const share = [r, g, b][i] / 255;
      const linear = share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      return sum + (part / ([r, g, b][i] || 1)) * linear;
    }, 0);
  for (const color of paperColors.ramp) {
    const ink = colors.inkOn(color) === "#ffffff" ? 1 : 0;
    const [high, low] = [light(color), ink].sort((a, b) => b - a);
    assert.ok((high + 0.05) / (low + 0.05) > 4.5, colors.rgbText(color));
  }
});

test("signed colors: −1, 0 and 1 are the outer and the middle stop, and halves lie between", () => {
  const stops = colors.signedStops("light");
  for (const name of [colors.SIGNED, colors.CHANGE]) {
    const scale = colors.makeScale(name, 2);
    const color = (value) => colors.shade(value, scale, colors.paper(scale));
    assert.deepEqual(
      [-2, 0, 2, 7, -7].map(color),
      [0, 2, 4, 4, 0].map((at) => stops[at]),
    );
    assert.deepEqual(color(NaN), paperColors.masked);
    const half = color(name === colors.SIGNED ? 1 : 0.5); // of a change, by the root of its share
    assert.ok(half.every((part, at) => Math.abs(part - stops[3][at]) <= 1));
    assert.deepEqual(unpacked(colors.pixels([1], scale, colors.paper(scale))[0]).slice(0, 3), color(1));
  }
});

test("chips have their color and ink in 64 steps, from the first to the last of the ramp", () => {
  const scale = colors.makeScale("head", 1);
  const pair = (value) => pairOf(value, scale, paperColors);
  assert.equal(pair(1)[0], colors.rgbText(paperColors.ramp[255]));
  assert.equal(pair(32 / 63)[0], colors.rgbText(paperColors.ramp[130]));
  assert.equal(pair(32.6 / 63)[0], colors.rgbText(paperColors.ramp[134]));
  assert.equal(pair(1e-9)[0], colors.rgbText(paperColors.ramp[0]));
  assert.equal(pair(0)[0], colors.rgbText(paperColors.zero));
  assert.equal(pair(NaN)[0], colors.rgbText(paperColors.masked));
  assert.equal(pair(0.5), pair(0.5001));
});

test("on a dark page the zero of a figure's signed scale is dark, as that of the canvases", () => {
  const signs = ["#2b5c9e", "#8fb8de", "#f6f6f4", "#eba57f", "#a8321f"].map((color, at) => [at / 4, color]);
  const drawn = (dark, colorscale) => {
    const list = { contains: (name) => dark && name === "dark" };
    globalThis.document = { documentElement: { classList: list }, body: { classList: list } };
    globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" });
    const trace = { type: "heatmap", z: [[0]], x: ["a"], y: ["b"], colorscale };
    return laidOut({ data: [trace], layout: {} }, 800).data[0].colorscale;
  };
  assert.deepEqual(drawn(false, signs), signs);
  const dark = drawn(true, signs);
  assert.deepEqual(dark.map(([at]) => at), [0, 0.25, 0.5, 0.75, 1]); // biome-ignore format: a row
  assert.deepEqual(
    dark.map(([, color]) => color.match(/\d+/g).map(Number)),
    colors.signedStops("dark"),
  );
  assert.equal(dark[2][1], "rgb(28,32,40)");
  const other = signs.with(1, [0.25, "#00ff00"]);
  assert.deepEqual(drawn(true, other), other);
});

test("a tint is as opaque as its weight is large", () => {
  const nothing = { contains: () => false };
  globalThis.document = { documentElement: { classList: nothing }, body: { classList: nothing } };
  const scale = colors.makeScale("head", 0.5);
  assert.deepEqual(tintOf(0.25, scale, 0.8), [255, 59, 20, 102]);
  assert.deepEqual(tintOf(0, scale, 0.8), [255, 59, 20, 0]);
  assert.deepEqual(tintOf(9, scale, 1), [255, 59, 20, 255]);
  assert.deepEqual(tintOf(NaN, scale, 1), [...paperColors.masked, 168]);
  const [first, last] = [colors.rgbText(paperColors.zero), colors.rgbText(paperColors.ramp[255])];
  const drawn = gradient("right", scale, paperColors);
  assert.ok(drawn.startsWith(`linear-gradient(to right, ${first},`) && drawn.endsWith(`${last})`), drawn);
});

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
