// Heads found by plain words, ordered by a statistic, compared with a reference, walked by keys, and named in a plot.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { toggled, stepped } from "../../assets/web/explore/head_choice.js";
import { textOf } from "../../assets/web/explore/found_heads.js";
import { EXAMPLES, matching, phrases, understand } from "../../assets/web/explore/head_filter.js";
import { comparable, HeadStatistics, headNamed, rank } from "../../assets/web/explore/head_statistics.js";
import { pairAsked } from "../../assets/web/explore/pair_search.js";
import { nearest } from "../../assets/web/explore/similar_heads.js";
import { tabOf } from "../../assets/web/core/tab_link.js";
import { linesOf, textsOf } from "../../assets/web/explore/over_texts.js";
import { boxOf, outstanding, overlap, placed } from "../../assets/web/views/scatter_labels.js";

const own = (title, even = null) => ({ title, unit: "nats", meaning: "said", edge: "", over: "", most: 1, even });
const STATISTICS = { entropy: own("Entropy", 2), distance: own("Mean distance", 4), previous: own("Weight on it") };
const RUN = { nLayers: 2, nHeads: 3, tokens: ["[CLS]", "a", "b"], statistics: STATISTICS };
const asked = (text) => understand(text, RUN);
const tests = (text) => asked(text).tests.map(({ statistic, side, at }) => `${statistic} ${side} ${at}`);

test("words become tests with their bounds", () => {
  for (const [text, found] of [
    ["heads that look at the previous token", ["previous > 0.5"]],
    ["Next token over 20%", ["next > 0.2"]],
    ["token before ≥ half", ["previous > 0.5"]],
    ["spread out", ["entropy > 1.6"]],
    ["sharp and far", ["distance > 4", "entropy < 0.6"]],
    ["near", ["distance < 2"]],
    ["entropy under 1.25", ["entropy < 1.25"]],
    ["one large weight, changed", ["change > 0.1", "largest > 0.9"]],
    ["[CLS] at most .25", ["first < 0.25"]],
  ]) {
    assert.deepEqual(tests(text).sort(), found, text);
  }
});

test("places are read, and refused where the run has none", () => {
  assert.deepEqual(asked("layer 1 head 2").places, [
    { kind: "layer", layer: 1, head: undefined },
    { kind: "head", layer: undefined, head: 2 },
  ]);
  assert.deepEqual(asked("1.2").places, [{ kind: "both", layer: 1, head: 2 }]);
  assert.equal(asked("layer 2").fault, "There is no layer 2; this run has layers 0 to 1.");
  assert.equal(asked("0.3").fault, "There is no head 3; this run has heads 0 to 2.");
  assert.equal(asked("  "), null);
});

test("what is not understood is said", () => {
  assert.match(asked("not previous").fault, /^“not” is not understood. You can write previous token, next token/);
  assert.match(asked("heads").fault, /^Say what the heads look at, such as previous token, .* special tokens\.$/);
  assert.equal(asked("entropy").fault, "Say how much: “entropy over 1” or “entropy under 1”.");
  for (const example of EXAMPLES.filter((text) => !/layer|head|^\d/.test(text)))
    assert.equal(asked(example).fault, undefined);
});

const HEADS = [0, 1].flatMap((layer) => [0, 1, 2].map((head) => ({ layer, head })));
const WEIGHTS = [0.1, 0.5, null, 0.7, 0.49, 0.2];
const value = (_, { layer, head }) => WEIGHTS[3 * layer + head];
const names = (text) => {
  const { found, says } = matching(asked(text), HEADS, value);
  return [found.map(({ layer, head }) => `${layer}.${head}`), textOf(says)];
};

test("the heads that match, and what they do in a sentence", () => {
  assert.deepEqual(names("previous"), [
    ["0.1", "1.0"],
    "2 heads put at least 0.5 of their weight on the previous token: 1.0 (0.70), 0.1 (0.50).",
  ]);
  const one = "Head 1.0 puts 0.70 of its weight on the previous token.";
  assert.deepEqual(names("previous layer 1"), [["1.0"], one]);
  assert.deepEqual(names("layer 0 layer 1 head 2")[0], ["0.2", "1.2"]);
  assert.match(names("previous under 0.05")[1], /^No head puts at most 0.05 .* 0.0 is closest, with 0.1.$/);
  assert.match(names("previous > 0.9")[1], / 1.0 is closest, with 0.7.$/);
  assert.match(names("[cls]")[1], /on the first token, here “\[CLS\]”: 1\.0/);
  assert.match(names("broad")[1], /have an entropy of at least 1.6 nats \(0.8 × that of uniform attention\)|No head/);
});

test("the three strongest are named, with every value that was asked for", () => {
  const says = (text) => names(text)[1];
  assert.match(says("previous > 0.1"), /: 1\.0 \(0\.70\), 0\.1 \(0\.50\), 1\.1 \(0\.49\) and 2 more\.$/);
  assert.match(says("previous < 0.2"), /: 0\.0 \(0\.10\), 1\.2 \(0\.20\)\.$/); // of "at most", the least
  assert.match(says("next > 0.6, previous"), /^1 head .*: 1\.0 \(0\.70; 0\.70\)\.$/);
  assert.equal(says("layer 1"), "3 heads of layer 1 are shown.");
  const bound = "at most 0.6: 0.3 × that of uniform attention";
  assert.equal(says("low entropy head 0 layer 0"), `Head 0.0 has an entropy of 0.10 nats (${bound}).`);
  const closest = matching(asked("previous > 0.9"), HEADS, value).says.filter((part) => typeof part !== "string");
  assert.deepEqual(closest, [{ layer: 1, head: 0 }]);
});

test("an order by value: unknown ones last, equal ones as they stood", () => {
  const heads = [2, null, 1, 3, undefined, 1].map((value, at) => ({ value, at }));
  const order = (lowest) => rank(heads, lowest).map(({ at }) => at);
  assert.deepEqual(order(true), [2, 5, 0, 3, 1, 4]);
  assert.deepEqual(order(false), [3, 0, 2, 5, 1, 4]);
});

test("a run is compared with a reference of its size", () => {
  const run = (nLayers, nHeads, n) => ({ nLayers, nHeads, n });
  const [a, b] = [run(2, 3, 5), run(2, 3, 5)];
  assert.deepEqual(comparable(a, b), { maps: true, why: "" });
  assert.match(comparable(a, a).why, /This run is the reference/);
  assert.deepEqual(comparable(null, b), { maps: false, why: "" });
  const shorter = comparable(run(2, 3, 4), b);
  assert.ok(shorter.maps);
  assert.match(shorter.why, /^The reference has 4 tokens, this run 5: maps are compared on the tokens that both have/);
  assert.equal(comparable(run(2, 4, 5), b).maps, false);
  assert.match(comparable(run(3, 2, 5), b).why, /^The reference has 3 layers × 2 heads, this run 2 layers × 3 heads/);
});

test("a run that was made anew is compared with no run of its key", () => {
  const found = new HeadStatistics();
  const run = (key) => ({ key, vocabulary: { statistics: {} } });
  const old = run("old");
  found.enter(old);
  found.keep(old);
  found.enter(run("new"));
  assert.equal(found.other, old);
  found.enter(run("old"));
  assert.equal(found.other, null);
});

test("statistics are learned layer by layer, then the change of maps", async () => {
  const answers = { "change?reference=old&layer=0": [0.5], "change?reference=old&layer=1": [0.25] };
  const run = (key) => ({
    key,
    nLayers: 2,
    nHeads: 1,
    n: 4,
    vocabulary: { statistics: STATISTICS },
    json: async (path) => answers[path] ?? Promise.reject(new Error(`no ${path}`)),
  });
  const [found, old] = [new HeadStatistics(), run("old")];
  let told = 0;
  found.on(() => told++);
  found.enter(old);
  assert.deepEqual(found.names(), ["entropy", "distance", "previous"]);
  found.add({ entropy: [1] });
  assert.deepEqual([found.complete("entropy"), found.known("entropy")], [false, 1]);
  found.add({ entropy: [null] });
  found.keep(old);
  found.enter(run("new"));
  assert.deepEqual(found.names(), ["entropy", "distance", "previous", "change"]);
  assert.equal(found.text("change").unit, "share moved");
  found.add({ entropy: [4] });
  found.compare();
  found.compare(); // asks once
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual([found.changes, found.complete("change"), found.fault], [[[0.5], [0.25]], true, ""]);
  found.keep(run("gone"));
  found.compare();
  await new Promise((done) => setTimeout(done, 5));
  assert.deepEqual([found.changes, found.fault], [[], "no change?reference=gone&layer=0"]);
  assert.equal(told, 10);
  Object.assign(found, { run: { nLayers: 2, nHeads: 3 }, layers: [{ entropy: [1, 2, 3] }] });
  const listed = found.heads("entropy").map(({ name, value }) => `${name} ${value}`);
  assert.deepEqual(listed, ["0.0 1", "0.1 2", "0.2 3", "1.0 undefined", "1.1 undefined", "1.2 undefined"]);
});

test("a set of heads never becomes empty", () => {
  assert.deepEqual([toggled(3, 1), toggled("1,3", 1), toggled(3, 3), toggled("mean", 2)], ["1,3", 3, 3, 2]);
  assert.deepEqual(headNamed("3.11"), { layer: 3, head: 11 });
});

test("kinds of token become roles, whose shares the server computes", () => {
  for (const [text, found] of [
    ["punctuation", ["role:punctuation > 0.5"]],
    ["[SEP] over 0.3", ["role:delimiter > 0.3"]],
    ["sink", ["role:sink > 0.5"]],
    ["same token", ["same > 0.5"]],
    ["offset -2", ["role:offset:-2 > 0.5"]],
    ["2 back", ["role:offset:-2 > 0.5"]],
    ["look 1 token after over 20%", ["role:offset:1 > 0.2"]],
    ["offset −1, punctuation", ["role:offset:-1 > 0.5", "role:punctuation > 0.5"]],
    ["pronouns", ["role:pronoun > 0.5"]],
  ]) {
    assert.deepEqual(tests(text).sort(), found, text);
  }
  assert.match(asked("offset 7").fault, /^No two tokens are 7 places apart; the most is 2\.$/);
});

test("A → B are the two sentences of a pair, and tokens where they are written so", () => {
  const paired = { ...RUN, paired: true };
  const named = (text) => understand(text, paired).tests.map(({ statistic }) => statistic);
  assert.deepEqual(named("A → B"), ["role:a_to_b"]);
  assert.deepEqual(named("sentence B -> sentence A"), ["role:b_to_a"]);
  assert.match(asked("A → B").fault, /^This run has one sentence; write a second one/);
  assert.equal(pairAsked("A → B", ["[CLS]", "a", "b"]), null);
  assert.deepEqual(pairAsked("A → B", ["A", "x", "B"]), { query: 0, key: 2 });
  assert.deepEqual(pairAsked("a -> b", ["[CLS]", "a", "b"]), { query: 1, key: 2 });
});

test("the phrases that are offered are all understood", () => {
  const tokens = ["[CLS]", "a", ".", "[SEP]", "b", "[SEP]"];
  const special = [true, false, false, true, false, true];
  const run = { ...RUN, tokens, paired: true };
  const offered = phrases({ tokens, special, grid: null, paired: true });
  assert.ok(offered.includes("punctuation") && offered.includes("B → A"));
  assert.ok(!phrases({ tokens: ["a"], special: [false], grid: null, paired: false }).includes("punctuation"));
  for (const words of [...offered, ...phrases({ tokens, special, grid: {}, paired: false })]) {
    const found = understand(words, run);
    assert.equal(found.tests?.length, 1, words);
  }
});

test("the nearest heads come first, without the head itself and those that are not there", () => {
  const near = nearest(
    [
      [0, 0.3, null],
      [0.2, 0.3, 0.9],
    ],
    { layer: 0, head: 0 },
    3,
  );
  assert.deepEqual(
    near.map(({ layer, head }) => `${layer}.${head}`),
    ["1.0", "0.1", "1.1"],
  );
});

const SIZED = { nLayers: 3, nHeads: 4 };

test("h and l go to the next head and layer, with Shift to the one before, and around", () => {
  assert.deepEqual(stepped("h", { layer: 1, head: 2 }, SIZED), { head: 3 });
  assert.deepEqual(stepped("h", { layer: 1, head: 3 }, SIZED), { head: 0 });
  assert.deepEqual(stepped("H", { layer: 1, head: 0 }, SIZED), { head: 3 });
  assert.deepEqual(stepped("l", { layer: 2, head: 0 }, SIZED), { layer: 0 });
  assert.deepEqual(stepped("L", { layer: 0, head: 0 }, SIZED), { layer: 2 });
  assert.equal(stepped("k", { layer: 0, head: 0 }, SIZED), null);
});

test("from fused heads the first or the last is next, from several the one beside the first", () => {
  assert.deepEqual(stepped("h", { layer: 0, head: "mean" }, SIZED), { head: 0 });
  assert.deepEqual(stepped("H", { layer: 0, head: "max" }, SIZED), { head: 3 });
  assert.deepEqual(stepped("h", { layer: 0, head: "1,3" }, SIZED), { head: 2 });
});

test("a tab is named by its button", () => {
  const ids = ["viz-tab-masks-button", "component-12-button", "viz-tab-masks"];
  assert.deepEqual(ids.map(tabOf), ["masks", "", ""]);
});

test("names go to what lies furthest out along each axis", () => {
  assert.deepEqual(outstanding([0.1, -6, 0.2, NaN], [1, 0.9, 0, 2], 1), [1, 0]);
});

test("names lie on no point and on no other name, and inside the frame", () => {
  const frame = { left: 40, right: 340, top: 0, bottom: 220 };
  // A heap of points about one place, as small effects make it, and one in a corner.
  const points = Array.from({ length: 40 }, (_, at) => {
    const [x, y] = [60 + ((at * 37) % 90), 100 + ((at * 53) % 40)];
    return { x, y, name: `${at}.${at}` };
  });
  points.push({ x: 338, y: 14, name: "11.11" });
  const wanted = points.map((_, at) => at).reverse();
  const labels = placed(points, wanted, frame);
  assert.equal(labels[0].name, "11.11");
  assert.ok(labels.length > 5 && labels.length < points.length, `${labels.length}`);
  const boxes = labels.map(boxOf);
  boxes.forEach((box, at) => {
    assert.ok(box.left >= frame.left && box.right <= frame.right && box.top >= 0 && box.bottom <= frame.bottom);
    for (const other of boxes.slice(at + 1)) assert.ok(!overlap(box, other));
    for (const { x, y } of points) assert.ok(!(x > box.left && x < box.right && y > box.top && y < box.bottom));
  });
});

test("texts are lines that hold any", () => {
  assert.deepEqual(textsOf("one \n\n  two\n \n"), [
    [1, "one"],
    [3, "two"],
  ]);
});

test("a mean over texts is a line a head, with its spread", () => {
  const found = { mean: [[0.5, null]], spread: [[0.1, null]], measure: "logit of “are”, here", n: 3, sentence: "" };
  assert.deepEqual(linesOf(found).slice(1), [
    [0, 0, 0.5, 0.1, 3, "logit of “are”, here"],
    [0, 1, "", "", 3, "logit of “are”, here"],
  ]);
});
