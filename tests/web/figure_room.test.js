// Where the parts of a figure stand on the page: plots one above another, and titles in the lines there is room for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { laidOut } from "../../assets/web/views/figure_layout.js";
import { roomOf } from "../../assets/web/views/figure_room.js";

const LETTER = 6.4;
const DEPTH = "After n blocks (0 = embeddings)";
const axis = (text, more) => ({ title: { text }, ...more });
const STACKED = {
  data: ["cosine", "spread", "length"].map((name) => ({ type: "scatter", name, x: [0, 1], y: [0, 1] })),
  layout: {
    xaxis: axis(DEPTH, { anchor: "y" }),
    yaxis: axis("Similarity", { anchor: "x", domain: [0.502, 1] }),
    xaxis2: axis(DEPTH, { anchor: "y2" }),
    yaxis2: axis("Length (model's units)", { anchor: "x2", domain: [0, 0.332] }),
    legend: { yanchor: "bottom" },
  },
};
const PLANE = {
  data: [{ type: "scattergl", x: [0], y: [0], showlegend: false }],
  layout: {
    xaxis: axis("Component 1: 11.9% of the variance (units of the states)"),
    yaxis: axis("Component 2: 9.7% of the variance (units of the states)"),
    coloraxis: { colorscale: [], colorbar: axis(DEPTH) },
  },
};
const EFFECTS = {
  data: [
    {
      ...{ type: "heatmap", z: [[0]], x: ["0"], y: ["0"] },
      colorbar: axis("Effect of removing:<br>1 − cosine between the pooled vector (declared) and the untouched one"),
    },
  ],
  layout: { xaxis: axis("Head", { side: "top" }), yaxis: axis(DEPTH) },
};
const NAMED = {
  data: [{ type: "heatmap", z: [[0]], x: ["12 a long name"], y: ["0"], colorbar: axis("Share") }],
  layout: { xaxis: axis("Token", { type: "category" }), yaxis: axis(DEPTH), height: 700 }, // with its names below
};

test("at any width, no title is longer than what it stands along, and plots one above another stay apart and readable", () => {
  const nothing = { classList: { contains: () => false } };
  globalThis.document = { documentElement: nothing, body: nothing };
  globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" });
  const longest = ({ title }) => Math.max(...title.text.split("<br>").map((line) => line.length)) * LETTER;
  for (const [width, full] of [
    [336, 0],
    [638, 0],
    [1300, 1000],
  ]) {
    // biome-ignore format: a row
    for (const figure of [STACKED, PLANE, EFFECTS]) {
      const { data, layout } = laidOut(figure, width, full);
      const bar = (layout.coloraxis ?? data[0]).colorbar;
      if (bar) assert.ok(longest(bar) <= (bar.orientation === "h" ? width : layout.height), bar.title.text);
      if (bar) assert.equal(layout.margin.b > 60, bar.orientation === "h", "room below, for a scale that lies there");
      for (const [name, each] of Object.entries(layout).filter(([name]) => /^[xy]axis/.test(name))) {
        const [from, to] = each.domain ?? [0, 1];
        assert.ok(longest(each) <= (name.startsWith("x") ? width : layout.height) * (to - from), each.title.text);
      }
    }
    const unnamed = { ...NAMED.layout.xaxis, showticklabels: false };
    const [named, bare] = [NAMED.layout.xaxis, unnamed].map((xaxis) => ({
      ...NAMED,
      layout: { ...NAMED.layout, xaxis },
    }));
    assert.ok(roomOf(named, width).below > roomOf(bare, width).below + 20, "names below a plot, where they are drawn");
    assert.ok(width > 1000 || roomOf(EFFECTS, width).lying, "beside a low plot, a scale has no room");
    const { layout } = laidOut(STACKED, width, full);
    assert.deepEqual([layout.xaxis, layout.xaxis2].map(({ title }) => title.text), ["", DEPTH]); // biome-ignore format: a row
    const [[low, top], [bottom, high]] = [layout.yaxis, layout.yaxis2].map(({ domain }) => domain);
    const plot = layout.height - layout.margin.t - layout.margin.b - 100; // less the legend and the axis at least
    assert.ok(top === 1 && bottom < 1e-9 && (low - high) * plot > 22, "the numbers of the upper axis lie between");
    assert.ok((low - high) * plot < 60, "and no more than they need");
    assert.ok(high * plot > 90 && (top - low) / high > 1.49);
  }
  const tall = (n) => roomOf({ ...STACKED, data: Array(n).fill(STACKED.data[0]) }, 336).height;
  assert.deepEqual(
    [4, 6, 7].map((n) => tall(n) - tall(3)),
    [19, 19, 38],
  ); // three entries a line
});
