// Masks: their bits on the way to the server and at rest, what strokes paint, their blocks, sizes as they are typed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { History, listed, Mask } from "../../assets/web/masks/mask_bits.js";
import { csvOf, npyOf } from "../../assets/web/masks/mask_file.js";
import { lengthsOf, sizeOf } from "../../assets/web/masks/presets.js";
import { painted } from "../../assets/web/masks/strokes.js";
import { sumsOf } from "../../assets/web/views/bit_image.js";
import { walked } from "../../assets/web/views/cells.js";

const maskOf = (rows) => new Mask(rows.length, Uint8Array.from(rows.join(""), Number));
const drawn = (areas, n, both = false) => {
  const { cells } = new Mask(n, new Uint8Array(n * n)).with(areas, 1, both);
  return Array.from({ length: n }, (_, row) => cells.slice(row * n, (row + 1) * n).join(""));
};

test("bits go row by row, the first cell in the highest, the last byte filled with zeros", () => {
  assert.deepEqual([...maskOf(["101", "001", "110"]).pack()], [0b10100111, 0b00000000]);
  assert.deepEqual([...maskOf(["011", "100", "001"]).pack()], [0b01110000, 0b10000000]);
  assert.deepEqual([...new Mask(5).pack()], [255, 255, 255, 128]);
  assert.deepEqual([...maskOf(["1000", "0100", "0010", "0001"]).pack()], [0b10000100, 0b00100001]);
});

test("bits are read as they were packed, and a mask at rest is the same again", () => {
  const bits = Uint8Array.of(0b10100111, 0b00110010);
  assert.deepEqual(Mask.unpack(3, bits).cells, maskOf(["101", "001", "110"]).cells);
  for (const n of [1, 2, 7, 8, 9]) {
    const cells = Uint8Array.from({ length: n * n }, (_, at) => Number((at * 7) % 5 < 2));
    const mask = new Mask(n, cells.slice());
    mask.rest();
    assert.deepEqual(mask.cells, cells);
    assert.ok(Mask.unpack(n, mask.pack()).equals(mask));
    assert.ok(mask.equals(new Mask(n, cells)) && new Mask(n, cells).equals(mask));
    assert.ok(!Mask.unpack(n, mask.inverted().pack()).equals(mask));
  }
});

test("a mask with other cells is another mask, by its diagonal too where it is symmetric", () => {
  const mask = new Mask(3);
  const one = [
    [0, 2],
    [0, 2],
  ];
  assert.deepEqual([...mask.with([one], 0).cells], [1, 1, 0, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual([...mask.with([one], 0, true).cells], [1, 1, 0, 1, 1, 1, 0, 1, 1]);
  assert.equal(mask.at(0, 2), 1);
  assert.ok(mask.equals(new Mask(3)) && !mask.equals(new Mask(2)) && !mask.equals(mask.with([one], 0)));
  assert.deepEqual(maskOf(["10", "00"]).inverted().cells, maskOf(["01", "11"]).cells);
  const wide = [
    [1, 3],
    [0, 2],
  ]; // by any two opposite corners
  assert.deepEqual(drawn([wide], 4, true), ["0011", "0011", "1100", "1100"]);
});

test("what is painted in place forgets what was known of the mask", () => {
  const mask = new Mask(3);
  const bits = mask.pack();
  assert.ok(mask.summary().forbidden === 0 && mask.byKey);
  const row = [
    [1, 0],
    [1, 2],
  ];
  assert.equal(mask.cover([row], 0), mask);
  assert.deepEqual(mask.summary(), { forbidden: 3, empty: [1] });
  assert.ok(!mask.byKey && mask.pack() !== bits);
  assert.deepEqual([...mask.pack()], [0b11100011, 0b10000000]);
});

test("a summary counts what is forbidden, and names the queries without any key", () => {
  assert.deepEqual(maskOf(["101", "000", "110"]).summary(), { forbidden: 5, empty: [1] });
  assert.deepEqual(new Mask(4).summary(), { forbidden: 0, empty: [] });
  const tokens = Array.from("abcdefgh");
  assert.equal(listed([1, 3], tokens), "1 “b”, 3 “d”");
  assert.equal(listed([0, 1, 2, 3, 4, 5, 7], tokens), "0 “a”, 1 “b”, 2 “c”, 3 “d”, 4 “e”, and 2 more");
});

test("blocks in sight count their cells that may attend, those at the end too", () => {
  const { cells } = maskOf(["11000", "11000", "00100", "00000", "00001"]);
  assert.deepEqual([...sumsOf(5, cells, 3, [0, 2], [0, 2])], [5, 0, 0, 1]);
  assert.deepEqual([...sumsOf(5, cells, 2, [1, 3], [0, 3])], [0, 1, 0, 0, 0, 1]);
  assert.deepEqual([...sumsOf(5, cells, 1, [0, 2], [1, 3])], [1, 0, 1, 0]);
});

test("history goes back and forth, forgets what lay ahead, and a hundred steps back", () => {
  const [first, second, third] = [new Mask(1), new Mask(2), new Mask(3)];
  const history = new History(first);
  assert.ok(!history.has(-1) && !history.has(1));
  history.push(second);
  history.go(-1);
  assert.equal(history.now, first);
  history.go(1);
  history.go(1);
  assert.equal(history.now, second);
  history.go(-1);
  history.push(third);
  assert.ok(history.now === third && !history.has(1) && history.has(-1));
  for (let at = 0; at < 300; at++) history.push(new Mask(1));
  for (let at = 0; at < 300; at++) history.go(-1);
  assert.ok(history.now !== first && history.has(100) && !history.has(101));
});

test("a stroke paints all cells on its way", () => {
  const one = (from, to) => {
    const areas = painted("cell", from, to, 5);
    for (const [first, last] of areas) assert.deepEqual(first, last);
    return areas.map(([at]) => at.join("")).join(" ");
  };
  assert.equal(one([1, 1], [1, 1]), "11");
  assert.equal(one([0, 0], [0, 3]), "01 02 03"); // the first one is painted before
  assert.equal(one([4, 3], [1, 0]), "32 21 10");
  assert.equal(one([0, 0], [4, 2]), "11 21 32 42");
});

test("rows, columns and rectangles are painted whole, from any corner", () => {
  const lines = (tool, from, to) => drawn(painted(tool, from, to, 4), 4).join(" ");
  assert.equal(lines("row", [0, 3], [2, 1]), "0000 1111 1111 0000");
  assert.equal(lines("column", [2, 1], [2, 3]), "0011 0011 0011 0011");
  for (const [top, left, bottom, right] of ["1022", "2210", "1220", "2012"].map((each) => [...each].map(Number)))
    assert.equal(lines("rectangle", [top, left], [bottom, right]), "0000 1110 1110 0000");
  assert.equal(lines("rectangle", [3, 3], [3, 3]), "0000 0000 0000 0001");
});

test("keys walk cell by cell and stay on the map", () => {
  const from = [2, 1];
  const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"];
  assert.equal(keys.map((key) => walked(key, from, 4).join("")).join(" "), "11 31 20 22 20 23");
  assert.deepEqual(walked("ArrowUp", [0, 0], 4), [0, 0]);
  assert.deepEqual(walked("ArrowRight", [3, 3], 4), [3, 3]);
  assert.deepEqual(walked("ArrowDown", [10, 4], 40, 40, 16), [26, 4]);
  assert.deepEqual(walked("ArrowLeft", [10, 4], 40, 40, 16), [10, 0]);
  for (const key of ["a", "toString"]) assert.equal(walked(key, from, 4), null);
});

test("sizes are numbers; what is none is sent as it was typed, for the server to say so", () => {
  assert.deepEqual([sizeOf("3"), sizeOf("0"), sizeOf("-1"), sizeOf("")], [3, 0, -1, ""]);
  assert.deepEqual(lengthsOf(" 5, 7;3\n2 "), [5, 7, 3, 2]);
  assert.deepEqual(lengthsOf("5, x, -2, 1.5"), [5, "x", "-2", "1.5"]);
  assert.deepEqual(lengthsOf(" , "), []);
});

test("a mask is one row for all queries where its rows are alike", () => {
  assert.ok(maskOf(["101", "101", "101"]).byKey && new Mask(1).byKey && new Mask(4).byKey);
  assert.ok(!maskOf(["101", "101", "100"]).byKey && !maskOf(["10", "01"]).byKey);
});

test("a file of a mask is numpy's own, its header of whole 64 bytes", () => {
  const mask = maskOf(["101", "001", "110"]);
  const file = npyOf(mask);
  const header = String.fromCharCode(...file.subarray(0, file.length - 9));
  assert.ok(header.startsWith("\x93NUMPY\x01\x00") && header.endsWith(" \n") && header.length % 64 === 0);
  assert.equal(file[8] + 256 * file[9], header.length - 10);
  assert.ok(header.includes("{'descr': '|b1', 'fortran_order': False, 'shape': (3, 3), }"));
  assert.deepEqual([...file.subarray(header.length)], [1, 0, 1, 0, 0, 1, 1, 1, 0]);
  assert.equal(csvOf(mask), "True,False,True\nFalse,False,True\nTrue,True,False\n");
});
