// The codes of changes: made of what is chosen, put together, and carried to another text and back.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as codes from "../../assets/web/core/change_codes.js";
import { partners } from "../../assets/web/core/token_alignment.js";

Object.assign(globalThis, {
  addEventListener: () => {},
  document: { hidden: true, baseURI: "http://here/" },
  location: { search: "", pathname: "/" },
  history: { state: null, replaceState: () => {} },
});
const { current } = await import("../../assets/web/core/app_state.js");
const { changedRun, codesOf } = await import("../../assets/web/core/changed_run.js");
const { Run } = await import("../../assets/web/core/run.js");

const text = (/** @type {string} */ said) => {
  const tokens = said.split(" ");
  return { tokens, words: tokens.map((_, at) => at), segments: tokens.map(() => 0) };
};

test("a chosen head and pair as codes; several heads are cut in all of the layer", () => {
  const pair = { layer: 3, queries: [10], keys: [2] };
  assert.deepEqual(codes.removing(3, [1, 4]), ["h3.1", "h3.4"]);
  assert.deepEqual(codes.cutting({ ...pair, head: 1 }), ["l3.1:10-2"]);
  for (const head of ["1,4", "mean", "max"]) assert.deepEqual(codes.cutting({ ...pair, head }), ["l3:10-2"]);
  const merged = { layer: 0, head: 5, queries: [7, 8], keys: [2, 3] };
  assert.deepEqual(codes.cutting(merged), ["l0.5:7-2", "l0.5:7-3", "l0.5:8-2", "l0.5:8-3"]);
  assert.deepEqual([codes.hiding([2, 3]), codes.masking([2]), codes.deleting(2)], [["t2", "t3"], ["m2"], ["d2"]]);
  assert.deepEqual(codes.replacing(2, "50% wool, old"), ["r2:50%25%20wool%2C%20old"]);
});

test("changes are added once, and taken back where all of them are there", () => {
  assert.deepEqual(codes.toggled([], ["h3.1"]), ["h3.1"]);
  assert.deepEqual(codes.toggled(["h3.1", "t2"], ["h3.1"]), ["t2"]);
  assert.deepEqual(codes.toggled(["t2"], ["t2", "t3"]), ["t2", "t3"]);
  assert.deepEqual(codes.toggled(["t2", "t3", "h0.1"], ["t2", "t3"]), ["h0.1"]);
});

test("a token is masked, deleted or replaced, not two of these", () => {
  assert.deepEqual(codes.toggled(["m2", "t2", "h3.1", "m22"], ["d2"]), ["t2", "h3.1", "m22", "d2"]);
  assert.deepEqual(codes.toggled(["r2:dog", "d5"], ["r2:cat"]), ["d5", "r2:cat"]);
  assert.deepEqual(codes.toggled(["d2"], ["m2"]), ["m2"]);
});

test("only what is deleted or replaced makes another text", () => {
  assert.equal(codes.makesText(["h3.1", "t2", "m2", "l3:1-2"]), false);
  assert.equal(codes.makesText(["h3.1", "d2"]), true);
  assert.equal(codes.samePlaces(["h3.1", "d2"], ["d2", "m4"]), true);
  assert.equal(codes.samePlaces(["d2"], ["d2", "r4:x"]), false);
  assert.equal(codes.samePlaces(["r4:x"], ["r4:y"]), false);
});

test("codes of a text's tokens as those of the plain one; none of a token that it lacks", () => {
  const places = partners(text("[CLS] the dog sat there [SEP]"), text("[CLS] the animal that sat there [SEP]"));
  assert.deepEqual([...places], [0, 1, -1, 4, 5, 6]);
  const moved = codes.moved(["h3.1", "t3", "m4", "d1", "r3:lay", "l3.1:3-5", "l3:4-1", "l:5-3"], places);
  assert.deepEqual(moved, ["h3.1", "t4", "m5", "d1", "r4:lay", "l3.1:4-6", "l3:5-1", "l:6-4"]);
  for (const code of ["t2", "l3.1:2-3", "l3:3-2", "t9"]) assert.equal(codes.moved(["h0.0", code], places), null);
});

test("the chosen pair is carried: to its tokens, to what stands in their stead, or to the one before", () => {
  const plain = text("[CLS] the animal sat [SEP]");
  const into = (/** @type {string} */ said) => partners(plain, text(said));
  const chosen = { query: 3, key: 2 };
  assert.deepEqual(codes.carried(chosen, into("[CLS] the sat [SEP]")), { query: 2, key: 1 });
  assert.deepEqual(codes.carried(chosen, into("[CLS] the old dog sat [SEP]")), { query: 4, key: 2 });
  assert.deepEqual(codes.carried({ query: 0, key: 4 }, into("[CLS] the sat [SEP]")), { query: 0, key: 3 });
});

// A server that answers when it is told to, from a list of what it was asked.
function served() {
  const asked = [];
  globalThis.fetch = (url, { body, signal }) =>
    new Promise((done, fail) => {
      const { changes } = JSON.parse(body);
      signal?.addEventListener("abort", () => fail(new Error("stopped")));
      const run = changes.length ? described(changes) : described([]);
      const answer = (given = { run, plain: described([]) }, status = 200) =>
        done(new Response(JSON.stringify(given), { status }));
      asked.push({ url: String(url), changes, signal, answer });
    });
  return asked;
}

const WORDS = "the animal crossed the street".split(" ");
function described(changes) {
  const gone = changes.flatMap((code) => /^d(\d+)$/.exec(code)?.[1] ?? []).map(Number);
  const tokens = ["[CLS]", ...WORDS, "[SEP]"].filter((_, at) => !gone.includes(at));
  const key = changes.join() || "plain";
  const changed = changes.length ? { plain: "plain", changes: changes.map((code) => ({ code, words: code })) } : null;
  return {
    ...{
      key,
      changed,
      tokens,
      words: tokens.map((_, at) => at),
      segments: tokens.map(() => 0),
      special: [],
      valid: tokens,
    },
    ...{ link: {}, nLayers: 4, nHeads: 4, vocabulary: { scales: { head: {} } }, model: "m", example: true },
    ...{ opening: { layer: 0, head: 0, query: 0, key: 0 }, notes: [] },
  };
}

const settled = () => new Promise((done) => setTimeout(done));

test("one request at a time: what is asked meanwhile goes on from what was asked before", async () => {
  const asked = served();
  current.enter(new Run(described([])));
  const plain = current.run;
  current.selection.set({ query: 3, key: 2 });
  const said = [];
  const [first, second] = [["h3.1"], ["t2"]].map((some) => changedRun.toggle(some, (told) => said.push(told)));
  await settled();
  assert.deepEqual(
    asked.map(({ url, changes, signal }) => [url, changes, signal.aborted]),
    [
      ["http://here/viz/run/plain/whatif/changed?told=1", ["h3.1"], true],
      ["http://here/viz/run/plain/whatif/changed?told=1", ["h3.1", "t2"], false],
    ],
  );
  asked[1].answer();
  await Promise.all([first, second]);
  assert.deepEqual(codesOf(current.run), ["h3.1", "t2"]);
  assert.deepEqual([current.selection.query, current.selection.key], [3, 2], "the pair stays chosen");
  assert.equal(changedRun.has(current.run, ["h3.1"]), true);
  assert.equal(changedRun.has(current.run, ["h3.1", "t3"]), false);
  assert.equal(
    said.every((told) => told === ""),
    true,
  );
  const back = changedRun.restore(() => {});
  await settled();
  asked[2].answer();
  await back;
  assert.equal(current.run, plain, "what was known of it is not asked for again");
});

test("a fault is told to who asked, and nothing is changed", async () => {
  const asked = served();
  current.enter(new Run(described([])));
  const said = [];
  const made = changedRun.toggle(["h3.1"], (told) => said.push(told));
  await settled();
  asked[0].answer({ message: "There is no head 3.1." }, 422);
  await made;
  assert.deepEqual([said.at(-1), current.run.key], ["There is no head 3.1.", "plain"]);
  const again = changedRun.toggle(["t2"], () => {});
  await settled();
  assert.deepEqual(asked[1].changes, ["t2"], "what failed is not tried again");
  asked[1].answer();
  await again;
});

test("in a text that lacks a word, tokens are named by their places in the plain one", async () => {
  const asked = served();
  current.enter(new Run(described([])));
  current.selection.set({ query: 4, key: 2 });
  const change = async (work) => {
    const made = work();
    await settled();
    asked.at(-1).answer();
    await made;
  };
  await change(() => changedRun.toggle(["d2"], () => {}));
  assert.deepEqual([current.selection.query, current.selection.key], [3, 1]);
  assert.deepEqual([current.run.tokens[3], current.run.tokens[1]], ["the", "the"]);
  await change(() => changedRun.toggle(["t4"], () => {}));
  assert.deepEqual(codesOf(current.run), ["d2", "t5"]);
  assert.deepEqual([changedRun.has(current.run, ["t4"]), changedRun.has(current.run, ["t5"])], [true, false]);
  await change(() => changedRun.drop("t5", () => {}));
  await change(() => changedRun.restore(() => {}));
  assert.deepEqual([current.run.key, current.selection.query, current.selection.key], ["plain", 4, 2]);

  const linked = described(["d2"]); // whose plain text was not seen yet
  current.enter(new Run({ ...linked, key: "linked", changed: { ...linked.changed, plain: "unseen" } }));
  changedRun.toggle(["t4"], () => {});
  current.enter(new Run(described([])));
  asked.at(-1).answer({ plain: { ...described([]), key: "unseen" } });
  await settled();
  const { changes, answer } = asked.at(-1);
  answer(); // else it would be waited for
  assert.deepEqual(changes, ["d2"], "another run is there by now");
});
