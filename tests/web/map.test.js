// The big map without a screen: its parts, its words, what the pointer and keys do, and where things are drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { outside, sentence, ticks } from "../../assets/web/explore/legend.js";
import { drawOver, exactCells, printed, scaled } from "../../assets/web/explore/map_drawing.js";
import { Gestures, moved } from "../../assets/web/explore/map_gestures.js";
import { cellSentence, heading } from "../../assets/web/explore/map_heading.js";
import { withDpi } from "../../assets/web/explore/png_resolution.js";
import { Tiles } from "../../assets/web/explore/tiles.js";
import { makeScale } from "../../assets/web/core/colors.js";
import { Viewport } from "../../assets/web/core/viewport.js";
import { View } from "../../assets/web/core/view.js";
import { CellCanvas } from "../../assets/web/views/cell_canvas.js";
import { viewNode } from "./view_node.js";

const VIEW = { layer: 3, head: 5, hide: false, renorm: false, words: false };
const fresh = Object.assign(async (answer) => answer, { signal: new AbortController().signal });

// A run of n tokens whose weight is 10 · query + key, and the map that shows it.
function shownMap(n) {
  const asked = [];
  const shown = Object.assign(
    Array.from({ length: n }, (_, at) => ({ name: `t${at}`, tokens: [at] })),
    { places: Int32Array.from({ length: n }, (_, at) => at) },
  );
  const map = async (view, rows, keys, more) => {
    asked.push(`${view.head} ${rows} ${keys}${more}`);
    const step = Math.max(1, Math.ceil((rows[1] - rows[0]) / 512));
    const shape = [rows, keys].map(([start, stop]) => Math.ceil((stop - start) / step));
    const values = Float32Array.from({ length: shape[0] * shape[1] }, (_, at) => {
      return 10 * (rows[0] + step * Math.floor(at / shape[1])) + keys[0] + step * (at % shape[1]);
    });
    return { values, shape, step: [step, step], empty: 0, total: 7, tops: more ? new Float32Array(shape[0]) : null };
  };
  const run = { key: "r", n, shown: () => shown, thumbnail: () => null, map };
  const selection = { ...VIEW, name: "3.5", kept: "all", query: 1, key: 2, set: (to) => Object.assign(selection, to) };
  const node = viewNode();
  const given = { run, selection, shown, node, view: new Viewport(n), left: 30, top: 20, side: 100, chosen: [1, 2] };
  const drawn = Object.assign(new View(), given, { clipped: CellCanvas.prototype.clipped });
  Object.assign(drawn, { arrivals: 0, moves: 0, arrived: () => drawn.arrivals++, moved: () => drawn.moves++ });
  Object.assign(drawn, { prepared: [], prepare: (tile) => drawn.prepared.push(tile) });
  drawn.parts = new Tiles(drawn);
  return { map: drawn, run, asked };
}

test("a small map comes whole and exact", async () => {
  const { map, run, asked } = shownMap(4);
  assert.equal(await map.parts.load(run, fresh), true);
  assert.deepEqual([asked, map.arrivals, map.node.dataset.painted], [["5 0,4 0,4"], 1, "r:3.5:all"]);
  assert.equal(map.parts.at(2, 3).value, 23);
  assert.deepEqual([...map.parts.list[0].tops], [3, 13, 23, 33]);
  assert.equal(map.parts.list[0].most, 33);
  await map.parts.load(run, fresh);
  await map.parts.expect({ layer: 2, head: 7 });
  assert.deepEqual([asked, map.prepared.length, map.arrivals], [["5 0,4 0,4", "7 0,4 0,4"], 1, 1]);
  Object.assign(map.selection, { name: "2.7", layer: 2, head: 7 });
  await map.parts.load(run, fresh);
  assert.deepEqual([asked.length, map.parts.list], [2, map.prepared]); // as it was prepared
  assert.equal(await shownMap(0).map.parts.at(0, 0).tile, undefined);
});

test("what is measured ahead of a click is taken over by it, and stops where the head is left", async () => {
  const { map, run } = shownMap(4);
  const asked = [];
  const part = (_run, view, _rows, _keys, most, signal) =>
    new Promise((done) =>
      asked.push({
        of: `${view.head}:${most}`,
        signal,
        come: () => done({ values: new Float32Array(16), shape: [4, 4], step: [1, 1] }),
      }),
    );
  map.signed = { shows: "effect", steps: [1, 4, 0], part };
  const turn = () => new Promise((done) => setTimeout(done));
  map.parts.expect({ layer: 2, head: 6 });
  await turn();
  map.parts.expect({ layer: 2, head: 7 });
  assert.equal(asked[0].signal.aborted, true);
  await asked[0].come();
  await turn();
  Object.assign(map.selection, { name: "2.7", layer: 2, head: 7 });
  map.parts.load(run, fresh);
  map.parts.expect(null);
  await turn();
  assert.deepEqual([asked.map(({ of }) => of), asked[1].signal.aborted], [["6:1", "7:1"], false]);
  assert.ok(map.parts.list[0].values.every(Number.isNaN)); // until then it is empty
  for (const at of [1, 2, 3]) {
    asked[at].come();
    await turn();
    await turn();
  }
  assert.deepEqual([asked.map(({ of }) => of).join(), map.parts.list[0].sketch], ["6:1,7:1,7:4,7:0", false]);
});

test("of a long map a window around what is in sight is exact, over the pooled whole", async () => {
  const { map, run, asked } = shownMap(1000);
  await map.parts.load(run, fresh);
  assert.deepEqual(map.parts.at(301, 5), { value: 3004, step: [2, 2], tile: map.parts.list[0] });
  map.view.center(300, 980, 20);
  await map.parts.load(run, fresh);
  assert.deepEqual(asked, ["5 0,1000 0,1000&tops=true", "5 45,556 725,1000&tops=true"]);
  assert.equal(map.parts.at(301, 981).value, 3991);
  assert.deepEqual(map.parts.at(600, 981).step, [2, 2]);
  map.view.center(301, 979, 20);
  await map.parts.load(run, fresh);
  assert.equal(map.parts.list.length, 2);
});

test("a thumbnail stands in for a long map until it comes", async () => {
  const { map, run, asked } = shownMap(700);
  run.thumbnail = () => ({ values: new Float32Array(64 * 64).fill(0.5), shape: [64, 64] });
  map.view.zoom(0.1, 10, 10);
  await map.parts.load(run, fresh);
  assert.equal(map.node.dataset.coarse, "r:3.5:all");
  assert.deepEqual(
    asked.map((each) => each.split(" ")[1]),
    ["0,300", "0,700"],
  ); // exact cells first
  assert.deepEqual(
    map.parts.list.map(({ sketch }) => sketch),
    [undefined, undefined],
  );
  assert.equal(map.arrivals, 3);
});

test("what the map shows, in words", () => {
  assert.equal(heading(VIEW), "Layer 3, head 5 (3.5)");
  assert.equal(heading({ ...VIEW, head: "1,4" }), "Layer 3, mean of heads 1, 4");
  assert.match(heading({ ...VIEW, head: "max", renorm: true }), /^Layer 3, max over all heads; each row renormalized/);
  assert.match(heading({ ...VIEW, hide: true, words: true }), /hidden, weights not renormalized; sub-words merged/);
  const [query, key] = [
    { name: "un", tokens: [2] },
    { name: "doing", tokens: [3, 4] },
  ];
  const cell = (value, step) => cellSentence(VIEW, query, key, { value, step });
  assert.equal(cell(0.25, [1, 1]), "3.5  query 2 “un” → key 3–4 “doing”: 0.2500");
  assert.match(cell(0.25, [2, 3]), /around query .*: at most 0.2500 in 2 × 3 cells; zoom in to see each$/);
  assert.match(cell(NaN, [1, 2]), /: all 1 × 2 cells masked$/);
  const tiles = [
    { empty: 2, step: [3, 3] },
    { empty: 0, step: [2, 2] },
  ];
  assert.match(heading(VIEW, tiles), /; 2 queries have no weight .*; each cell is the largest of 2 × 2; zoom in/);
});

test("the legend says its scale", () => {
  const scales = { head: { measures: "Weight", says: "linear" }, all: { measures: "Weight", says: "all" } };
  assert.deepEqual(
    ticks(makeScale("head", 0.5)).map(([, text]) => text),
    ["0", "0.13", "0.25", "0.38", "0.50"],
  );
  assert.deepEqual(
    ticks(makeScale("log", 1)).map(([, text]) => text),
    ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "10⁰"],
  );
  const shown = (scale, most) => ticks(scale, most).map(([, text]) => text);
  assert.deepEqual(shown(makeScale("sqrt", 0.5)), ["0", "0.031", "0.13", "0.28", "0.50"]); // true weights
  const values = Float32Array.from({ length: 201 }, (_, at) => (at + 1) / 256);
  const between = makeScale("percentile", 201 / 256, null, values);
  assert.deepEqual(shown(between, 201 / 256), ["≤ 0.012", "0.39", "≥ 0.78"]);
  assert.deepEqual(shown(makeScale("head", 0.5), 0.6), ["0", "0.25", "≥ 0.50"]);
  assert.equal(sentence(makeScale("head", 0.5), scales, 0.5), "Weight (linear)");
  assert.match(sentence(makeScale("head", 0.5), scales, 0.6), /; larger weights, up to 0.60, are clipped$/);
  assert.match(sentence(makeScale("all", 0.5), scales, 0.5), /until the heads are computed/);
  assert.deepEqual(
    outside({ zero: 1, masked: 2 }, true).map(([name]) => name),
    ["exactly 0", "masked"],
  );
});

test("a printed weight has the digits that fit", () => {
  const of = (value, most) => printed(value, (text) => text.length <= most);
  const found = [
    of(0.1234, 4),
    of(0.00241, 5),
    of(0.00241, 4),
    of(2.36e-7, 6),
    of(2.36e-7, 4),
    of(2.36e-10, 4),
    of(0, 1),
    of(1, 4),
  ];
  assert.deepEqual(found, [".12", ".0024", "2e-3", "2.4e-7", "2e-7", "", "0", "1.0"]);
  const tile = { rows: [2, 5], step: [1, 1], tops: Float32Array.of(4, 6, 18) };
  assert.equal(scaled(tile, 4, 9, { name: "row" }), 0.5);
  assert.equal(scaled({ ...tile, step: [2, 2] }, 4, 9, { name: "row" }), 1.5);
  assert.equal(scaled(tile, 4, 9, { name: "head" }), 9);
});

test("exact cells in sight, and what lies over them, are at their places", async () => {
  const { map, run } = shownMap(10);
  await map.parts.load(run, fresh);
  map.parts.list[0].values[55] = NaN;
  Object.assign(map.view, { row: 4.5, col: 4, span: 4 });
  const cells = [...exactCells(map)].map(({ row, col, value }) => [row, col, value]);
  assert.deepEqual([cells.length, cells[0], cells[5]], [19, [4, 4, 44], [5, 6, 56]]);
  const boxes = [];
  const nothing = () => {};
  map.overContext = { clearRect: nothing, save: nothing, beginPath: nothing, clip: nothing, restore: nothing };
  Object.assign(map.overContext, { rect: nothing, setLineDash: nothing, strokeRect: (...box) => boxes.push(box) });
  Object.assign(map, { chosen: [5, 7], hovered: [6, 4] });
  Object.assign(globalThis, { document: { body: {} }, getComputedStyle: () => ({ getPropertyValue: () => "" }) });
  drawOver(map);
  assert.deepEqual(boxes, [
    [30, 32.5, 100, 25],
    [105, 20, 25, 100],
    [30, 57.5, 100, 25],
    [30, 20, 25, 100],
  ]);
});

test("the pointer hovers, chooses, drags and fits", () => {
  const { map } = shownMap(10);
  const [canvas, done] = [new EventTarget(), []];
  canvas.setPointerCapture = () => {};
  map.pixel = (event) => [event.clientX - 1000, event.clientY - 500];
  Object.assign(map, {
    canvas,
    hover: (place) => done.push(["hover", place]),
    choose: (place) => done.push(["choose", place]),
  });
  new Gestures(map);
  const send = (name, x, y, more = {}) => {
    const event = Object.assign(new Event(name, { cancelable: true }), { clientX: 1000 + x, clientY: 500 + y });
    Object.defineProperty(event, "timeStamp", { value: more.at ?? 0 });
    canvas.dispatchEvent(Object.assign(event, { pointerId: 1, ...more, at: undefined }));
    return done.splice(0);
  };
  assert.deepEqual(send("pointermove", 55, 95), [["hover", [7.5, 2.5]]]);
  assert.deepEqual(send("pointermove", 29, 95), [["hover", null]]);
  send("pointerdown", 55, 95);
  assert.deepEqual(send("pointerup", 55, 95), [["choose", [7.5, 2.5]]]);
  map.choose = ([query, key]) => map.selection.set({ query, key }); // by both halves of a double click
  for (const at of [1000, 1400]) send("pointerdown", 55, 95) && send("pointerup", 55, 95, { at });
  assert.deepEqual([map.selection.query, map.selection.key], [7.5, 2.5]);
  assert.deepEqual(send("dblclick", 55, 95), []);
  assert.deepEqual([map.selection.query, map.selection.key, map.moves], [1, 2, 1]);
  map.view.zoom(0.5, 5, 5);
  send("pointerdown", 50, 50);
  send("pointermove", 53, 50); // less than a drag
  assert.equal(map.view.col, 2.5);
  send("pointermove", 55, 50);
  assert.equal(map.view.col, 2.4); // of the way since it was no drag
  send("pointermove", 50, 50);
  send("pointermove", 30, 60);
  assert.deepEqual([map.view.row, map.view.col, send("pointerup", 30, 60)], [2, 3.65, []]);
});

test("arrows move within the map", () => {
  const view = { n: 10, span: 6 };
  const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"];
  const found = keys.map((key) => moved(key, [1, 9], view));
  assert.deepEqual(found, [
    [0, 9],
    [2, 9],
    [1, 8],
    [1, 9],
    [1, 0],
    [1, 9],
    [0, 9],
    [4, 9],
  ]);
  assert.equal(moved("a", [1, 9], view), null);
});

test("a PNG says its resolution", async () => {
  const file = new Blob([Uint8Array.from({ length: 50 }, (_, at) => at)]);
  const bytes = Buffer.from(await withDpi(file, 400).arrayBuffer());
  assert.deepEqual([bytes.length, bytes[32], bytes[54]], [71, 32, 33]);
  const chunk = bytes.subarray(33, 54);
  assert.deepEqual([chunk.readUInt32BE(0), chunk.toString("latin1", 4, 8)], [9, "pHYs"]);
  assert.deepEqual([chunk.readUInt32BE(8), chunk.readUInt32BE(12), chunk[16]], [15748, 15748, 1]);
  assert.equal(chunk.readUInt32BE(17), crc32(chunk.subarray(4, 17)));
});
