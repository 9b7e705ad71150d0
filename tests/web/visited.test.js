// Back and Forward: what is a new entry, and where an entry leads.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as frame } from "node:timers/promises";
import { followBack, visit } from "../../assets/web/core/visited.js";

const LINK = JSON.stringify({ a: "one" });
const TABS = ["viz-tab-explore", "viz-tab-masks"];
const OTHER = JSON.stringify({ a: "two" });

test("a new run and a new tab are new entries; what is selected there is not", () => {
  const entries = [];
  const write = (kind) => (state, _title, address) => {
    entries.push([kind, address]);
    globalThis.history.state = state;
  };
  globalThis.history = { state: { page: 1 }, replaceState: write("same"), pushState: write("new") };
  visit("?first", { tab: "", link: LINK });
  visit("?other-head", { tab: "", link: LINK });
  visit("?tab", { tab: "masks", link: LINK });
  visit("?run", { tab: "masks", link: OTHER });
  visit("?other-head-again", { tab: "masks", link: OTHER });
  assert.deepEqual(entries, [
    ["same", "?first"],
    ["same", "?other-head"],
    ["new", "?tab"],
    ["new", "?run"],
    ["same", "?other-head-again"],
  ]);
  assert.deepEqual(globalThis.history.state, { page: 1, viz: { tab: "masks", link: OTHER } });
});

test("a tab that opens for a run and the run are one entry", () => {
  const entries = [];
  const write = (kind) => (state) => {
    entries.push(kind);
    globalThis.history.state = state;
  };
  const state = { viz: { tab: "corpus", link: LINK } };
  globalThis.history = { state, replaceState: write("same"), pushState: write("new") };
  visit("?tab", { tab: "", link: LINK, passing: true });
  visit("?run", { tab: "", link: OTHER });
  visit("?other-tab", { tab: "masks", link: OTHER });
  assert.deepEqual(entries, ["new", "same", "new"]);
});

test("an entry is gone to at once, or once its run is there; an answer that comes late is not the last", async () => {
  const [gone, opened] = [[], []];
  let [asked, entered] = [0, null];
  const heard = {};
  const goTo = (viz) => heard.popstate({ state: viz && { viz } });
  Object.assign(globalThis, {
    addEventListener: (name, listener) => {
      heard[name] = listener;
    },
    HTMLInputElement: class {},
    location: { search: "?there" },
    requestAnimationFrame: setImmediate, // a tab is clicked in the next frame
    document: {
      getElementById: (id) => ({ click: () => opened.push(id) }),
      querySelector: () => ({ id: `${TABS[0]}-button` }), // the first tab
      querySelectorAll: () => [],
    },
    window: { gradio_config: { components: TABS.map((elem_id) => ({ props: { elem_id } })) } },
  });
  const selection = { entry: { tab: "", link: LINK }, goBack: (...to) => gone.push(to) };
  const current = {
    selection,
    on: (listener) => {
      entered = listener;
    },
  };
  followBack(current, () => asked++);
  goTo(null); // of no one's, as that of a link within the page
  goTo({ tab: "masks", link: LINK });
  await frame();
  assert.deepEqual([gone, opened, asked], [[["?there", false]], ["viz-tab-masks-button"], 0]);
  goTo({ tab: "", link: OTHER });
  await frame();
  assert.deepEqual([gone[1], opened[1], asked], [["?there", true], "viz-tab-explore-button", 1]);
  goTo({ tab: "", link: LINK }); // before the other run came
  assert.deepEqual([gone[2], asked], [["?there", false], 2]);
  entered({});
  goTo({ tab: "", link: LINK });
  assert.equal(asked, 2);
  const kinds = [];
  const write = (kind) => (state) => {
    kinds.push(kind);
    globalThis.history.state = state;
  };
  globalThis.history = { state: null, replaceState: write("same"), pushState: write("new") };
  const choose = (chosen, since) => visit("?chosen", { tab: "", link: LINK, chosen }, since);
  choose("first");
  heard.click({ type: "click", isTrusted: true });
  choose("first"); // it chose nothing yet
  choose("clicked");
  choose("what follows from it");
  heard.keydown({ type: "keydown", isTrusted: true, key: "ArrowDown" });
  choose("one further");
  heard.click({ type: "click", isTrusted: false }); // of a script
  choose("another");
  heard.click({ type: "click", isTrusted: true });
  choose("what came long after", performance.now() + 2_000);
  assert.deepEqual(kinds, ["same", "same", "new", "same", "same", "same", "same"]);
});
