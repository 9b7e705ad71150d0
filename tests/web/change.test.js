// The signed map without a screen: its scale, its words, and what stays of many cells in one pixel.

import assert from "node:assert/strict";
import { test } from "node:test";
import { written } from "../../assets/web/explore/map_drawing.js";
import { signedText, ticks } from "../../assets/web/explore/legend.js";
import { heading, signedSentence } from "../../assets/web/explore/map_heading.js";
import { MapChanges } from "../../assets/web/explore/map_changes.js";
import { Tiles } from "../../assets/web/explore/tiles.js";
import { CHANGE, makeScale, rooted, strongestAt } from "../../assets/web/core/colors.js";
import { Viewport } from "../../assets/web/core/viewport.js";
import { View } from "../../assets/web/core/view.js";
import { viewNode } from "./view_node.js";

const VIEW = { layer: 3, head: 1, hide: false, renorm: false, words: false };
const [IT, WIDE] = [
  { name: "it", tokens: [10] },
  { name: "wide", tokens: [13] },
];
const NEITHER = { query: false, key: false };
/** @type {(more?: object, run?: object) => MapChanges} */
function changesOf(more = {}, run = { key: "r", nLayers: 1 }) {
  const selection = { ...VIEW, change: true, measure: "attention", kept: "all", on: () => {}, ...more };
  const reference = { key: "b", model: "m", title: "x" };
  return new MapChanges(selection, { run, layers: [{}], reference, comparable: { maps: true }, on: () => {} });
}
const CHANGES = changesOf();
const changeSentence = (view, query, key, found, alone) => signedSentence(view, query, key, found, CHANGES, alone);

test("the strongest of numbers is none that is masked", () => {
  assert.equal(strongestAt([NaN, 0.1, -0.4, 0.2]), 2);
  assert.equal(strongestAt([NaN, 0]), -1);
});

test("the scale is symmetric, and its ticks carry their sign", () => {
  const scale = makeScale(CHANGE, 0.58);
  assert.deepEqual([scale.share(-0.58), scale.share(0), scale.share(0.58)], [0, 0.5, 1]);
  assert.deepEqual(
    ticks(scale).map(([, text]) => text),
    ["−0.58", "−0.14", "0", "+0.14", "+0.58"],
  );
  assert.equal(signedText(-0.004), "−0.0040");
  const shown = { write: (value, brief) => (value > -0.5 ? "" : brief ? "−22" : "−22%") };
  const texts = ticks(scale, 0, shown).map(([, text]) => text);
  assert.deepEqual(texts, ["−22%", "", "0", "", ""], "as the page tells it, in a saved map, too; one 0 alone");
  assert.equal(
    written({ signed: shown }, -1, (text) => text.length < 4),
    "−22",
    "a small cell leaves the unit to the legend",
  );
  assert.match(CHANGES.legend, /now − before.*red = more.*blue = less/);
});

test("small changes show: the color goes by the square root", () => {
  const scale = makeScale(CHANGE, 0.5);
  assert.ok(Math.abs(scale.share(0.045) - 0.65) < 1e-12 && Math.abs(scale.share(-0.045) - 0.35) < 1e-12);
  assert.ok(
    [-1, -0.2, 0, 0.3, 1].every((side) => Math.abs(scale.share(scale.at((side + 1) / 2)) * 2 - 1 - side) < 1e-12),
  );
  assert.deepEqual([rooted(0.09), rooted(-0.09), rooted(0)], [0.3, -0.3, 0]);
});

test("a cell says now, before and the change", () => {
  const found = { value: Math.fround(-0.374), now: Math.fround(0.266), step: [1, 1] };
  assert.equal(
    changeSentence(VIEW, IT, IT, found, NEITHER),
    "3.1  query 10 “it” → key 10 “it”: 0.27 (was 0.64, −0.37)",
  );
  assert.match(changeSentence(VIEW, IT, IT, { ...found, step: [2, 3] }, NEITHER), /−0\.37 at most in 2 × 3 cells/);
});

test("what has no counterpart, or is masked, says so", () => {
  const none = { value: NaN, now: 0.12, step: [1, 1] };
  const alone = changeSentence(VIEW, IT, WIDE, none, { query: false, key: true });
  assert.match(alone, /0\.12 now; key 13 “wide” is not in the reference$/);
  assert.match(changeSentence(VIEW, WIDE, WIDE, none, { query: true, key: true }), /query 13 .* and key 13 .* are not/);
  assert.match(changeSentence(VIEW, IT, IT, none, NEITHER), /0\.12 now, masked in the reference$/);
  assert.match(changeSentence(VIEW, IT, IT, { ...none, now: NaN }, NEITHER), /masked in this run$/);
});

test("the title says that it is a change, pooled by the strongest", () => {
  assert.equal(heading(VIEW, [], CHANGES), "Change from the reference: layer 3, head 1 (3.1)");
  assert.match(heading(VIEW, [{ empty: 0, step: [2, 2] }], CHANGES), /strongest change of 2 × 2/);
});

test("a change is one of weights: in another measure the map is not changed", () => {
  assert.deepEqual([CHANGES.shows, changesOf({ measure: "effect" }).shows], ["change:b", ""]);
});

test("a signed part comes with the weights now, and what only one run has is no mask", async () => {
  const asked = [];
  const part = (values, about) => ({ values: Float32Array.from(values), shape: [2, 2], step: [1, 1], empty: 0, about });
  const answers = [part([-0.5, NaN, NaN, NaN], { rows: [1], keys: [1] }), part([0.25, 0.75, 0.5, 0.5])];
  const run = {
    ...{ key: "r", shown: () => ({ length: 2 }) },
    numbers: async (path) => {
      asked.push(path);
      return answers[0];
    },
    map: async () => answers[1],
  };
  const selection = { ...VIEW, name: "3.1", kept: "all" };
  const node = viewNode();
  const given = { run, selection, view: new Viewport(2), node, signed: CHANGES, arrived: () => {} };
  const map = Object.assign(new View(), given);
  const parts = new Tiles(map);
  const fresh = Object.assign(async (answer) => answer, { signal: new AbortController().signal });
  await parts.load(run, fresh);
  assert.deepEqual(asked, ["compared_map?reference=b&layer=3&head=1&hide_special=false&rows=0:2&keys=0:2"]);
  const { value, now } = parts.at(0, 0);
  assert.deepEqual([value, now, parts.list[0].most, parts.list[0].masked], [-0.5, 0.25, 0.5, false]);
  assert.equal(map.node.dataset.painted, "r:3.1:all:change:b");
  answers[0] = part([-0.5, NaN, NaN, NaN], { rows: [], keys: [1] });
  const others = new Tiles(map);
  await others.load(run, fresh);
  assert.equal(others.list[0].masked, true);
});

test("the small signed maps are asked for anew where other tokens are shown", async () => {
  const [asked, told] = [[], []];
  const numbers = async (path) => {
    asked.push(path.replace(/.*hide_special=(\w+).*/, "$1"));
    return { values: Float32Array.of(asked.length / 4), shape: [1, 1, 1] };
  };
  const changes = changesOf({ on: (listener) => told.push(listener) }, { key: "r", nLayers: 1, numbers });
  const turned = async (kept) => {
    Object.assign(changes.selection, kept);
    told[0]();
    await new Promise(setImmediate);
    return changes.most;
  };
  assert.deepEqual([await turned({}), await turned({}), asked], [0.25, 0.25, ["false"]]);
  assert.deepEqual([await turned({ kept: "hide", hide: true }), asked], [0.5, ["false", "true"]]);
});
