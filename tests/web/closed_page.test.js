// A page that closes names the session that its results came by, once it has one.

import assert from "node:assert/strict";
import { test } from "node:test";

Object.assign(globalThis, { document: { baseURI: "http://page/here/" } });
const { closing } = await import("../../assets/web/core/queue.js");

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
