// Only the latest counts: answers and faults of what was asked before are dropped.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter, Held } from "../../assets/web/core/emitter.js";
import { Latest, rest } from "../../assets/web/core/latest.js";
import { View } from "../../assets/web/core/view.js";
import { viewNode } from "./view_node.js";

const deferred = () => Promise.withResolvers();

test("an answer that comes after a newer question is dropped, and its signal is aborted", async () => {
  const [latest, said, first, second] = [new Latest(), [], deferred(), deferred()];
  const ask = (answer) =>
    latest.run(async (fresh) => {
      answer.signal = fresh.signal;
      said.push(await fresh(answer.promise));
      return said.length;
    });
  const [older, newer] = [ask(first), ask(second)];
  assert.deepEqual([first.signal.aborted, second.signal.aborted], [true, false]);
  second.resolve("second");
  first.resolve("first");
  assert.deepEqual(await Promise.all([older, newer]), [null, 1]);
  assert.deepEqual(said, ["second"]);
});

test("a fault of what counts is told as its sentence; that of an older question is not", async () => {
  const [faults, first] = [[], deferred()];
  const latest = new Latest((sentence) => faults.push(sentence));
  const older = latest.run((fresh) => fresh(first.promise));
  const newer = latest.run(async () => {
    throw new Error("The second failed.");
  });
  first.reject(new Error("The first failed."));
  assert.deepEqual(await Promise.all([older, newer]), [null, null]);
  assert.deepEqual(faults, ["The second failed."]);
  await assert.rejects(
    new Latest().run(() => Promise.reject(new Error("Untold."))),
    /Untold/,
  );
});

test("what was stopped neither goes on nor fails", async () => {
  const [answer, went] = [deferred(), []];
  const latest = new Latest(() => went.push("fault"));
  const running = latest.run(async (fresh) => {
    await fresh(answer.promise);
    went.push("on");
  });
  latest.stop();
  answer.resolve(1);
  assert.equal(await running, null);
  assert.deepEqual(went, []);
});

test("with a pause only the last of several begins", async () => {
  const [latest, begun] = [new Latest(), []];
  const runs = [1, 2, 3].map((number) => latest.run(() => begun.push(number), { pause: 5 }));
  await Promise.all(runs);
  assert.deepEqual(begun, [3]);
});

test("how long it takes is told from the patience on, and no more once it is there or dropped", async () => {
  const [latest, told] = [new Latest(), []];
  const tell = (seconds) => told.push(seconds);
  await latest.run((fresh) => fresh(rest(5)), { tell });
  await latest.run((fresh) => fresh(rest(5)), { tell, patience: 500 });
  const dropped = latest.run((fresh) => fresh(rest(40)), { tell: () => told.push("dropped"), patience: 10 });
  await latest.run((fresh) => fresh(rest(30)), { tell: () => told.push("late"), patience: 10 });
  await dropped;
  assert.deepEqual(told, [0, "late"]);
});

test("an emitter tells all its listeners; a held value also those that come later", () => {
  const [told, emitter, held] = [[], new Emitter(), new Held()];
  emitter.on((...values) => told.push(values));
  emitter.on((first) => told.push(first));
  emitter.tell(1, 2);
  held.on((value) => told.push(["early", value]));
  held.set("run");
  held.on((value) => told.push(["later", value]));
  held.set(null);
  assert.deepEqual(told, [[1, 2], 1, ["early", "run"], ["later", "run"], ["early", null], ["later", null]]);
});

test("a view that is disposed of hears nothing any more, nor do those within it; what it draws says what it is of", async () => {
  const [held, told, outer, inner, under] = [new Held(), [], new View(), new View(), deferred()];
  const latest = inner.latest();
  const asking = latest.run(async (fresh) => told.push(await fresh(under.promise)));
  outer.views = [inner];
  outer.node = viewNode();
  inner.node = outer.node;
  for (const view of [outer, inner]) held.on((value) => told.push(value), view.signal);
  inner.painted("run");
  held.set(1);
  outer.dispose();
  held.set(2);
  assert.deepEqual([told, outer.node.dataset.painted], [[1, 1], "run"]);
  under.resolve(3);
  await latest.run(() => told.push("asked after the end"));
  assert.deepEqual(
    [await asking, told],
    [null, [1, 1]],
    "what was under way is dropped, and nothing else is asked for",
  );
  outer.clear();
  assert.deepEqual(outer.node.dataset, {});
});
