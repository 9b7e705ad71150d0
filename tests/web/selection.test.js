// The selection and its address: what is written is read again, and what cannot be meant is as usual.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, headFrom, headsOf, mapName } from "../../assets/web/core/selection_address.js";
import { selected } from "../../assets/web/core/selection_address.js";
import { PageSelection } from "../../assets/web/core/selection.js";

const USUAL = selected("");

test("without an address all is as usual", () => {
  assert.deepEqual(USUAL, {
    layer: 0,
    head: 0,
    query: 0,
    key: 0,
    scale: "head",
    hide: false,
    renorm: false,
    words: false,
    change: false,
    measure: "attention",
    stat: "entropy",
    order: "layer",
  });
  assert.equal(String(addressOf(USUAL, { model: "grammar" })), "model=grammar&layer=0&head=0&query=0&key=0");
});

test("what is written is read again", () => {
  for (const changes of [
    { layer: 3, head: 5, query: 17, key: 2 },
    { head: "mean", scale: "log", hide: true, change: true },
    { head: "1,4,7", scale: "row", renorm: true, words: true },
    { head: "max", scale: "all", stat: "distance", order: "highest", hide: true, renorm: true },
  ]) {
    const chosen = { ...USUAL, ...changes };
    assert.deepEqual(selected(`?${addressOf(chosen, { kind: "text", a: "a & b" })}`), chosen);
  }
});

test("numbers that are none are as usual", () => {
  const found = selected("?layer=-1&head=x&query=1.5&key=1e2&hide=true");
  assert.deepEqual(found, { ...USUAL, key: 100 });
});

test("several heads: ascending, each once, one as its number", () => {
  assert.equal(selected("?head=7,10,4,7").head, "4,7,10");
  assert.equal(selected("?head=3,3").head, 3);
  assert.equal(selected("?head=3,").head, 0);
  assert.equal(selected(`?head=${"1,".repeat(1000)}1`).head, 0);
  assert.deepEqual([headsOf(3), headsOf("1,4"), headsOf("mean")], [[3], [1, 4], []]);
  assert.deepEqual([headFrom([]), headFrom([2]), headFrom([2, 1, 2])], [0, 2, "1,2"]);
});

test("a map's name says its heads", () => {
  assert.equal(mapName(3, 5), "3.5");
  assert.equal(mapName(3, "1,4"), "layer 3, mean of heads 1, 4");
  assert.equal(mapName(3, "max"), "layer 3, max over all heads");
});

test("a run that is smaller keeps the nearest it has, and the address says so", () => {
  let [address, told] = ["", []];
  Object.assign(globalThis, {
    addEventListener: () => {},
    document: { hidden: true },
    location: { search: "?layer=9&head=1,6,7&query=40&key=3&scale=constructor&__theme=dark", pathname: "/page" },
    history: {
      state: null,
      replaceState: (_state, _title, to) => {
        address = to;
      },
    },
  });
  const selection = new PageSelection();
  selection.on((changed) => told.push([...changed]));
  const run = {
    link: { a: "Hi" },
    nLayers: 4,
    nHeads: 7,
    ...{ tokens: Array(12), valid: [] },
    vocabulary: { scales: { head: {}, row: {} } },
  };
  selection.enter(run);
  assert.deepEqual(
    [selection.layer, selection.head, selection.query, selection.key, selection.scale],
    [3, "1,6", 11, 3, "head"],
  );
  assert.match(selection.fallen, /has heads 0 to 6; of the chosen heads 1, 6, 7, heads 1, 6 are shown/);
  selection.flush();
  assert.equal(address, "/page?a=Hi&layer=3&head=1%2C6&query=11&key=3&__theme=dark");
  selection.set({ layer: 2, query: 11, hide: true });
  selection.set({ layer: 2 });
  assert.deepEqual([told, selection.name, selection.kept], [[["layer", "hide"]], "2.1,6", "hide"]);
  selection.keep({ stat: "distance" });
  selection.enter({ ...run, nHeads: 1 });
  assert.deepEqual([selection.head, selection.stat, selection.order], [0, "distance", "layer"]);
});

test("a run that is held keeps the chosen tokens, or opens on what stands out in it", () => {
  const run = (key, words) => {
    const tokens = ["[CLS]", ...words.split(" "), "[SEP]"];
    return {
      ...{ key, tokens, words: tokens.map((_, at) => at), segments: tokens.map(() => 0), special: [], valid: tokens },
      ...{ link: {}, nLayers: 6, nHeads: 12, vocabulary: { scales: { head: {} } }, model: "m" },
      opening: { layer: 5, head: 11, query: 1, key: 2 },
    };
  };
  const place = ({ layer, head, query, key }) => [layer, head, query, key];
  globalThis.location.search = "?layer=3&head=1&query=3&key=2";
  const selection = new PageSelection();
  const hold = (next) => {
    selection.hold({});
    selection.enter(next);
    return place(selection);
  };
  selection.enter(run("a", "an animal it was tired"));
  assert.deepEqual(hold(run("b", "well an old animal said it was")), [3, 1, 6, 4]);
  assert.deepEqual(hold(run("c", "well an old animal said he was")), [3, 1, 6, 4], "one word is swapped");
  assert.deepEqual(hold(run("d", "the animal was")), [5, 11, 1, 2], "it is gone");
  selection.set({ query: 3 });
  selection.enter(run("e", "an animal it was tired"));
  assert.deepEqual(place(selection), [5, 11, 4, 2], "a run that is not held keeps its tokens too");
  selection.enter(run("e2", "well then an animal that it was tired"));
  assert.deepEqual(place(selection), [5, 11, 7, 4], "with the words before them");
  selection.enter(run("e3", "it rained and an animal that slept under a tree the whole day long said it was wet"));
  assert.deepEqual(place(selection), [5, 11, 1, 2], "not in a text of which little was there");
  selection.set({ layer: 4, query: 2, key: 5 });
  selection.enter(run("e4", "so it rained and an old dog that slept under a tree the whole day long said it was wet"));
  assert.deepEqual(place(selection), [5, 11, 1, 2], "nor where one of the two is gone");
  selection.enter({ ...run("e5", "rain all day"), opening: { layer: 1, head: 0, query: 2, key: 0, why: "said" } });
  assert.deepEqual(place(selection), [1, 0, 2, 0], "another text opens on what stands out in it");
  assert.ok(!("why" in selection));
  const given = { layer: 5, head: 11, query: 4, key: 1 };
  selection.enter({ ...run("f", "a [MASK] it was tired"), example: true }, given);
  assert.deepEqual(place(selection), [5, 11, 4, 1], "a pair is given");
  selection.hold({ kind: "text", a: "two" }, given);
  for (const [key, link] of [
    ["g", { kind: "text", a: "one" }],
    ["h", { kind: "image", run: "h" }],
  ]) {
    selection.enter({ ...run(key, "a run that comes before"), link, example: true });
    assert.deepEqual(place(selection), [5, 11, 1, 2], "it is for another run");
  }
  selection.enter({ ...run("i", "a text too long for a link"), link: { kind: "text", run: "i" }, example: true });
  assert.deepEqual(place(selection), [5, 11, 4, 1], "which has a place waiting");
  selection.enter({ ...run("j", "and no other has it"), link: { kind: "text", a: "two" }, example: true });
  assert.deepEqual(place(selection), [5, 11, 1, 2], "but once");
  selection.enter({ ...run("e4", "x"), opening: null, model: "other" });
  assert.deepEqual(place(selection), [0, 0, 0, 0], "what was opened on is not kept where nothing stands out");
});

test("where nothing was chosen, a run goes to what is found in it after its first map", () => {
  const run = (key, more) => ({
    ...{
      key,
      tokens: Array(9).fill("a"),
      words: [],
      segments: [],
      special: [],
      valid: [],
      link: {},
      nLayers: 6,
      nHeads: 12,
    },
    ...{ vocabulary: { scales: { head: {} } }, model: "m", opening: null, ...more },
  });
  const place = ({ layer, head, query, key }) => [layer, head, query, key];
  const found = { layer: 5, head: 11, query: 1, key: 2 };
  globalThis.location.search = "";
  const selection = new PageSelection();
  const told = [];
  selection.on((changed) => told.push([...changed]));
  selection.enter(run("a"));
  selection.openOn("before", found);
  assert.deepEqual(place(selection), [0, 0, 0, 0], "found in another run");
  selection.openOn("a", found);
  assert.deepEqual([place(selection), told], [[5, 11, 1, 2], [["layer", "head", "query", "key"]]]);
  selection.openOn("a", { ...found, layer: 1 });
  assert.deepEqual(place(selection), [5, 11, 1, 2], "once");
  selection.enter(run("b", { opening: { ...found, layer: 2 } }));
  assert.deepEqual(place(selection), [2, 11, 1, 2], "going there is no choice of a person");
  assert.deepEqual(
    ["a", "b"].map((key) => selection.isLed(key)),
    [false, true],
    "its answer may choose another head",
  );
  selection.openOn("b", found);
  assert.deepEqual(place(selection), [2, 11, 1, 2], "a run that was opened on a finding");
  selection.enter(run("c"));
  selection.set({ scale: "log" });
  selection.set({ query: 0 });
  selection.openOn("c", found);
  assert.deepEqual(place(selection), [0, 0, 0, 0], "what is shown was clicked");
  selection.enter(run("d"));
  selection.set({ query: 3 });
  selection.openOn("d", found);
  assert.deepEqual(place(selection), [0, 0, 3, 0], "another was chosen");
  selection.enter(run("e"));
  selection.openOn("e", found);
  assert.deepEqual(place(selection), [0, 0, 3, 0], "and stays chosen in the next");
  for (const [key, measure] of [["f"], ["g", "contribution"]]) {
    const opened = new PageSelection();
    opened.enter(run(key, { opening: { ...found, ...(measure && { measure }) } }));
    assert.equal(opened.isLed(key), !measure, "an opening on the answer is not led elsewhere");
    opened.set({ key: 3 });
    assert.ok(!opened.isLed(key), "nor is a choice");
  }
  globalThis.location.search = "?measure=contribution";
  const measured = new PageSelection();
  measured.enter(run("a"));
  measured.openOn("a", found);
  assert.ok(measured.isLed("a"), "nor is what was found, where an answer names a head");
  globalThis.location.search = "?layer=3";
  const linked = new PageSelection();
  linked.enter(run("a"));
  linked.openOn("a", found);
  assert.deepEqual(place(linked), [3, 0, 0, 0], "a place in the link");
});

test("what Back brings back is a step of its own, and is told to whoever shows it", () => {
  globalThis.location.search = "?pool.part=two";
  const selection = new PageSelection();
  const told = [];
  selection.restored("pool.part", () => told.push(selection.noted("pool.part")));
  const before = selection.entry.chosen;
  selection.note({ "pool.part": "padding", "pool.method": "cls" });
  assert.notEqual(selection.entry.chosen, before);
  const chosen = selection.entry.chosen;
  selection.note({ "pool.method": "max" });
  assert.equal(selection.entry.chosen, chosen, "of no control that Back sets");
  for (const [address, coming] of [
    ["?pool.part=two", false],
    ["?pool.part=two", false],
    ["?", true],
  ])
    selection.goBack(address, coming);
  assert.deepEqual(told, ["two", ""], "once, and where another run comes, too");
  assert.equal(selection.noted("pool.method"), "max");
});
