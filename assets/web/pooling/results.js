// What the Pooling tab asks of the server, and numbers and cells as it shows them.

import { el } from "../core/dom.js";
import { inkOn } from "../core/colors.js";
import { signed, signedColors } from "../core/signed_colors.js";

// { values, side } of a matrix in raw bytes, or what was sent as JSON.
export async function ask(path, signal) {
  const response = await fetched(path, signal);
  if (response.headers.get("content-type")?.includes("json")) return response.json();
  const [side] = response.headers.get("x-shape").split(",").map(Number);
  return { values: new Float32Array(await response.arrayBuffer()), side };
}

export const address = (path) => new URL(`viz/${path}`, document.baseURI).href;

// The answer, or the server's own sentence as a fault.
export async function fetched(path, signal) {
  const response = await fetch(address(path), { signal }).catch((fault) => {
    throw signal?.aborted ? fault : new Error("The server does not answer; is it still running?");
  });
  if (response.ok) return response;
  const fault = await response.json().catch(() => ({}));
  throw new Error(fault.message || `The server answered ${response.status}; try again.`);
}

export const fixed = (value, digits = 3) =>
  value == null || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");

// A drift: three digits, in powers of ten where it is only rounding.
export function small(value) {
  if (value == null) return "–";
  if (value === 0) return "0";
  return Math.abs(value) < 0.0005 ? value.toExponential(1).replace("-", "−") : value.toPrecision(3);
}

// Color a cell by a value from −1 to 1.
export function tint(node, value) {
  if (value == null || Number.isNaN(value)) return node;
  const color = signedColors()(value);
  node.style.background = `rgb(${color})`;
  node.style.color = inkOn(color);
  return node;
}

// A bar of the signed colors between two numbers, or of their upper half where it begins at 0.
export function signedScale(low, high, unit) {
  const stops = signed()
    .slice(low === "0" ? 2 : 0)
    .map((color) => `rgb(${color})`)
    .join(", ");
  return [
    `${low} `,
    el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` }),
    ` ${high}, ${unit}`,
  ];
}

export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
