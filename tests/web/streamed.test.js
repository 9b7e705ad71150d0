// Lines of JSON as they come from the server.

import "./address.js";
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { streamed } from "../../assets/web/core/streamed.js";

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
