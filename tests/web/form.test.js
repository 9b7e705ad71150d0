// The form may be built after the first map: a text that is asked for before waits for it, and runs.

import assert from "node:assert/strict";
import { test } from "node:test";

const { runText } = await import("../../assets/web/core/form.js");

/** A page whose form is built by hand, and whose frames are drawn by hand. */
function page() {
  const frames = [];
  const there = {};
  globalThis.requestAnimationFrame = (draw) => frames.push(draw);
  globalThis.document = {
    querySelector: (selectors) => (selectors.includes("#viz-text-a") ? (there.box ?? null) : null),
    getElementById: (id) => (id === "viz-run" ? (there.run ?? null) : null),
  };
  const drawn = async () => {
    for (const draw of frames.splice(0)) draw(performance.now());
    await null; // what waited for a frame goes on
    await null;
  };
  return { there, drawn };
}

test("a text asked for before the form is built runs once it is", async () => {
  const { there, drawn } = page();
  const heard = [];
  runText("too wide");
  await drawn();
  there.box = { value: "too tired", dispatchEvent: ({ type }) => heard.push(`${type} ${there.box.value}`) };
  await drawn();
  assert.deepEqual(heard, []); // Run is not there yet
  there.run = { click: () => heard.push(`run ${there.box.value}`) };
  await drawn();
  assert.deepEqual(heard, ["input too wide"]); // the form takes it over before the next frame
  await drawn();
  assert.deepEqual(heard, ["input too wide", "run too wide"]);
});
