// Loss curves of the seeds of a training, as one small chart.

import { svg } from "../core/dom.js";
import { fixed, HUES } from "./results.js";

const [HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [220, 46, 40, 8, 8];

/** Scales of a loss chart; `losses` has one row per seed and one number per step.
 * @type {(losses: Maybe[][], width: number) => { high: number, x: (step: number) => number, y:
 *   (loss: number) => number }} */
export function lossScale(losses, width) {
  const last = Math.max(1, losses[0].length - 1);
  const high = Math.max(...losses.flat().map(Number)) || 1;
  return {
    high,
    x: (step) => LEFT + (step / last) * (width - LEFT - RIGHT),
    y: (loss) => TOP + (1 - loss / high) * (HEIGHT - TOP - BOTTOM),
  };
}

/** Losses in nats. @type {(losses: Maybe[][], seeds: number[], width: number) => SVGElement} */
export function lossCurves(losses, seeds, width) {
  const { high, x, y } = lossScale(losses, width);
  const ends = losses.map((each, at) => `seed ${seeds[at]} from ${fixed(each[0])} to ${fixed(each.at(-1))}`);
  const label = `Cross-entropy in nats by step: ${ends.join(", ")}`;
  const box = { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` };
  const chart = svg("svg", { ...box, role: "img", "aria-label": label, class: "viz-learn-chart" });
  for (const [share, anchor] of /** @type {const} */ ([
    [0, "start"],
    [0.5, "middle"],
    [1, "end"],
  ])) {
    const [up, step] = [y(share * high), Math.round(share * (losses[0].length - 1))];
    chart.append(
      svg("line", { x1: LEFT, x2: width - RIGHT, y1: up, y2: up, class: "viz-learn-line" }),
      text(LEFT - 6, up + 4, "end", fixed(share * high, 2)),
      text(x(step), HEIGHT - BOTTOM + 16, anchor, String(step)),
    );
  }
  const transform = `translate(11 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)`;
  chart.append(
    text((LEFT + width) / 2, HEIGHT - 6, "middle", "Step"),
    text(0, 0, "middle", "Cross-entropy (nats)", { transform }),
  );
  for (const [at, each] of losses.entries()) {
    const hue = HUES[at % HUES.length];
    const points = each.map((loss, step) => `${x(step).toFixed(1)},${y(loss ?? 0).toFixed(1)}`).join(" ");
    chart.append(
      svg("polyline", { points, fill: "none", stroke: hue, "stroke-width": 1.6 }),
      text(width - RIGHT, TOP + 12 + 14 * at, "end", `seed ${seeds[at]}`, { fill: hue, class: "viz-learn-seed" }),
    );
  }
  return chart;
}

/** @type {(x: number, y: number, anchor: "start" | "middle" | "end", content: string, more?: Record<string, string>) => SVGElement} */
const text = (x, y, anchor, content, more) => svg("text", { x, y, "text-anchor": anchor, ...more }, content);
