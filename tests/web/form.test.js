// The form may be built after the first map: a text that is asked for before waits for it, and runs.

import "./address.js";
import assert from "node:assert/strict";
import { test } from "node:test";

const { runText } = await import("../../assets/web/core/form.js");
const { aheadOf } = await import("../../assets/web/core/form_ahead.js");

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

test("results are told to be of another run where the form asks for another text or model", () => {
  const link = { kind: "text", a: "The cat sat", model: "grammar" };
  assert.equal(aheadOf({ kind: "text", a: "The cat sat ", model: "grammar" }, link), "");
  assert.equal(aheadOf({ kind: "text", a: "", model: "grammar" }, link), ""); // a box that is not there yet
  assert.match(aheadOf({ kind: "text", a: "The dog", model: "grammar" }, link), /^These results are of “The cat sat”;/);
  assert.match(aheadOf({ kind: "text", a: "The cat sat", model: "everyday" }, link), /are of grammar; press Run/);
  const saved = { kind: "text", model: "Mine", run: "key", from: "file" };
  assert.match(aheadOf({ kind: "text", a: "The dog", model: "grammar" }, saved), /are of a saved run of Mine;/);
  const long = { kind: "text", model: "grammar", run: "key" }; // a link too short for its text
  assert.equal(aheadOf({ kind: "text", a: "cat ".repeat(900), model: "grammar" }, long), "");
  assert.match(aheadOf({ kind: "text", a: "The dog", model: "grammar" }, long), /are of a longer text;/);
});
