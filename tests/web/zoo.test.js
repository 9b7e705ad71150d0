// The known mask bugs: what differs between two lines of code, which a search finds, and what the quiz asks.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { difference } from "../../assets/web/masks/lines.js";
import { matches } from "../../assets/web/masks/specimen_list.js";
import { othersOf, questionsOf } from "../../assets/web/masks/quiz_questions.js";

const marked = (pieces) => pieces.map(({ text, changed }) => (changed ? `[${text}]` : text)).join("");

test("two lines differ in the words that are not in both", () => {
  const cases = [
    ["~mask", "mask", "[~]mask", "mask"],
    ["a b c", "a x c", "a [b] c", "a [x] c"],
    ["same", "same", "same", "same"],
    ["", "new", "", "[new]"],
  ];
  for (const [one, other, before, after] of cases) {
    assert.deepEqual(difference(one, other).map(marked), [before, after]);
  }
});

test("the pieces of a line are the line, and what is common is the same in both", () => {
  const [one, other] = ["scores.masked_fill(mask, -inf)  # keep", "scores.masked_fill(~mask.T, -1e9)"];
  const [before, after] = difference(one, other);
  const texts = (pieces, changed) => pieces.filter((piece) => piece.changed === changed).map(({ text }) => text);
  assert.equal(before.map(({ text }) => text).join(""), one);
  assert.equal(after.map(({ text }) => text).join(""), other);
  assert.equal(texts(before, false).join(""), texts(after, false).join(""));
  assert.deepEqual(texts(after, true), ["~", ".T", "1e9"]);
});

test("a specimen is found by all words of a search, in any case and order", () => {
  const text = "d1-window is_causal with a window of two";
  assert.ok(matches(text, "  Window IS_CAUSAL ") && matches(text, ""));
  assert.ok(!matches(text, "window three"));
});

const specimen = (name, more = {}) => ({
  ...{ identifier: name, title: `title ${name}`, wrong: `wrong ${name}`, right: `right ${name}`, missed: "" },
  ...more,
});
const ALL = ["A1", "A2", "A3", "A4", "A5"].map((name) => specimen(name));
const SECTIONS = [
  { title: "A", specimens: ALL },
  { title: "B", specimens: [specimen("B1"), specimen("B2", { missed: "nobody sees it" }), specimen("B3")] },
];
const NOWHERE = [
  [false, false, false],
  [false, false, false],
  [false, false, false],
];
const TRIANGLE = [
  [true, false, false],
  [true, true, false],
  [true, true, true],
];
const at = (query, key) => NOWHERE.map((row, q) => row.map((_, k) => q === query && k === key));
// What a model gives that keeps to the triangle but for one cell.
const seen = (leaks, lost) =>
  TRIANGLE.map((row, q) => row.map((may, k) => (leaks[q][k] || (may && !lost[q][k]) ? 0.3 : 0)));
const first = () => 0;
const rightOf = ({ choices, right }) => choices[right];

test("first the leaking cell with its mirror image, then the cause, then the line", () => {
  const picture = { intended: TRIANGLE, observed: seen(at(0, 2), NOWHERE), leaks: at(0, 2), lost: NOWHERE };
  for (let seed = 0; seed < 20; seed++) {
    let state = seed;
    const random = () => {
      state += 0.37;
      return (state * 7.13) % 1;
    };
    const [cell, cause, line] = questionsOf(ALL[0], ALL.slice(1, 4), picture, random);
    assert.match(cell.ask, /^Which cell leaks/);
    assert.equal(rightOf(cell), "query 0 → key 2");
    assert.ok(cell.choices.includes("query 2 → key 0") && cell.choices.length === 4);
    assert.equal(new Set(cell.choices).size, 4);
    assert.equal(rightOf(cause), "title A1");
    assert.deepEqual([...cause.choices].sort(), ["title A1", "title A2", "title A3", "title A4"]);
    assert.equal(rightOf(line), "wrong A1");
    assert.ok(line.code && line.because[3] === "right A1" && cause.because[0].includes("A1: title A1"));
  }
});

test("a cell that is lost is asked for where none leaks; no cell where all is as it should be", () => {
  const lost = { intended: TRIANGLE, observed: seen(NOWHERE, at(2, 1)), leaks: NOWHERE, lost: at(2, 1) };
  const [cell] = questionsOf(ALL[0], ALL.slice(1, 4), lost, first);
  assert.match(cell.ask, /^Which cell is lost/);
  assert.equal(rightOf(cell), "query 2 → key 1");
  const silent = { intended: TRIANGLE, observed: null, leaks: NOWHERE, lost: NOWHERE };
  const asked = questionsOf(ALL[0], ALL.slice(1, 4), silent, first).map(({ ask }) => ask);
  assert.deepEqual(asked, ["What is the cause?", "Which line does this?"]);
});

test("a beginners' bug is told from those named for it, any other from its own group", () => {
  const easy = [{ identifier: "A1", others: ["A3", "A5", "B1"] }];
  const names = (found) => found.map(({ identifier }) => identifier).sort();
  assert.deepEqual(names(othersOf(ALL[0], SECTIONS, easy, first)), ["A3", "A5", "B1"]);
  const free = othersOf(ALL[1], SECTIONS, easy, first);
  assert.equal(free.length, 3);
  assert.ok(names(free).every((name) => name.startsWith("A") && name !== "A2"));
  assert.deepEqual(names(othersOf(SECTIONS[1].specimens[0], SECTIONS, easy, first)), ["B3"]);
});

test("lines that are the same as the right one are no choice", () => {
  const twin = specimen("A9", { wrong: "wrong A1" });
  const picture = { intended: TRIANGLE, observed: null, leaks: NOWHERE, lost: NOWHERE };
  const [, line] = questionsOf(ALL[0], [twin, ALL[1]], picture, first);
  assert.deepEqual([...line.choices].sort(), ["wrong A1", "wrong A2"]);
});

test("weight that is forbidden but no leak, as of padding, is not offered as a cell that is fine", () => {
  const observed = seen(at(0, 2), NOWHERE).map((row, q) => (q === 1 ? [0.3, 0.3, 0.4] : row));
  const picture = { intended: TRIANGLE, observed, leaks: at(0, 2), lost: NOWHERE };
  for (let turn = 0; turn < 12; turn++) {
    const [cell] = questionsOf(ALL[0], ALL.slice(1, 4), picture, () => turn / 12);
    assert.ok(!cell.choices.includes("query 1 → key 2"));
  }
});
