// What if: lines of JSON as they come, codes of changes, figures with signs, names in a plot, keys in a grid.

import "./address.js";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { walked } from "../../assets/web/views/cells.js";
import { streamed } from "../../assets/web/core/streamed.js";
import { changedTokens, headCode, wordCodes } from "../../assets/web/whatif/codes.js";
import { usualHeads } from "../../assets/web/whatif/usual_heads.js";
import { knownOf } from "../../assets/web/whatif/scatter.js";
import { boxOf, outstanding, overlap, placed } from "../../assets/web/views/scatter_labels.js";
import { textsOf } from "../../assets/web/whatif/texts.js";
import { digitsFor, emphasized, headsNamed, legendOf, share } from "../../assets/web/whatif/wording.js";
import { largestAmount, signedAmount, signedFixed } from "../../assets/web/whatif/wording.js";

let cancelled = false;
let pieces = [];
let after = (controller) => controller.close();

beforeEach(() => {
  cancelled = false;
  after = (controller) => controller.close();
  globalThis.document = { baseURI: "http://page/" };
  globalThis.fetch = async (_, { signal }) => {
    const encoder = new TextEncoder();
    const left = pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
    const body = new ReadableStream({
      start: (controller) => signal?.addEventListener("abort", () => controller.error(signal.reason)),
      pull: (controller) => (left.length ? controller.enqueue(left.shift()) : after(controller)),
      cancel: () => {
        cancelled = true;
      },
    });
    return new Response(body);
  };
});
afterEach(() => {
  delete globalThis.document;
});

const told = async (sent) => {
  const shares = [];
  const result = await streamed("x", (done) => shares.push(done), sent);
  return { shares, result };
};

test("shares are told as they come, then the result; lines may be cut anywhere, within a letter too", async () => {
  const accent = new TextEncoder().encode('{"result": "é"}\n');
  pieces = ['{"done": 0.2', '5}\n{"done": 0.5}\n\n', accent.slice(0, 13), accent.slice(13)];
  assert.deepEqual(await told(), { shares: [0.25, 0.5], result: "é" });
  pieces = ['{"done": 1}\n{"result": null}'];
  assert.deepEqual(await told(), { shares: [1], result: null }, "the last line needs no end");
});

test("once the result is there nothing more is read", async () => {
  pieces = ['{"result": 3}\n', '{"done": 0.1}\n'];
  after = () => {};
  assert.equal((await told()).result, 3);
  assert.ok(cancelled);
});

test("why not is thrown as its sentence, and so is an answer that is cut off", async () => {
  pieces = ['{"done": 0.5}\n{"message": "The twin has 9 tokens, this text 8."}\n'];
  await assert.rejects(told(), { message: "The twin has 9 tokens, this text 8." });
  for (const cut of [['{"done": 0.5}\n'], ['{"done": 0.5}\n{"resu'], []]) {
    pieces = cut;
    await assert.rejects(told(), /stopped before the result/);
  }
  after = (controller) => controller.error(new TypeError("network error"));
  await assert.rejects(told(), /stopped before the result/);
});

test("who gives up aborts the reading", async () => {
  const stop = new AbortController();
  pieces = ['{"done": 0.5}\n'];
  after = () => new Promise(() => {});
  const shares = [];
  const asked = streamed("x", (done) => shares.push(done) && stop.abort(), { signal: stop.signal });
  await assert.rejects(asked, { name: "AbortError" });
  assert.deepEqual(shares, [0.5]);
});

test("codes name heads and what a click does to a word", () => {
  assert.equal(headCode({ layer: 3, head: 10 }), "h3.10");
  assert.equal(headsNamed([{ layer: 3, head: 0 }]), "head 3.0");
  assert.equal(headsNamed([1, 2, 3].map((head) => ({ layer: 3, head }))), "heads 3.1, 3.2 and 3.3");
  const codes = ["t", "m", "d"].flatMap((action) => wordCodes(action, 12, "new"));
  assert.deepEqual(codes, ["t12", "m12", "d12"]);
  assert.deepEqual(wordCodes("r", 2, "a, b"), ["r2:a%2C%20b"]);
  const changed = changedTokens(["h3.0", "t2", "r12:t3", "l:1-2", "m2"]);
  assert.deepEqual(
    [...changed],
    [
      [2, ["t2", "m2"]],
      [12, ["r12:t3"]],
    ],
  );
});

test("numbers have their sign, two digits at the largest, and no sign where they round to nothing", () => {
  assert.deepEqual([6.2, 0.52, 0.077, 12, 0, 1e-9].map(digitsFor), [1, 2, 3, 1, 1, 5]);
  assert.equal(largestAmount([null, 0.5, -6.2, NaN]), 6.2);
  assert.deepEqual(
    [1.34, -6.16, -0.04, 0, null].map((value) => signedFixed(value, 1)),
    ["+1.3", "−6.2", "0.0", "0.0", "–"],
  );
  assert.deepEqual([1.34, -6.1638, 0, -0.00012, null].map(signedAmount), [
    "+1.340",
    "−6.164",
    "0",
    "−0.000120",
    "not measured",
  ]);
  assert.deepEqual([0.9951, 0.0004, 0, null].map(share), ["0.995", "< 0.001", "0.000", "–"]);
});

test("with an answer the low end is red, for it weakens; a distance has its red where it is large", () => {
  assert.deepEqual(legendOf("“are”"), { low: "weakens “are”", high: "strengthens “are”", turned: true });
  assert.equal(legendOf("").turned, false);
});

test("the named part of a sentence stands out, where it is one", () => {
  const flips = "Removing head 3.0 flips “are” (0.995) to “is” (0.687), the largest effect of all heads.";
  const [before, after] = ["Removing head 3.0 flips ", ", the largest effect of all heads."];
  const flip = "“are” (0.995) to “is” (0.687)";
  assert.deepEqual(emphasized(flips, flip), [before, flip, after]);
  assert.deepEqual(emphasized("Removing head 1.0 keeps “are” (0.995 → 0.880).", "")[1], "");
  assert.deepEqual(emphasized("Nothing changed.", flip), ["Nothing changed.", "", ""]);
});

test("points of a plot are the heads of which both numbers are known, by their attention", () => {
  const known = knownOf({
    along: [
      [0.5, null],
      [0.1, 0.2],
    ],
    values: [
      [1, 2],
      [-3, null],
    ],
  });
  assert.deepEqual(known, [
    { at: { layer: 1, head: 0 }, along: 0.1, value: -3 },
    { at: { layer: 0, head: 0 }, along: 0.5, value: 1 },
  ]);
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

test("arrows lead from head to head and stop at the edges", () => {
  const to = (key, layer, head) => walked(key, [layer, head], 2, 3);
  assert.deepEqual(to("ArrowDown", 0, 1), [1, 1]);
  assert.deepEqual(to("ArrowDown", 1, 1), [1, 1]);
  assert.deepEqual(to("ArrowLeft", 1, 0), [1, 0]);
  assert.deepEqual(to("End", 1, 0), [1, 2]);
  assert.equal(to("toString", 1, 0), null);
  assert.equal(to("a", 1, 0), null);
});

test("texts are lines that hold any", () => {
  assert.deepEqual(textsOf("one \n\n  two\n \n"), [
    [1, "one"],
    [3, "two"],
  ]);
});

test("What if opens on the heads that the run lacks, or on the strongest effect whatever its sign", () => {
  const effects = {
    values: [
      [0.1, null, -0.3],
      [0.2, 0.3, 0],
    ],
  };
  const removed = [
    { layer: 2, head: 1 },
    { layer: 10, head: 11 },
  ];
  for (const known of [effects, null])
    assert.deepEqual(usualHeads(["t4", "h2.1", "l3.1:2-4", "r5:h1.1", "h10.11"], known), removed);
  assert.deepEqual(usualHeads(["t4"], effects), [{ layer: 0, head: 2 }]);
  assert.deepEqual(usualHeads([], null), []);
});
