// Keys for heads and layers, and the tab in the link.

import assert from "node:assert/strict";
import { test } from "node:test";
import { stepped } from "../../assets/web/explore/head_choice.js";
import { tabOf } from "../../assets/web/core/tab_link.js";

const RUN = { nLayers: 3, nHeads: 4 };

test("h and l go to the next head and layer, with Shift to the one before, and around", () => {
  assert.deepEqual(stepped("h", { layer: 1, head: 2 }, RUN), { head: 3 });
  assert.deepEqual(stepped("h", { layer: 1, head: 3 }, RUN), { head: 0 });
  assert.deepEqual(stepped("H", { layer: 1, head: 0 }, RUN), { head: 3 });
  assert.deepEqual(stepped("l", { layer: 2, head: 0 }, RUN), { layer: 0 });
  assert.deepEqual(stepped("L", { layer: 0, head: 0 }, RUN), { layer: 2 });
  assert.equal(stepped("k", { layer: 0, head: 0 }, RUN), null);
});

test("from fused heads the first or the last is next, from several the one beside the first", () => {
  assert.deepEqual(stepped("h", { layer: 0, head: "mean" }, RUN), { head: 0 });
  assert.deepEqual(stepped("H", { layer: 0, head: "max" }, RUN), { head: 3 });
  assert.deepEqual(stepped("h", { layer: 0, head: "1,3" }, RUN), { head: 2 });
});

test("a tab is named by its button", () => {
  const ids = ["viz-tab-masks-button", "component-12-button", "viz-tab-masks"];
  assert.deepEqual(ids.map(tabOf), ["masks", "", ""]);
});
