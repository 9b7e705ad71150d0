// Asking the server: what it sends, and each fault as a sentence.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Run } from "../../assets/web/core/run.js";
import { json, numbers, text } from "../../assets/web/core/server.js";

const TOKENS = ["[CLS]", "un", "##do", "it", "[SEP]"];
const DESCRIPTION = {
  key: "k",
  tokens: TOKENS,
  special: [true, false, false, false, true],
  nLayers: 2,
  nHeads: 2,
  words: [null, 0, 0, 1, null],
  segments: [0, 0, 0, 0, 0],
};
const asked = [];
let answer = () => new Response("{}");

beforeEach(() => {
  asked.length = 0;
  globalThis.document = { baseURI: "http://page/here/" };
  globalThis.fetch = async (url, { method, body, signal }) => {
    asked.push([method, url, body]);
    signal?.throwIfAborted();
    return answer();
  };
  globalThis.XMLHttpRequest = FakeRequest;
});
afterEach(() => {
  for (const name of ["document", "XMLHttpRequest"]) delete globalThis[name];
});

class FakeRequest {
  open(method, url) {
    asked.push([method, url]);
  }
  async send() {
    const response = answer();
    this.status = response.status;
    this.response = await response.arrayBuffer();
    this.getResponseHeader = (name) => response.headers.get(name);
    this.onload();
    this.onloadend();
  }
  abort() {
    this.onabort();
  }
}

const raw =
  (values, headers, status = 200) =>
  () =>
    new Response(Float32Array.from(values), { status, headers });

test("JSON and text of a path of the page's own; what has a body is posted", async () => {
  answer = () => Response.json({ a: 1 });
  assert.deepEqual(await json("viz/zoo"), { a: 1 });
  answer = () => new Response("code");
  assert.equal(await text("viz/snippet", { body: "mask" }), "code");
  assert.deepEqual(asked, [
    ["GET", "http://page/here/viz/zoo", undefined],
    ["POST", "http://page/here/viz/snippet", "mask"],
  ]);
});

test("a fault is the server's own sentence, or says what it answered", async () => {
  answer = () => Response.json({ message: "There is no layer 9." }, { status: 404 });
  await assert.rejects(json("x"), { message: "There is no layer 9." });
  await assert.rejects(numbers("x"), { message: "There is no layer 9." });
  answer = () => new Response("<html>", { status: 502 });
  await assert.rejects(json("x"), { message: "The server answered 502; try again." });
  answer = () => new Response("{cut off");
  await assert.rejects(json("x"), { message: "The server answered 200; try again." });
});

test("no answer at all is said; one that is not wanted any more stays what it is", async () => {
  answer = () => {
    throw new TypeError("fetch failed");
  };
  await assert.rejects(json("x"), { message: "The server is not responding; is it still running?" });
  await assert.rejects(json("x", { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(numbers("x", AbortSignal.abort()), { name: "AbortError" });
});

test("raw numbers with their shape, and what follows the cells", async () => {
  const about = encodeURIComponent(JSON.stringify({ edges: [0, 2] }));
  answer = raw([1, 2, 3, 4, 5, 6, 7, 8], { "x-shape": "2,3", "x-step": "4,1", "x-total": "1.5", "x-about": about });
  const found = await numbers("map");
  assert.deepEqual(
    [found.shape, [...found.values], [...found.tops]],
    [
      [2, 3],
      [1, 2, 3, 4, 5, 6],
      [7, 8],
    ],
  );
  assert.deepEqual([found.step, found.total, found.empty, found.about], [[4, 1], 1.5, 0, { edges: [0, 2] }]);
  answer = raw([1], { "x-shape": "1", "x-answer": encodeURIComponent("“yes”") });
  const bare = await numbers("row");
  assert.deepEqual([bare.tops, bare.step, bare.total, bare.answer, bare.about], [null, [1, 1], NaN, "“yes”", null]);
});

test("a run remembers answers and forgets faults", async () => {
  const run = new Run(DESCRIPTION);
  answer = () => Response.json({ message: "Not yet." }, { status: 404 });
  await assert.rejects(run.json("views"), { message: "Not yet." });
  answer = () => Response.json({ found: true });
  assert.equal(await run.json("views"), await run.json("views"));
  assert.deepEqual(
    asked.map(([, url]) => url),
    Array(2).fill("http://page/here/viz/run/k/views"),
  );
});

test("an answer that another may give up is not waited for", async () => {
  const [run, stop] = [new Run(DESCRIPTION), new AbortController()];
  answer = raw([1], { "x-shape": "1" });
  const given = run.numbers("row", stop.signal);
  assert.equal(run.numbers("row", stop.signal), given);
  const wanted = run.numbers("row");
  stop.abort();
  await assert.rejects(given, { name: "AbortError" });
  assert.deepEqual([...(await wanted).values], [1]);
  assert.equal(run.numbers("row"), wanted);
  assert.equal(asked.length, 2);
});

test("a run's maps are asked for as they are shown", async () => {
  const run = new Run(DESCRIPTION);
  answer = raw([0], { "x-shape": "1,1" });
  await run.map({ layer: 1, head: "mean", hide: true, renorm: true, words: false }, [0, 3], [1, 2], "&tops=true");
  const query = "layer=1&head=mean&hide_special=true&renormalize=true&rows=0:3&keys=1:2&tops=true";
  assert.equal(asked[0][1], `http://page/here/viz/run/k/map?${query}`);
});

test("the largest weight is known once all its layers are", async () => {
  const run = new Run(DESCRIPTION);
  answer = () => Response.json({ largest: [0.5, null] });
  await run.statistics(0);
  assert.deepEqual([run.largest("layer", 0), run.largest("layer", 1), run.largest("all", 0)], [0.5, null, null]);
  answer = () => Response.json({ largest: [0.25, 0.75] });
  await run.statistics(1);
  assert.equal(run.largest("all", 0), 0.75);
});

test("the largest weight of merged words is that of their maps, never of their sub-words' statistics", async () => {
  const run = new Run(DESCRIPTION);
  const words = { hide: true, renorm: false, words: true };
  answer = () => Response.json({ largest: [0.5] });
  await run.statistics(0, words);
  assert.deepEqual([run.largest("layer", 0, words), run.largest("layer", 0, { ...words, words: false })], [null, 0.5]);
  answer = raw([0.125, NaN, 0.875, 0], { "x-shape": "1,2,2" });
  await run.thumbnails(0, words);
  assert.equal(run.largest("layer", 0, words), 0.875);
});

test("what stands along a map's sides: tokens or words, with special ones or without", () => {
  const run = new Run(DESCRIPTION);
  const names = (switches) => run.shown(switches).map(({ name }) => name);
  assert.deepEqual(names({ hide: false, words: false }), TOKENS);
  assert.deepEqual(names({ hide: true, words: false }), ["un", "##do", "it"]);
  assert.deepEqual(names({ hide: true, words: true }), ["undo", "it"]);
  assert.deepEqual([...run.shown({ hide: true, words: true }).places], [-1, 0, 0, 1, -1]);
  assert.deepEqual([run.mergeable, run.visible(true)], [true, [1, 2, 3]]);
});
