// Explore's question and answer: how routes are laid out and said, and where the controls of a view begin.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { startOf } from "../../assets/web/explore/any_view.js";
import {
  addsUp,
  answerSaid,
  briefly,
  effectSaid,
  looksSaid,
  placeSaid,
  strongestHead,
  unitSaid,
} from "../../assets/web/explore/answers.js";
import { curves, folded, linkSaid, roomy, shareSaid } from "../../assets/web/views/routes_layout.js";
import { ranksSaid } from "../../assets/web/explore/effects.js";
import { ShareMaps } from "../../assets/web/explore/share_maps.js";
import { Run } from "../../assets/web/core/run.js";
import { tabIn } from "../../assets/web/core/selection_address.js";

const NODES = [
  [1, -6, 0.5, 3, 0.25],
  [2, -1, 0.5, 4, -0.25],
];
const GROUPS = [[0], [1], [2], [3], [4, 5, 6]];

test("columns that hold least are folded into the last one, which is their sum", () => {
  const found = folded({ groups: GROUPS, nodes: NODES }, 3);
  assert.deepEqual(found.groups, [[1], [3], [0, 2, 4, 5, 6]]);
  assert.deepEqual(found.nodes, [
    [-6, 3, 1.75],
    [-1, 4, 2.25],
  ]);
  const sums = (rows) => rows.map((row) => row.reduce((sum, share) => sum + share, 0));
  assert.deepEqual(sums(found.nodes), sums(NODES));
  assert.deepEqual(folded({ groups: GROUPS, nodes: NODES }, 5), { groups: GROUPS, nodes: NODES });
  assert.deepEqual(folded({ groups: GROUPS, nodes: NODES }, 3, 2).groups.slice(0, 2), [[1], [2]]); // asked about
});

test("curves lead from the key's column to the query's, and none stays within one", () => {
  const edge = (key, query) => ({ layer: 0, query, key, share: 1, head: 0, by_head: 1 });
  const found = curves([edge(4, 1), edge(4, 6), edge(2, 2)], GROUPS);
  assert.deepEqual(
    found.map(({ from, to }) => [from, to]),
    [[4, 1]],
  );
});

test("a weaker label leaves its place to a stronger one and to its curve, or moves", () => {
  const label = (text, xs, y, span) => ({ text, xs, y, span });
  const all = [
    label("27% (5.11: 22%)", [100], 0, [20, 300]),
    label("4% (5.10: 2%)", [240, 250], 0, [220, 300]), // on the curve
    label("3%", [100], 30, [80, 300]), // of another block
    label("2%", [305, 330], 0, [300, 400]), // moves off the curve's end
  ];
  assert.deepEqual(
    roomy(all).map(({ text, x }) => [text, x]),
    [
      ["27% (5.11: 22%)", 100],
      ["3%", 100],
      ["2%", 330],
    ],
  );
  const beside = [label("5% (3.1: 4%)", [100], 0, [80, 120]), label("3% (3.9: 2%)", [186], 0, [150, 220])];
  assert.equal(roomy(beside).length, 1); // 12 letters each: they would run into each other
});

test("a share is a percentage where that says much, and nothing where it would read as zero", () => {
  const [large, near] = [
    { score: -4, large: true },
    { score: 0.07, large: false },
  ];
  assert.deepEqual(
    [1, -2, 0.01].map((share) => shareSaid(share, large)),
    ["−25%", "50%", ""],
  );
  assert.deepEqual(
    [1, -2.345, 0.004].map((share) => shareSaid(share, near)),
    ["+1.00", "−2.35", ""],
  );
});

test("a grid writes a share in few characters, and its title the unit", () => {
  const [large, near] = [
    { score: -4, large: true },
    { score: 0.07, large: false, unit: "logits" },
  ];
  assert.deepEqual(
    [1, 0.01].map((share) => briefly(share, large)),
    ["−25", ""],
  );
  assert.deepEqual(
    [-8.66, 12.4, -0.05, 0.004].map((share) => briefly(share, near)),
    ["−8.7", "12", "−.05", ""],
  );
  assert.deepEqual([unitSaid(large), unitSaid(near)], ["%", "logits"]);
});

const FOUND = {
  words: "the logit of “are”",
  score: 10,
  large: true,
  names: ["a", "b", "c"],
  tokens: [7, 2, 1],
  heads: [
    [1, -3],
    [0.5, 6],
  ],
  edges: [{ layer: 1, query: 2, key: 0, share: 7, head: 1, by_head: 5 }],
};
const said = (found, itself) =>
  answerSaid(found, (at) => `“${FOUND.names[at]}”`, itself)
    .map(([text]) => text)
    .join("");

test("the answer says which tokens, how much, and what the strongest head brought", () => {
  assert.equal(
    said(FOUND),
    "The logit of “are” is 10.00: 70% from “a”, 20% from “b” and 10% from “c”; head 1.1 brings “a” (50%).",
  );
  assert.equal(said(FOUND, 1), "“b” ends up 70% “a”, 20% itself and 10% “c”; head 1.1 brings “a” (50%).");
  const distance = { ...FOUND, words: "the distance between the two vectors", whole: 40 };
  assert.match(said(distance), /^The two vectors differ by 25% of this one’s length: /);
  const whole = addsUp({ ...distance, along: -0.254, biases: 0, unexplained: 1e-7 });
  assert.equal(
    whole,
    "All tokens and the biases (0%) add up to 10.00 (the distance, of a vector that was 40.00 long), to 1e-7 of it.",
  );
  assert.match(
    said({ ...distance, along: -0.254 }),
    /^The vector is 25% shorter along its old direction and moves by 25% of its length in all: /,
  );
  const apart = { ...FOUND, words: "the logit, in this run minus in the other," };
  const named = answerSaid(apart, String, -1, [], "the run without the change")[0][0];
  assert.equal(named, "The logit is 10.00 higher than without the change: ");
  const lower = answerSaid({ ...apart, score: -1 }, String, -1, [], "the same with “key” for “keys”")[0][0];
  assert.equal(lower, "The logit is 1.00 lower than with “key” for “keys”: ");
  const spread = { ...FOUND, edges: [{ ...FOUND.edges[0], by_head: 2 }] }; // of 6 that the head brings
  assert.match(said(spread), /; head 1\.1 brings the largest share of it \(60%\)\.$/);
  const other = { layer: 0, query: 2, key: 0, share: 5.5, head: 0, by_head: 5.5 }; // more of “a” than by 1.1's own link
  assert.match(
    said({ ...FOUND, edges: [...FOUND.edges, other] }),
    /; head 1\.1 brings the largest share of it \(60%\)\.$/,
  );
  const untrained = { ...FOUND, heads: FOUND.heads.map((row) => row.map((share) => share / 1e4)), edges: [] };
  assert.match(said(untrained), /; no head brings 1% of it\.$/);
  assert.deepEqual(strongestHead(FOUND.heads), { layer: 1, head: 1, name: "1.1", share: 6 });
});

const plain = (parts) => parts.map(([text]) => text).join("");
const named = (at) => `“${FOUND.names[at]}”`;

test("weights alone say where a token looks, an effect whose removal changes most, with its sign", () => {
  assert.equal(
    plain(looksSaid({ ...FOUND, score: 1, tokens: [0.6, 0.3, 0.1] }, named, 1)),
    "Going by attention alone, “b” draws 60% on “a”, 30% on itself and 10% on “c”.",
  );
  const removed = {
    ...FOUND,
    words: "the logit",
    tokens: [2, -4, 0],
    heads: [
      [1, null],
      [0.5, -6],
    ],
  };
  assert.equal(
    plain(effectSaid(removed, named)),
    "Of all heads, removing 1.1 changes the logit the most (−60%); of all tokens, hiding “b” does (−40%).",
  );
  assert.deepEqual(strongestHead([[null, null]]), { layer: 0, head: 0, name: "0.0", share: 0 });
});

test("a head's place says what it brings, and what removing it changes once that is measured", () => {
  assert.equal(placeSaid(FOUND, null, 1, 0), "The head brings 5% (rank 4 of 4).");
  const effect = {
    ...FOUND,
    heads: [
      [0.2, null],
      [-4, 1],
    ],
  };
  assert.equal(
    placeSaid(FOUND, effect, 1, 0),
    "The head brings 5% (rank 4 of 4); removing it changes the result by −40% (rank 1 of 4).",
  );
  assert.equal(placeSaid(FOUND, effect, 9, 0), "");
});

test("a share of what two runs are apart by is told as that, of a removed head too", () => {
  const distance = { ...FOUND, words: "the distance between the two vectors", apart: "distance" };
  assert.equal(placeSaid(distance, null, 1, 0), "The head brings 5% of the distance (rank 4 of 4).");
  assert.equal(placeSaid(distance, null, 1, 1, true), "Removing it adds 60% of the distance.");
  assert.equal(unitSaid(distance), "% of the distance");
  const words = "the logit of “7”, in this run minus in the other,";
  const logit = { ...FOUND, words, apart: "difference", large: false };
  assert.equal(placeSaid(logit, null, 0, 1, true), "Removing it adds −3.00 to the difference.");
  assert.equal(placeSaid(FOUND, null, 0, 1, true), "");
  assert.match(plain(answerSaid(distance, named, -1, ["1.1"])), /; the removed head 1\.1 had brought “a” \(50%\)\.$/);
});

test("a curve whose head was not measured is told without one", () => {
  const [edge] = FOUND.edges;
  assert.deepEqual([linkSaid(edge, FOUND), linkSaid({ ...edge, by_head: null }, FOUND)], ["70% (1.1: 50%)", "70%"]);
});

test("the map shows shares or effects of the question, and weights where the measure is of them", async () => {
  const listeners = [];
  const selection = {
    layer: 1,
    head: 2,
    query: 3,
    hide: false,
    measure: "contribution",
    on: (one) => listeners.push(one),
  };
  const maps = new ShareMaps(selection, () => " against “wide”");
  const asked = [];
  const run = { numbers: async (path) => asked.push(path) };
  assert.equal(maps.shows, "");
  maps.ask(run, "of=state&token=3");
  assert.deepEqual([maps.run, maps.shows, maps.steps], [run, "share:of=state&token=3", null]);
  maps.found(FOUND);
  assert.deepEqual([maps.most, maps.write(5), maps.write(0.01)], [5, "50%", ""]);
  assert.equal(maps.titled("ayer 1", run), "Share of each link against “wide”: layer 1");
  assert.equal(maps.cell({ value: -0.5, now: 0.25 }), "weight 0.25; brings −5.0% (−0.5000 of 10.00)");
  await maps.part(run, selection, [0, 4], [1, 4]);
  assert.match(asked[0], /^attribution\/map\?of=state&token=3&query=3&layer=1&head=2.*&told=1&rows=0:4&keys=1:4$/);
  assert.match(maps.file("npz"), /^attribution\/map\/npz\?of=state&token=3&query=3&layer=1&head=2/);
  [selection.measure, run.n] = ["effect", 65];
  assert.deepEqual([maps.shows, maps.steps], ["effect:of=state&token=3:3", [1, 4, 16, 0]]);
  run.n = 16; // all links of so few tokens at once
  assert.deepEqual(maps.steps, [0]);
  assert.match(maps.file("csv"), /^attribution\/effect\/map\/csv\?of=state&token=3&query=3&layer=1/);
  let told = 0;
  maps.on(() => told++);
  for (const listen of listeners) listen(new Set(["query"])); // another row is measured
  selection.head = "1,2"; // of which there are weights alone
  for (const listen of listeners) listen(new Set(["head"]));
  assert.deepEqual([maps.shows, told], ["", 2]);
  selection.measure = "attention";
  for (const listen of listeners) listen(new Set(["query"]));
  assert.deepEqual([maps.shows, told], ["", 2]);
  maps.ask(null, "");
  assert.equal(maps.shows, "");
});

test("a step of the lesson is an address of its tab", () => {
  const named = ["?tab=masks", "?learn=4", "", "?tab=pooling"].map((address) => tabIn(address).tab);
  assert.deepEqual(named, ["masks", "learn", "", "vectors"]);
  assert.deepEqual(tabIn("?tab=zoo"), { tab: "masks", part: "bugs" });
});

test("a control begins at what is selected, where the view has that; else as usual", () => {
  const control = (more) => ({ name: "head", words: ["mean"], most: 3, default: 1, ...more });
  assert.equal(startOf(control(), { head: 3 }), 3);
  assert.equal(startOf(control(), { head: 4 }), 1);
  assert.equal(startOf(control(), { head: "mean" }), "mean");
  assert.equal(startOf(control(), { head: "1,2" }), 1);
  assert.equal(startOf(control({ name: "show" }), { head: 3 }), 1);
  assert.equal(startOf(control({ default: null }), { head: 3 }), "");
});

test("views stand where they say, in their order; a view without a place stands nowhere", async () => {
  const place = (tab, slot, order) => ({ tab, slot, order });
  const run = new Run({ tokens: ["[CLS]", "cat", "[PAD]"], special: [true, false, false], valid: [true, true, false] });
  run.views = async () => ({
    third: { name: "third", place: place("vectors", "answer", 3) },
    none: { name: "none", place: null },
    second: { name: "second", place: place("vectors", "query", 2) },
    other: { name: "other", place: place("masks", "query", 0) },
    first: { name: "first", place: place("vectors", "query", 1) },
  });
  const names = async (...where) => (await run.viewsAt(...where)).map(({ name }) => name);
  assert.deepEqual(await names("vectors"), ["first", "second", "third"]);
  assert.deepEqual(await names("corpus"), []);
  assert.deepEqual([run.real(), run.real(true), run.named(1)], [[0, 1], [1], "1 “cat”"]);
});

test("the effect of what was removed stands beside that of all others", () => {
  const effect = {
    ...FOUND,
    tokens: [0.5, 0, -2],
    heads: [
      [0.2, -0.4],
      [null, 0.1],
    ],
    names: ["a", "b", "a"],
    large: false,
  };
  assert.equal(
    ranksSaid(effect, ["h0.0", "t2", "t1", "h1.0"]),
    "Removing 0.0 alone changes the result by +0.20 (50% of the largest, rank 2 of 3), " +
      "hiding “a” (token 2) by −2.00 (rank 1 of 2).",
  );
});
