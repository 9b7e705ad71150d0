// Loss curves of the seeds of a training, as one small chart.

import { HUES } from "./cosine_matrix.js";
import { fixed } from "./results.js";

const [HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [220, 46, 40, 8, 8];
const SVG = "http://www.w3.org/2000/svg";

function node(tag, attributes, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

// `losses` has a row of numbers a seed, in nats, one a step.
export function lossCurves(losses, seeds, width) {
  const steps = losses[0].length;
  const high = Math.max(...losses.flat().filter((value) => value !== null)) || 1;
  const x = (step) => LEFT + (step / Math.max(1, steps - 1)) * (width - LEFT - RIGHT);
  const y = (loss) => TOP + (1 - loss / high) * (HEIGHT - TOP - BOTTOM);
  const ends = losses.map((each, at) => `seed ${seeds[at]} from ${fixed(each[0])} to ${fixed(each.at(-1))}`);
  const chart = node("svg", {
    width,
    height: HEIGHT,
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: "img",
    "aria-label": `Cross-entropy in nats by step: ${ends.join(", ")}`,
    class: "viz-learn-chart",
  });
  for (const share of [0, 0.5, 1]) {
    chart.append(
      node("line", { x1: LEFT, x2: width - RIGHT, y1: y(share * high), y2: y(share * high), class: "viz-learn-line" }),
      node("text", { x: LEFT - 6, y: y(share * high) + 4, "text-anchor": "end" }, fixed(share * high, 2)),
    );
    const step = Math.round(share * (steps - 1));
    chart.append(
      node(
        "text",
        { x: x(step), y: HEIGHT - BOTTOM + 16, "text-anchor": share === 1 ? "end" : share ? "middle" : "start" },
        String(step),
      ),
    );
  }
  losses.forEach((each, at) =>
    chart.append(
      node("polyline", {
        points: each.map((loss, step) => `${x(step).toFixed(1)},${y(loss ?? 0).toFixed(1)}`).join(" "),
        fill: "none",
        stroke: HUES[at % HUES.length],
        "stroke-width": 1.6,
      }),
    ),
  );
  chart.append(
    node("text", { x: (LEFT + width) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "Step"),
    node(
      "text",
      { transform: `translate(11 ${(HEIGHT - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" },
      "Cross-entropy (nats)",
    ),
  );
  seeds.forEach((seed, at) =>
    chart.append(
      node(
        "text",
        {
          x: width - RIGHT,
          y: TOP + 12 + 14 * at,
          "text-anchor": "end",
          fill: HUES[at % HUES.length],
          class: "viz-learn-seed",
        },
        `seed ${seed}`,
      ),
    ),
  );
  return chart;
}
