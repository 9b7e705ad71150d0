// Waiting for a place: how long, what is said, and that only the queue is asked again.

import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, {
  location: { search: "", pathname: "/" },
  document: { baseURI: "http://page/here/" },
  addEventListener: () => {},
});
const { pauseBefore } = await import("../../assets/web/core/connection.js");
const { closing, patient, secondsToWait } = await import("../../assets/web/core/queue.js");
const { keepTyped, unrun } = await import("../../assets/web/core/form_ahead.js");

const answers = (...statuses) => {
  const asked = [];
  const fetch = async (url, init) => {
    asked.push([url, init?.body]);
    return new Response("", { status: statuses.shift(), headers: { "retry-after": "2" } });
  };
  return { asked, fetch };
};

test("a full queue is asked again with the same body until there is a place", async () => {
  const { asked, fetch } = answers(503, 429, 200);
  const [said, waited] = [[], []];
  const asking = patient(
    fetch,
    (sentence) => said.push(sentence),
    async (ms) => waited.push(ms),
  );
  const answer = await asking("gradio_api/queue/join?a", { body: "what was typed" });
  assert.equal(answer.status, 200);
  assert.deepEqual(asked, Array(3).fill(["gradio_api/queue/join?a", "what was typed"]));
  assert.equal(said.length, 3);
  assert.match(said[0], /Retrying in \d s/);
  assert.equal(said[2], "");
  for (const ms of waited) assert.ok(ms >= 2000 && ms <= 3000);
});

test("other answers and other faults come back at once", async () => {
  for (const [path, status] of [
    ["/gradio_api/queue/join", 422],
    ["/viz/run/k/map", 503],
    ["/gradio_api/upload", 429],
  ]) {
    const { asked, fetch } = answers(status);
    const refuse = () => assert.fail("nothing is to be said or waited for");
    assert.equal((await patient(fetch, refuse, refuse)(path)).status, status);
    assert.equal(asked.length, 1);
  }
});

test("waits grow to their longest, and the server's word is followed", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 9].map((tried) => secondsToWait(tried, null, 0)),
    [1, 2, 4, 8, 8],
  );
  assert.equal(secondsToWait(0, "5", 0), 5);
  assert.equal(secondsToWait(0, "5000", 0), 8);
  assert.equal(secondsToWait(0, "4", 1), 6);
  assert.deepEqual([0, 1, 4, 40].map(pauseBefore), [0, 500, 4000, 4000]);
});

test("only what is not what ran is put back into the form", () => {
  assert.deepEqual(unrun(null, { a: "ran" }), []);
  assert.deepEqual(unrun(JSON.stringify({ a: "ran", b: "" }), { a: "ran" }), []);
  assert.deepEqual(unrun(JSON.stringify({ a: "typed", b: "two" }), { a: "ran" }), [
    ["a", "typed"],
    ["b", "two"],
  ]);
  assert.deepEqual(unrun(JSON.stringify({ a: "" }), { a: "ran" }), [["a", ""]]);
});

test("after a reload the first run leaves what was typed last, also while it was awaited", async (context) => {
  const box = Object.assign(new EventTarget(), { value: "ran" });
  const [store, heard] = [{ "viz-typed": JSON.stringify({ a: "before the reload" }) }, {}];
  Object.assign(globalThis.document, {
    querySelector: (of) => (of.includes("text-a") ? box : null),
    addEventListener: (_, told) => Object.assign(heard, { told }),
  });
  const sessionStorage = {
    getItem: (name) => store[name] ?? null,
    setItem: (name, text) => Object.assign(store, { [name]: text }),
  };
  Object.assign(globalThis, { sessionStorage, requestAnimationFrame: (draw) => setTimeout(draw) });
  context.mock.method(performance, "getEntriesByType", () => [{ type: "reload" }]);
  const { current } = await import("../../assets/web/core/app_state.js");
  context.mock.method(current.selection, "enter", () => {});
  keepTyped();
  box.value = "while it was awaited";
  heard.told({ target: box });
  box.value = "ran"; // as the server fills the form
  current.enter({ link: { a: "ran" } });
  await new Promise((done) => setTimeout(done, 10));
  assert.equal(box.value, "while it was awaited");
});

const leaves = (persisted) => Object.assign(new Event("pagehide"), { persisted });

test("the session of the last stream is named when the page closes for good", async () => {
  const [page, sent, asked] = [new EventTarget(), [], []];
  const fetch = closing(
    async (...given) => asked.push(given),
    page,
    (session) => sent.push(session),
  );
  page.dispatchEvent(leaves(false));
  await fetch("gradio_api/queue/join?session_hash=other", { method: "POST" });
  page.dispatchEvent(leaves(false));
  assert.deepEqual(sent, [], "no stream yet: nothing was run by this page");
  await fetch(new URL("http://page/here/gradio_api/queue/data?session_hash=a1b2"), { cache: "no-store" });
  page.dispatchEvent(leaves(true));
  assert.deepEqual(sent, [], "kept by the browser: it may come back");
  page.dispatchEvent(leaves(false));
  assert.deepEqual(sent, ["a1b2"]);
  assert.deepEqual(asked[1][1], { cache: "no-store" });
});
