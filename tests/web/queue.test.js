// Waiting for a place: how long, what is said, and that only the queue is asked again.

import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, {
  location: { search: "", pathname: "/" },
  document: { baseURI: "http://page/here/" },
  addEventListener: () => {},
});
const { pauseBefore } = await import("../../assets/web/core/connection.js");
const { closing, patient, Queued, placed, placeSaid, secondsToWait } = await import("../../assets/web/core/queue.js");
const { unrun } = await import("../../assets/web/core/typed_text.js");

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

// The server's messages, in a body whose pieces end anywhere.
function streamOf(...messages) {
  const text = messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("");
  const bytes = new TextEncoder().encode(text);
  return { text, body: ReadableStream.from([bytes.slice(0, 7), bytes.slice(7, 40), bytes.slice(40)]) };
}
const waits = (id, rank, size, eta) => ({ msg: "estimation", event_id: id, rank, queue_size: size, rank_eta: eta });

test("a place in the queue is said with its seconds, and both are brought up to date", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const said = [];
  let now = 0;
  const pass = (ms) => {
    now += ms;
    mock.timers.tick(ms);
  };
  const queued = new Queued(
    (sentence) => said.push(sentence),
    () => now,
  );
  queued.told(waits("a", 0, 1, 2));
  queued.told({ msg: "process_starts", event_id: "a" });
  pass(10_000);
  assert.deepEqual(said, [], "what begins at once does not wait");
  queued.told(waits("a", 2, 5, 12.2));
  queued.told(waits("b", 4, 5, 30));
  pass(500);
  pass(5_000);
  queued.told(waits("a", 1, 4, null));
  queued.told({ msg: "progress", event_id: "c" }); // another page's, or one that runs already
  queued.told({ msg: "process_starts", event_id: "a" });
  queued.told(waits("b", 0, 1, 0.5));
  pass(5_000);
  queued.told({ msg: "process_completed", event_id: "b" });
  pass(60_000);
  assert.deepEqual(said, [
    "Waiting in the queue: place 3 of 5, about 12 s left.",
    "Waiting in the queue: place 3 of 5, about 7 s left.",
    "Waiting in the queue: place 2 of 4.",
    "Waiting in the queue: place 1 of 1, about 1 s left.",
    "Waiting in the queue: place 1 of 1, longer than expected.",
    "",
  ]);
  assert.equal(placeSaid(0, 0, -3), "Waiting in the queue: place 1 of 1, longer than expected.");
});

test("a stream is listened to and goes through as it came; its end ends the waiting", async () => {
  const { text, body } = streamOf(waits("a", 0, 1, 3), { msg: "heartbeat" });
  const told = [];
  const queued = () => ({ told: (message) => told.push(message.msg), end: () => told.push("end") });
  const answer = new Response(body, { headers: { "x-a": "b" } });
  const through = await placed(async () => answer, queued)("gradio_api/queue/data?s");
  assert.equal(through.headers.get("x-a"), "b");
  assert.equal(await through.text(), text);
  assert.deepEqual(told, ["estimation", "heartbeat", "end"]);
});

test("a stream that is closed or breaks ends the waiting, and the server's side too", async () => {
  const told = [];
  const queued = () => ({ told: () => {}, end: () => told.push("end") });
  const closed = new ReadableStream({ cancel: () => void told.push("closed") });
  const open = await placed(async () => new Response(closed), queued)("gradio_api/queue/data?s");
  await open.body.cancel();
  assert.deepEqual([...new Set(told.splice(0))].sort(), ["closed", "end"]);
  const broken = new ReadableStream({ pull: (to) => to.error(new Error("cut")) });
  const cut = await placed(async () => new Response(broken), queued)("gradio_api/queue/data?s");
  await assert.rejects(cut.text(), /cut/);
  assert.ok(told.includes("end"));
  const other = new Response("x");
  assert.equal(await placed(async () => other, queued)("gradio_api/queue/join"), other);
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
