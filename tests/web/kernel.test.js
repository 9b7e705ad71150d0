// A live view's requests to the kernel: answers in parts, streams, faults, and what is wanted no longer.

import assert from "node:assert/strict";
import test from "node:test";

/** @type {any[]} */ const told = [];
/** @type {(event: object) => void} */ let hear = () => {};
const cell = { postMessage: (/** @type {object} */ content) => told.push(content) };
Object.assign(globalThis, {
  parent: cell,
  addEventListener: (/** @type {string} */ _event, /** @type {typeof hear} */ heard) => {
    hear = heard;
  },
});
const { fetchBytes, send } = await import("../../assets/web/explore/notebook/kernel.js");

const answer = (/** @type {object} */ data, source = cell) => hear({ source, data });
const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text).buffer;
const asked = () => told.at(-1);

test("an answer has its status, its headers and its bytes, and belongs to one request", async () => {
  const [first, second] = [fetchBytes("viz/run/a/map?layer=1"), fetchBytes("viz/run/a/row")];
  const [one, two] = told.slice(-2);
  assert.equal(one.path, "viz/run/a/map?layer=1");
  answer({ id: two.id, status: 404, headers: {}, bytes: bytes("no"), more: false });
  answer({ id: one.id, status: 200, headers: { "x-shape": "2,3" }, bytes: bytes("yes"), more: false });
  assert.equal((await first).headers.get("x-shape"), "2,3");
  assert.equal(await (await first).text(), "yes");
  assert.deepEqual([(await second).ok, (await second).status], [false, 404]);
});

test("parts come in their order, as they are there", async () => {
  const waiting = send("viz/effect", { body: "{}" });
  const { id, body } = asked();
  assert.equal(body, "{}");
  answer({ id, status: 200, headers: {}, bytes: bytes("one "), more: true });
  const reader = (await waiting).body?.getReader();
  assert.equal(new TextDecoder().decode((await reader?.read())?.value), "one ");
  answer({ id, bytes: bytes("two"), more: true });
  answer({ id, bytes: bytes(""), more: false });
  assert.equal(new TextDecoder().decode((await reader?.read())?.value), "two");
});

test("what is wanted no longer is stopped in the kernel, too", async () => {
  const stop = new AbortController();
  const waiting = send("viz/effect", { signal: stop.signal });
  const { id } = asked();
  stop.abort();
  await assert.rejects(waiting, { name: "AbortError" });
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(asked(), { id, stop: true });
});

test("who stops to read a stream stops the work", async () => {
  const waiting = send("viz/effect", {});
  const { id } = asked();
  answer({ id, status: 200, headers: {}, bytes: bytes("one"), more: true });
  await (await waiting).body?.cancel();
  await new Promise((done) => setTimeout(done));
  assert.deepEqual(asked(), { id, stop: true });
});

test("only the cell around the frame is heard", async () => {
  const waiting = fetchBytes("viz/run/a/row");
  const { id } = asked();
  answer({ id, status: 200, headers: {}, bytes: bytes("false"), more: false }, { postMessage: () => 0 });
  answer({ id, status: 200, headers: {}, bytes: bytes("true"), more: false });
  assert.equal(await (await waiting).text(), "true");
});
