// Paper figure of all heads' changes, laid out like the atlas.

import { CHANGE, makeScale, paper, rooted, signedStops } from "../core/colors.js";
import { signedText } from "./legend.js";

/** @typedef {{ values: Float32Array, height: number, width: number }} Small a head's changes, the strongest of each block */

const GAP = 1;
const rgb = (/** @type {number[]} */ color) => `rgb(${color.join(",")})`;
const TITLE = "All layers and heads, change from the reference; each cell is the strongest change in its block";
const SAME = { type: "heatmap", zmin: -1, zmax: 1, hoverinfo: "skip" };
const NONE = [0, 1].map((at) => [at, rgb(paper().masked)]);
const UNIT = "now − before, share of a query's total (square-root scale)";

/** The atlas's figure with the changes in place of the weights; null where not all of them are here.
 * @type {(atlas: FigureJson, run: Pick<Run, "nLayers" | "nHeads">, largest: number,
 *   of: (layer: number, head: number) => Small | null) => FigureJson | null} */
export function changeFigure(atlas, { nLayers, nHeads }, largest, of) {
  const first = of(0, 0);
  if (!first || !of(nLayers - 1, 0)) return null;
  const [tall, wide] = [first.height + GAP, first.width + GAP];
  const empty = () =>
    Array.from({ length: nLayers * tall }, () => /** @type {Maybe[]} */ (Array(nHeads * wide).fill(null)));
  const [z, none] = [empty(), empty()]; // none: masked, or a token of one run only; and not merely a gap
  for (let layer = 0; layer < nLayers; layer++) {
    for (let head = 0; head < nHeads; head++) {
      of(layer, head)?.values.forEach((value, at) => {
        const [row, col] = [Math.floor(at / first.width), at % first.width];
        const [grid, shown] = Number.isNaN(value) ? [none, 0] : [z, rooted(value / (largest || 1))];
        grid[layer * tall + row][head * wide + col] = shown;
      });
    }
  }
  const axis = (/** @type {object | undefined} */ given, /** @type {number} */ count, /** @type {number} */ pitch) => ({
    ...given,
    tickvals: Array.from({ length: count }, (_, at) => at * pitch + (pitch - GAP - 1) / 2),
  });
  const { layout } = atlas;
  return {
    data: /** @type {any[]} */ ([heatmap(z, largest), { ...SAME, z: none, colorscale: NONE, showscale: false }]),
    layout: {
      ...layout,
      title: { ...layout.title, text: TITLE },
      xaxis: axis(layout.xaxis, nHeads, wide),
      yaxis: axis(layout.yaxis, nLayers, tall),
    },
  };
}

/** @type {(z: Maybe[][], largest: number) => object} */
function heatmap(z, largest) {
  const stops = signedStops("light");
  const scale = makeScale(CHANGE, largest);
  const ticks = [-1, -0.5, 0, 0.5, 1];
  return {
    ...SAME,
    z,
    colorscale: stops.map((color, at) => [at / (stops.length - 1), rgb(color)]),
    colorbar: {
      title: { text: UNIT, side: "right" },
      tickvals: ticks,
      ticktext: ticks.map((side) => signedText(scale.at((side + 1) / 2))),
    },
  };
}
