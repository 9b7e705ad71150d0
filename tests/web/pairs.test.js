// Which heads link a pair: what is typed, how heads are ranked, and what is said of them.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { changeSaid } from "../../assets/web/explore/findings.js";
import { linksOf, mostChanged, reading, strongest } from "../../assets/web/explore/pair_links.js";
import { pairAsked } from "../../assets/web/explore/pair_search.js";
import { apart } from "../../assets/web/core/arcs.js";
import { linksOf as arcsOf } from "../../assets/web/explore/word_arcs.js";

const TOKENS = ["[CLS]", "the", "animal", "saw", "the", "it", "3", "[SEP]"];

test("a pair is two tokens with an arrow, by name or by number", () => {
  assert.deepEqual(pairAsked("it -> animal", TOKENS), { query: 5, key: 2 });
  assert.deepEqual(pairAsked(" IT→[sep] ", TOKENS), { query: 5, key: 7 });
  assert.deepEqual(pairAsked("2 => 0", TOKENS), { query: 2, key: 0 });
  assert.deepEqual(pairAsked("it -> 3", TOKENS), { query: 5, key: 6 }, "a name comes before a number");
  assert.equal(pairAsked("previous token", TOKENS), null);
});

test("of a name that occurs twice the key nearest to the query is meant", () => {
  assert.deepEqual(pairAsked("it -> the", TOKENS), { query: 5, key: 4 });
  assert.deepEqual(pairAsked("animal -> the", TOKENS), { query: 2, key: 1 });
});

test("what is no pair is said in a sentence", () => {
  for (const [text, words] of [
    ["it -> dog", "“dog”"],
    ["it -> 99", "“99”"],
    ["it ->", "it -> animal"],
    ["a -> b -> c", "one arrow"],
  ]) {
    const found = pairAsked(text, TOKENS);
    assert.ok(found && "fault" in found && found.fault.includes(words), text);
  }
});

test("heads are ranked by weight, and those that the mask forbids are left out", () => {
  const found = {
    weights: [
      [0.2, null],
      [0.7, 0.7],
    ],
    means: [
      [0.1, null],
      [0.1, 0.5],
    ],
    ratios: [
      [2, null],
      [7, 1.4],
    ],
  };
  const links = linksOf(found);
  assert.equal(links.length, 4);
  const ranked = strongest(links, 2);
  assert.deepEqual(
    ranked.map(({ layer, head, ratio }) => [layer, head, ratio]),
    [
      [1, 0, 7],
      [1, 1, 1.4],
    ],
  );
  assert.equal(strongest(links, 9).length, 3);
});

test("a large weight that every query gives is named, a selective one needs no remark", () => {
  const link = { layer: 5, head: 11, weight: 0.65, was: null };
  assert.match(
    reading([{ ...link, ratio: 1.6 }], "animal"),
    /In 5\.11 nearly every word looks at “animal”: .* 1\.6 times/,
  );
  assert.equal(reading([{ ...link, ratio: 5 }], "animal"), "");
  assert.match(reading([], "animal"), /mask forbids/);
});

test("arcs go to the strongest others, never to the word itself", () => {
  const values = Float32Array.from([0.3, 0.01, 0.5, NaN, 0.1]);
  assert.deepEqual(
    arcsOf(values, 2).map(({ at }) => at),
    [0, 4],
  );
});

test("a label that would lie on one of a larger weight is left out", () => {
  const [first, near, above, beside] = [
    { x: 100, top: 50, wide: 24 },
    { x: 120, top: 45, wide: 24 },
    { x: 110, top: 30, wide: 24 },
    { x: 131, top: 50, wide: 24 },
  ];
  assert.deepEqual(apart([first, near, above, beside]), [first, above, beside]);
  assert.deepEqual(apart([near, first]), [near]);
  // One that is left out takes no other's place.
  assert.deepEqual(apart([first, near, { ...near, x: 140 }]), [first, { ...near, x: 140 }]);
});

test("a head in which the pair was cut comes by what it had; where all have none, there is no change", () => {
  const links = linksOf({ weights: [[0.1, null, 0.3]], ratios: [[1, null, 1]] }, [[0.4, 0.9, null]]);
  assert.deepEqual(
    mostChanged(links, 5).map(({ head }) => head),
    [1, 0],
  );
  const none = linksOf({ weights: [[null, null]], ratios: [[null, null]] }, [[0.4, 0.9]]);
  assert.deepEqual(mostChanged(none, 5), []);
});

test("a change is called none only where no printed digit would show it", () => {
  assert.deepEqual([0, 4e-5, -4e-5].map(changeSaid), Array(3).fill("unchanged"));
  assert.deepEqual([-0.0014, 0.034, 0.5].map(changeSaid), ["−0.0014", "+0.034", "+0.50"]);
});
