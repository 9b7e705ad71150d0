// What a map is drawn on, without a screen: its room in pixels, and what stays in view where its tokens change.

import assert from "node:assert/strict";
import { test } from "node:test";
import { keptInView, laidOut } from "../../assets/web/explore/map_sheet.js";
import { Viewport } from "../../assets/web/core/viewport.js";

const ROOM = { labels: { left: 80, top: 70 }, width: 900, window: 1000, full: 0, n: 100 };

test("the square takes the room that width, window and cells leave", () => {
  const side = (more) => laidOut({ ...ROOM, ...more }).side;
  assert.deepEqual(laidOut(ROOM), { left: 80, top: 70, side: 780 }); // the window's height less names and controls
  assert.equal(side({ width: 700 }), 590); // the width less the names on both sides
  assert.equal(side({ window: 2000 }), 790);
  assert.equal(side({ window: 2000, width: 2000 }), 860); // never more on the page
  assert.equal(side({ window: 300 }), 420); // never less for a low window
  assert.equal(side({ n: 5 }), 300); // 60 pixels a cell at most
  assert.equal(side({ width: 100 }), 60);
});

test("alone in the window it is as high as that, and its cells twice as wide", () => {
  assert.equal(laidOut({ ...ROOM, full: 700 }).side, 626);
  assert.equal(laidOut({ ...ROOM, full: 700, n: 4 }).side, 480);
});

test("long names take a third of the width at most", () => {
  assert.equal(laidOut({ ...ROOM, width: 360, labels: { left: 300, top: 70 } }).left, 122);
});

// The tokens along a side, but those left out.
function listed(n, ...out) {
  const tokens = Array.from({ length: n }, (_, at) => at).filter((at) => !out.includes(at));
  const places = new Int32Array(n).fill(-1);
  for (const [place, at] of tokens.entries()) places[at] = place;
  return Object.assign(
    tokens.map((at) => ({ name: `t${at}`, tokens: [at] })),
    { places },
  );
}

test("other tokens keep the one in the middle of the view there", () => {
  const [all, inner] = [listed(40), listed(40, 0, 39)];
  const view = new Viewport(40);
  view.center(20, 10, 8);
  const kept = keptInView(view, all, inner);
  assert.deepEqual([kept.n, kept.span, kept.row, kept.col], [38, 8, 15.5, 5.5]); // tokens 20 and 10, one place less
  const back = keptInView(kept, inner, all);
  assert.deepEqual([back.n, back.row, back.col], [40, view.row, view.col]);
});

test("all are in view where all were, or where the token in the middle is left out", () => {
  const all = listed(9);
  assert.deepEqual(keptInView(new Viewport(9), all, listed(9, 0, 8)), new Viewport(7));
  const view = new Viewport(9);
  view.center(2, 6, 4);
  assert.deepEqual(keptInView(view, all, listed(9, 2)), new Viewport(8));
  assert.equal(keptInView(view, all, listed(9, 3)).span, 4);
});
