// The lesson as one file: its forward pass, tokenizer and counts against numpy's numbers from float64.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { Answers } from "../../assets/web/learn/offline/answers.js";
import { erf, gelu } from "../../assets/web/learn/arithmetic.js";
import { forward } from "../../assets/web/learn/offline/forward.js";
import { knockOut, withoutHeads } from "../../assets/web/learn/offline/knock_out.js";
import { predictions } from "../../assets/web/learn/offline/prediction.js";
import { Questions } from "../../assets/web/learn/offline/questions.js";
import { knownCodes, Runs } from "../../assets/web/learn/offline/runs.js";
import { half, readTensors } from "../../assets/web/learn/offline/tensors.js";
import { carried } from "../../assets/web/learn/offline/shares.js";
import { tokenNumbers } from "../../assets/web/learn/offline/token_numbers.js";
import { Vocabulary } from "../../assets/web/learn/offline/vocabulary.js";
import { wordOrder } from "../../assets/web/learn/offline/word_order.js";
import { weightCounts } from "../../assets/web/learn/offline/weight_counts.js";
import { byDepth } from "../../assets/web/learn/untrained.js";
import { mostEffective } from "../../assets/web/learn/removed_heads.js";
import { packed } from "../../assets/web/learn/simple_masks.js";

const read = (/** @type {string} */ path) => readFileSync(new URL(`../../${path}`, import.meta.url));
const json = (/** @type {string} */ path) => JSON.parse(read(path).toString());
const numbers = json("tests/lesson/web_numbers.json");
const { encoder } = json("assets/models/grammar/config.json");
const vocabulary = new Vocabulary(json("assets/models/grammar/tokenizer.json"), encoder.max_positions);
const tensors = readTensors(read("assets/models/grammar/model.safetensors"));
const model = { config: encoder, tensors, words: vocabulary.words };
const OWN = numbers.runs[0].text;
const ids = (/** @type {string} */ text) => vocabulary.read(text).ids;

/** Within 5e-6 of the row's largest. @type {(found: ArrayLike<number>, wanted: number[], where?: string) => void} */
function near(found, wanted, where = "") {
  assert.equal(found.length, wanted.length, where);
  const largest = Math.max(...wanted.map(Math.abs));
  wanted.forEach((value, at) => {
    assert.ok(Math.abs(found[at] - value) <= 5e-6 * largest, `${where}[${at}]: ${found[at]} is not ${value}`);
  });
}

test("all weights are read, from 16 bits as they are", () => {
  const count = [...tensors.values()].reduce((sum, { values }) => sum + values.length, 0);
  assert.equal(count, numbers.n_weights);
  assert.deepEqual([0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0xfc00, 0x8000].map(half), [
    ...[1, -2, 0.333251953125, 2 ** -24, 65504, Number.NEGATIVE_INFINITY, -0],
  ]);
  assert.ok(Number.isNaN(half(0x7e00)));
});

test("erf is as in C, and no negative number comes out of GELU above 0", () => {
  for (const [x, wanted] of numbers.erf) assert.ok(Math.abs(erf(x) - wanted) < 1e-9, String(x));
  for (let x = -12; x <= 0; x += 0.001) assert.ok(gelu(x) <= 0, String(x));
});

for (const { text, changes, output, weights } of numbers.runs) {
  test(`a run of “${text}” with ${Object.keys(changes).join(", ") || "no change"}`, () => {
    const ran = forward(model, ids(text), changes);
    for (const [token, { out }] of ran.last.entries()) near(out, output[token], `output ${token}`);
    for (const [layer, { heads }] of ran.blocks.entries()) {
      for (const [at, head] of heads.entries()) near(head.weights.at(-1) ?? [], weights[layer][at], `${layer}.${at}`);
    }
  });
}

test("every number of a step is numpy's, and sums add up", () => {
  const { step } = numbers;
  const told = tokenNumbers(model, forward(model, ids(OWN)), step.place);
  const { embedding, projection, attention, heads, stages, ffn } = told;
  assert.ok(embedding?.position && projection && attention?.q && attention.dots && heads && stages && ffn);
  near(/** @type {number[]} */ (embedding.token), step.token);
  near(embedding.position, step.position);
  near(projection.x, step.entering);
  near(projection.q, step.q);
  const sum = projection.x.reduce((total, value, at) => total + value * projection.column[at], projection.bias ?? 0);
  near([projection.sum, sum], [step.q[step.place.dim], step.q[step.place.dim]]);
  near(attention.dots, step.dots);
  near(attention.weights, step.weights);
  near([attention.scale, attention.q.length], [0.25, 16]);
  for (const [head, part] of heads.parts.entries()) near(part, step.parts[head], `part ${head}`);
  near(heads.sum, step.attention);
  const added = heads.sum.map((_, at) => heads.parts.reduce((total, part) => total + part[at], heads.bias?.[at] ?? 0));
  near(added, step.attention);
  const vector = (/** @type {string} */ id) => stages.find((stage) => stage.id === id)?.vector ?? [];
  near(vector("x"), step.x);
  near(vector("output"), step.attention);
  near(vector("residual_ffn"), step.out);
  near(ffn.before, step.before);
  assert.equal(ffn.on, step.before.filter((/** @type {number} */ value) => value > 0).length);
  assert.equal(
    stages.find(({ id }) => id === "norm_final"),
    undefined,
  );
  const last = tokenNumbers(model, forward(model, ids(OWN)), { ...step.place, layer: 3 });
  near(last.stages?.at(-1)?.vector ?? [], numbers.runs[0].output[6]);
});

test("the answer after each block, and without each token", () => {
  const { said, shares, effects, answers } = numbers.depth;
  const ran = forward(model, ids(OWN));
  const rows = said.map((/** @type {string} */ _, /** @type {number} */ blocks) => predictions(model, ran, blocks)[0]);
  assert.deepEqual(
    rows.map((/** @type {any} */ { labels }) => labels[0]),
    said,
  );
  near(
    rows.map((/** @type {any} */ row) => row.shares[0]),
    shares,
  );
  const found = knockOut(model, ran);
  assert.deepEqual(found.answers, answers);
  assert.equal(found.values[6], null);
  near(found.values.map(Number), effects.map(Number));
  assert.equal(found.measure, "logit of “are” − “is” at token 6");
});

test("without [MASK], what is measured is how far the mean has turned", () => {
  const { values, measure, answers } = knockOut(model, forward(model, ids("the cat sleeps")));
  assert.match(measure, /cosine/);
  assert.ok(values.every((value) => value !== null && value > 0 && value < 2));
  assert.deepEqual(new Set(answers), new Set([""]));
});

test("texts become the ids that the tokenizer gives", () => {
  for (const [text, wanted, padding] of numbers.readings) {
    const found = vocabulary.read(text);
    assert.deepEqual([found.ids, found.padding], [wanted, padding], text);
  }
  const { unknown, cut, special } = vocabulary.read(`zebra ${"the ".repeat(40)}`);
  assert.deepEqual([unknown, cut, special.filter(Boolean).length], [["zebra"], 19, 2]);
  assert.equal(vocabulary.ordinary.length, 63);
});

test("typed padding is masked, left out of means and effects, and changes nothing at the end", () => {
  const runs = new Runs(model, vocabulary, "grammar");
  const [plain, padded] = ["the cat sees the dog", "the cat sees the dog [PAD] [PAD]"].map((text) => runs.of(text));
  for (const [token, { out }] of plain.ran.last.entries()) near(padded.ran.last[token].out, out, `output ${token}`);
  assert.deepEqual(runs.described(padded).valid, [...plain.read.ids.map(() => true), false, false]);
  assert.equal(padded.read.cut, 0);
  const [one, two] = [plain, padded].map(({ ran }) => knockOut(model, ran).values);
  near(two.slice(0, -2).map(Number), one.map(Number));
  assert.deepEqual(two.slice(-2), [null, null]);
  const [swap, other] = [plain, padded].map(({ read }) => wordOrder(model, read, 2, 5));
  assert.ok("apart" in swap && "apart" in other);
  near(other.apart, swap.apart);
  assert.ok(
    vocabulary.isPadding(" [PAD][PAD]") && !vocabulary.isPadding("the [PAD]") && !vocabulary.isPadding("\\[PAD]"),
  );
});

test("untrained encoders by depth, with parts off, and as docs/teaching.md tells of them", () => {
  const said = read("docs/teaching.md").toString();
  const names = ["[CLS]", ...OWN.split(" "), "[SEP]"];
  const by = (/** @type {boolean} */ post, residual = true, norm = true) => byDepth(names, 6, { post, residual, norm });
  const [pre, post, bare] = [by(false), by(true), by(false, true, false)];
  for (const { length } of post.slice(1)) assert.ok(Math.abs(length - 8) < 1e-3); // √64
  for (const { length, left } of pre) assert.ok(Math.abs(left * length - pre[0].length) < 1e-9); // the embedding is there
  const [kept, lost, long] = [pre.at(-1)?.left, post.at(-1)?.left, bare.at(-1)?.length].map(Number);
  assert.ok(said.includes(`.${Math.round(1000 * kept)} of a pre-norm one`));
  assert.ok(said.includes(`.${String(Math.round(1000 * lost)).padStart(3, "0")} of a post-norm state`));
  assert.ok(said.includes(`${Math.round(long).toLocaleString("en-US")} long`));
  for (const alone of [by(false, false), by(true, false), by(false, false, false)]) {
    assert.ok(alone.slice(1).every(({ left }) => left === 0) && (alone.at(-1)?.alike ?? 0) > 0.99); // one vector
  }
});

test("weights are counted as the server counts them, and the same sizes are refused", () => {
  for (const [sizes, parts, costs] of numbers.counts) {
    const found = weightCounts(sizes);
    assert.ok("parts" in found);
    assert.deepEqual(
      found.parts.map(({ name, formula, count }) => [name, formula, count]),
      parts,
    );
    assert.deepEqual([found.scores_cost, found.ffn_cost, found.projections_cost, found.equal_at], costs);
  }
  for (const sizes of numbers.refused) assert.match(String(weightCounts(sizes).message), /must be|choose/);
});

const line = (/** @type {number} */ step) => [
  0,
  step,
  2,
  1,
  "number",
  2,
  1,
  0.25,
  0.05,
  null,
  [],
  [[3, 0.05, 3]],
  7,
  4,
  5,
  6,
];
const kept = {
  texts: ["score", "How much?", "", "Too much.", "Yes.", "No.", "Look."],
  seats: {
    0: { text: OWN, place: { layer: 2, head: 0, query: 6, key: 2 }, exercises: { en: [line(3), line(4)] } },
    7: { text: "a b", place: { layer: 3, head: 1, query: 1, key: 2 }, exercises: { en: [line(4)] } },
  },
};

test("questions belong to a seat's own sentence", () => {
  const questions = new Questions(kept);
  assert.deepEqual(questions.numbers, [7]);
  const [found, ...more] = questions.about(OWN, 0, 4, "en");
  assert.equal(more.length, 0);
  assert.deepEqual(
    [found.id, found.question, found.answer, found.unit, found.choices, found.cell, found.hint],
    ["score", "How much?", 0.25, "", null, 7, "Look."],
  );
  assert.deepEqual(found.mistakes, [{ value: 3, tolerance: 0.05, says: "Too much." }]);
  assert.deepEqual([questions.about(OWN, 7, 4, "en"), questions.about(OWN, 0, 4, "fr")], [[], []]);
  assert.deepEqual([questions.sentence(7), questions.sentence(8)], ["a b", OWN]);
});

test("requests are answered by runs of this page", () => {
  const runs = new Runs(model, vocabulary, "grammar");
  const answers = new Answers(runs, new Questions(kept), { keys: "key", cabinet: "cabinets" });
  const asked = (/** @type {string} */ path, /** @type {any} */ body) =>
    /** @type {any} */ (answers.answer(path, body));
  const plain = runs.of(OWN);
  assert.equal(runs.of(OWN).key, plain.key);
  const described = runs.described(plain);
  assert.deepEqual(described.opening, { layer: 2, head: 0, query: 6, key: 2 });
  const url = `viz/run/${plain.key}/`;
  const { shape, values } = asked(`${url}learn/outputs`);
  assert.deepEqual(shape, [9, 64]);
  near(values.subarray(64, 128), numbers.runs[0].output[1]);
  const positions = asked(`${url}learn/positions`);
  assert.deepEqual(positions.shape, [9, 64]);
  const told = asked(`${url}learn/token?layer=0&head=0&query=3&key=0&dim=0`).embedding;
  near(positions.values.subarray(3 * 64, 4 * 64), told.position);
  near(asked(`${url}learn/turned?query=6&key=2`).turned, numbers.depth.turned);
  assert.equal(asked(`${url}learn/exercises?step=4&seed=0&language=en`).exercises.length, 1);
  const changed = asked(`${url}whatif/changed`, JSON.stringify({ changes: ["c", "h2.0"] })).run;
  assert.deepEqual([changed.changed.plain, changed.link.cut], [plain.key, "c,h2.0"]);
  assert.deepEqual(asked(`viz/run/${changed.key}/learn/exercises?step=4&seed=0&language=en`).exercises, []);
  const row = asked(`viz/run/${changed.key}/learn/token?layer=2&head=0&query=1&key=0&dim=0`);
  assert.deepEqual(row.attention.allowed, [1, 1, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(row.heads.lengths[0], 0);
  const window = asked(`${url}mask/run`, packed({ kind: "window", width: 2 }, 9)).run;
  near(runs.held(window.key).ran.last[8].out, numbers.runs[6].output[8]);
  assert.deepEqual(asked("viz/learn/seat?seed=7").place, { layer: 3, head: 1, query: 1, key: 2 });
  assert.throws(() => asked(`${url}picture.png`), /cannot compute that/);
  assert.deepEqual(knownCodes("c,h9.0,h1.3,t2,t9,p,c", model, 9), ["c", "h1.3", "t2", "p"]);
});

test("without positions, a swap of two words only moves their outputs", () => {
  const found = wordOrder(model, vocabulary.read("the cat sees the dog"), 2, 5);
  if ("message" in found) throw new Error(found.message);
  assert.deepEqual([found.one, found.two], [2, 5]);
  const [[before, swapped], [without, both]] = found.vectors;
  near(before, [...forward(model, ids("the cat sees the dog")).last[2].out]);
  near(swapped, [...forward(model, ids("the dog sees the cat")).last[5].out]); // at its new place
  near(both, without);
  assert.ok(found.apart[0] > 0.05 && found.apart[1] < 1e-9);
  assert.deepEqual(
    [
      [0, 5],
      [1, 4],
      [4, 4],
    ].map(([one, two]) => {
      const made = wordOrder(model, vocabulary.read("the cat sees the dog"), one, two);
      return "one" in made && [made.one, made.two];
    }),
    [
      [1, 2],
      [1, 2],
      [4, 2],
    ],
  );
  assert.ok("message" in wordOrder(model, vocabulary.read("the the"), 1, 2));
});

test("without each head, and what carried the answer here and in the twin", () => {
  const { answers, shares } = numbers.heads;
  const ran = forward(model, ids(OWN));
  const found = withoutHeads(model, ran);
  assert.deepEqual(found.answers, answers);
  for (const [layer, row] of found.shares.entries()) near(row.map(Number), shares[layer], `layer ${layer}`);
  assert.deepEqual(mostEffective(found), { layer: 3, head: 0, size: Math.abs(Number(found.values[3][0])) });
  const split = carried(model, ran, 6, { keys: "key", cabinet: "cabinets" });
  const { twin } = split;
  assert.ok(twin);
  assert.deepEqual([split.answer, split.rival, twin.at, twin.word], ["are", "is", 2, "key"]);
  for (const [one, wanted] of [
    [split, numbers.carried.here],
    [twin, numbers.carried.there],
  ]) {
    near([...one.shares, one.biases], wanted);
  }
  const length = carried(model, forward(model, ids("the cat sleeps")), 2, {});
  near([...length.shares, length.biases], numbers.carried.vector);
});
