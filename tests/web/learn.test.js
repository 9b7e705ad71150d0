import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf, reachedBy, stripsOf } from "../../assets/web/learn/block_parts.js";
import { isAsked } from "../../assets/web/learn/cover.js";
import { LessonOpening } from "../../assets/web/learn/lesson_opening.js";
import {
  addingUp,
  countText,
  errorText,
  fitting,
  fixed,
  listed,
  shareText,
  signedText,
  windowStart,
  writeWith,
} from "../../assets/web/learn/printed.js";
import { judged, typedNumber } from "../../assets/web/learn/question.js";
import { filled, woven } from "../../assets/web/learn/sentences.js";
import { allows, packed, reached } from "../../assets/web/learn/simple_masks.js";
import { softmax, weighted } from "../../assets/web/learn/arithmetic.js";
import { SHARED, TEXTS } from "../../assets/web/learn/texts.js";

const near = (actual, expected, within = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`);

test("printed addends add up to the printed sum, each within one unit of its last digit", () => {
  let state = 7;
  const random = () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647 - 0.5;
  };
  for (let round = 0; round < 500; round++) {
    const addends = Array.from({ length: 1 + (round % 17) }, () => random() * 10 ** (round % 4));
    const sum = addends.reduce((total, value) => total + value, 0);
    for (const decimals of [0, 2, 3]) {
      const printed = addingUp(addends, decimals, sum);
      const unit = 10 ** decimals;
      const whole = printed.reduce((total, value) => total + Math.round(value * unit), 0);
      assert.equal(fixed(whole / unit, decimals), fixed(sum, decimals));
      for (const [at, value] of printed.entries()) near(value, addends[at], (1 + 1e-6) / unit);
    }
  }
});

test("all tokens of a short text have a row, of a longer one the largest and those that are named", () => {
  const sizes = Array.from({ length: 17 }, (_, at) => at);
  assert.equal(listed(sizes).length, 17);
  assert.deepEqual(listed(sizes, [0], 16), [0, 9, 10, 11, 12, 13, 14, 15, 16]);
});

test("three thirds are not printed as 0.99", () => {
  const printed = addingUp([1 / 3, 1 / 3, 1 / 3], 2, 1);
  assert.deepEqual([...printed].sort(), [0.33, 0.33, 0.34]);
});

test("signs are those of what is printed, and no number is wider than its column", () => {
  for (const largest of [9.99, 39, 990]) assert.ok(fixed(-largest, fitting(3, largest)).length <= 6);
  assert.equal(signedText(-0.001, 2), "+0.00");
  assert.equal(signedText(-1.5, 2), "\u22121.50");
  assert.equal(fixed(-0.004, 2), "0.00");
  assert.equal(fixed(0.375, 2), "0.38");
});

test("numbers are printed as the language writes them", () => {
  const printed = () => [
    fixed(-0.5, 2),
    signedText(1.25, 1),
    shareText(0.25),
    countText(1234567),
    errorText(2.5e-7, 1),
  ];
  assert.deepEqual(printed(), ["\u22120.50", "+1.3", "0.2500", "1,234,567", "2.5e-7"]);
  writeWith(TEXTS.de);
  const german = printed();
  writeWith(TEXTS.en);
  assert.deepEqual(german, ["\u22120,50", "+1,3", "0,2500", "1.234.567", "2,5e-7"]);
});

test("a choice is made by what is given, and nodes stand in the order of their marks", () => {
  const said = (/** @type {string | number} */ n) => filled("{n|=none|1=one|{n} of {all}}", { n, all: "{n}" });
  assert.deepEqual([said(""), said(1), said(11)], ["none", "one", "11 of {n}"]);
  assert.deepEqual(woven("\u0000 sees \u0000.", "a", "b"), ["", "a", " sees ", "b", "."]);
  for (const [name, words] of Object.entries(SHARED)) assert.deepEqual(Object.keys(TEXTS.de[name]), Object.keys(words));
});

test("a window lies around its number and within the vector", () => {
  assert.equal(windowStart(0, 64, 8), 0);
  assert.equal(windowStart(32, 64, 8), 28);
  assert.equal(windowStart(63, 64, 8), 56);
  assert.equal(windowStart(2, 5, 8), 0);
});

test("softmax of the lesson's nine scores", () => {
  const scores = [-0.33, -1.2, 2.45, -2.85, -1.38, -2.19, -1.45, -0.82, -3.05];
  const all = scores.map(() => true);
  const { weights, sum } = softmax(scores, all);
  const exps = scores.map(Math.exp); // without taking the maximum away
  const total = exps.reduce((a, b) => a + b);
  for (const [key, weight] of weights.entries()) near(weight, exps[key] / total);
  near(sum, total / Math.exp(2.45));
  const without = softmax(
    scores,
    all.map((_, key) => key !== 2),
  );
  assert.equal(without.weights[2], 0);
  assert.equal(without.weights.indexOf(Math.max(...without.weights)), 0);
  near(without.weights[0], exps[0] / (total - exps[2]));
});

test("a row that may look at nothing has no weights, and a sink takes its share", () => {
  assert.deepEqual(softmax([1, 2], [0, 0]).weights, [0, 0]);
  const { weights } = softmax([0, 0], [1, 1], 0);
  near(weights[0], 1 / 3);
  near(weighted([0.25, 0.75], [[4], [8]])[0], 7);
});

test("masks: bits as numpy packs them, and whom a token can know of", () => {
  const window = { kind: "window", width: 1 };
  assert.equal(allows(window, 3, 4), true);
  assert.equal(allows(window, 3, 5), false);
  assert.equal(allows({ kind: "causal", width: 1 }, 3, 4), false);
  assert.deepEqual([...packed({ kind: "causal", width: 1 }, 3)], [0b10011011, 0b10000000]);
  assert.deepEqual(reached(window, 9, 6, 2).at(-1), [4, 5, 6, 7, 8]);
  assert.deepEqual(reached({ kind: "causal", width: 1 }, 9, 3, 4), [[0, 1, 2, 3]]);
  assert.deepEqual(
    reached({ kind: "none", width: 1 }, 9, 3, 6).map((known) => known.length),
    [9],
  );
});

test("an answer is right within its tolerance, and a known mistake is named", () => {
  const exercise = {
    ...{ id: "w", step: 4, level: 1, question: "", kind: "number", unit: "", decimals: 2, choices: null, hint: "look" },
    ...{ answer: 0.84, tolerance: 0.005, right: "yes", wrong: "no" },
    ...{ cell: null, also: [] },
    mistakes: [{ value: 1, tolerance: 0.005, says: "without the root" }],
  };
  assert.deepEqual(judged(exercise, 0.845), { became: true, says: "yes" });
  assert.deepEqual(judged(exercise, 0.85), { became: false, says: "look" });
  assert.deepEqual(judged(exercise, 0.85, false), { became: "shown", says: "no" }); // it names the answer
  assert.deepEqual(judged(exercise, 0.999, false), { became: false, says: "without the root" });
  assert.equal(judged({ ...exercise, kind: "choice", answer: 2, tolerance: 0 }, 2).became, true);
  assert.equal(judged({ ...exercise, kind: "choice", answer: 2, tolerance: 0 }, 1).became, false);
  assert.equal(judged({ ...exercise, kind: "choice", answer: 2, tolerance: 0, also: [0] }, 0).became, true);
});

test("numbers as people type them", () => {
  assert.equal(typedNumber(" 0,42 "), 0.42);
  assert.equal(typedNumber("\u22120.5"), -0.5);
  assert.equal(typedNumber(""), null);
  assert.equal(typedNumber("a lot"), null);
  assert.equal(typedNumber("24,034,304"), 24_034_304);
  assert.equal(typedNumber("24.034.304"), 24_034_304);
  assert.equal(typedNumber("1,800"), 1.8);
  assert.deepEqual(
    ["1,800", "1.800", "1800", "12"].map((text) => typedNumber(text, true)),
    [1800, 1800, 1800, 12],
  );
  assert.equal(typedNumber("0.5", true), 0.5);
  for (const text of ["1.234,567", "1,234.567"]) assert.equal(typedNumber(text, true), null); // two marks: no count
});

test("a link to a step and a seat opens on the masked token and its loudest key, once", () => {
  const opening = new LessonOpening("?learn=5&seed=17");
  assert.deepEqual([opening.step, opening.seat], [5, "17"]);
  const run = { tokens: ["[CLS]", "the", "[MASK]", "runs", "[SEP]"] };
  assert.deepEqual(opening.place(run), { layer: 2, head: 0, query: 2 });
  assert.equal(opening.key(undefined), null); // not known yet
  assert.equal(opening.key([0.1, 0.6, 0.3]), 1);
  assert.equal(opening.key([0.1, 0.6, 0.3]), null);
  assert.equal(opening.place(run), null);
});

test("other links keep their own place, and a seat that is not there is none", () => {
  const run = { tokens: ["[CLS]", "[MASK]"] };
  for (const search of ["?tab=learn", "?learn=4&query=3"]) assert.equal(new LessonOpening(search).place(run), null);
  for (const seed of ["0", "241", "x", "017", "-1"]) assert.equal(new LessonOpening(`?learn=4&seed=${seed}`).seat, "");
  const nothing = new LessonOpening("?learn=4");
  assert.equal(nothing.place({ tokens: ["a"] }), null);
  assert.equal(nothing.key([1]), null);
});

test("what an open exercise asks for is covered: its own number of a vector, and no other", () => {
  const open = /** @type {any[]} */ ([
    { id: "sum-cell", cell: 3, answer: 0.5 },
    { id: "total-weights", cell: null, answer: 24 },
  ]);
  assert.ok(isAsked({ asks: "sum-cell", cell: "3" }, open));
  assert.ok(!isAsked({ asks: "sum-cell", cell: "4" }, open));
  assert.ok(isAsked({ asks: "flips total-weights", value: "24" }, open));
  assert.ok(!isAsked({ asks: "total-weights", value: "25" }, open));
  assert.ok(!isAsked({ asks: "flips" }, open));
});

test("the block is drawn as the model has it: norms before or after, each sum after its dropout", () => {
  const inside = ["qkv", "scores", "softmax", "values", "output"];
  const stages = (/** @type {string[]} */ ...ids) => ids.map((id) => ({ id }));
  const drawn = (/** @type {{ id: string }[] | null} */ all) => partsOf(all).map(({ id }) => id);
  assert.deepEqual(
    drawn(stages("x", "norm_attention", ...inside, "residual_attention", "norm_ffn", "ffn", "residual_ffn")),
    [
      ...["x", "fork_norm_attention", "norm_attention", ...inside, "dropout_residual_attention", "residual_attention"],
      ...["fork_norm_ffn", "norm_ffn", "ffn", "dropout_residual_ffn", "residual_ffn"],
    ],
  );
  assert.deepEqual(
    drawn(stages("x", ...inside, "residual_attention", "norm_attention", "ffn", "residual_ffn", "norm_ffn")),
    [
      ...["x", "fork_qkv", ...inside, "dropout_residual_attention", "residual_attention", "norm_attention"],
      ...["fork_ffn", "ffn", "dropout_residual_ffn", "residual_ffn", "norm_ffn"],
    ],
  );
  assert.deepEqual(drawn(null), ["x", ...inside]); // no bypass is known there
});

test("the way through the block: what each part gives, and how far a step has come", () => {
  const stages = ["x", "norm_attention", "qkv", "scores", "softmax", "values", "output", "residual_attention"];
  const vectors = { x: [3, -4], norm_attention: [1, -1], values: [2, 2], output: [0, 0], residual_attention: [3, -4] };
  const given = stages.map((id) => ({ id, title: id, vector: vectors[id] ?? null }));
  const attention = { q: [9], scores: [1, null, -2], weights: [0.9, 0, 0.1] };
  const strips = stripsOf({ stages: given, projection: { q: [5, 6] }, attention });
  assert.deepEqual([...strips.keys()], stages);
  assert.deepEqual([...(strips.get("qkv")?.values ?? [])], [5, 6]);
  assert.deepEqual([...(strips.get("scores")?.values ?? [])], [1, Number.NaN, -2]);
  assert.equal(strips.get("scores")?.largest, 2);
  assert.equal(strips.get("output")?.largest, 1); // nothing to color
  const wide = Array.from({ length: 384 }, (_, at) => (at === 10 ? -7 : 1));
  const [x] = stripsOf({ stages: [{ id: "x", vector: wide }], projection: null, attention: null }).values();
  assert.deepEqual([x.values.length, x.values[1], x.values[2]], [64, -7, 1]);
  const told = [[], ["x"], ["x", "qkv"], ["norm", "x"], ["x", "residual"]];
  const come = told.map((parts) => stages[reachedBy(stages, parts)]);
  assert.deepEqual(come, [undefined, "x", "qkv", "norm_attention", "residual_attention"]);
  assert.equal(stripsOf({ stages: null, projection: null, attention: null }).size, 0);
});
