// Heads in a plot and in a grid: which points have names, where arrows lead, and a table of many texts.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf, textsOf } from "../../assets/web/explore/over_texts.js";
import { walked } from "../../assets/web/views/cells.js";
import { boxOf, outstanding, overlap, placed } from "../../assets/web/views/scatter_labels.js";

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

test("a mean over texts is a line a head, with its spread", () => {
  const found = { mean: [[0.5, null]], spread: [[0.1, null]], measure: "logit of “are”, here", n: 3, sentence: "" };
  assert.deepEqual(linesOf(found).slice(1), [
    [0, 0, 0.5, 0.1, 3, "logit of “are”, here"],
    [0, 1, "", "", 3, "logit of “are”, here"],
  ]);
});
