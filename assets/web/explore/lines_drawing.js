// Draws the two columns of tokens and the lines between them, only as far as they are in sight.

import { css, el, fit, isDark } from "../core/dom.js";
import { fitted } from "../core/labels.js";
import { isolated } from "../core/token_names.js";
import { eachAt } from "./strongest_lines.js";

/** @import { Context } from "../core/labels.js" */
/** @typedef {{ width: number, left: number, right: number, height: number, scroll: number, names: string[],
 *   starts: number[] }} Plan where names end and lines begin; names cut to their column; each text's first row */
/** @typedef {{ query: number, key: number, colors: { query: string, key: string } }} Marks */

const FONT = "12px system-ui, sans-serif";
export const ROW = 20; // pixels a token's line of text takes
const LEVELS = 16; // lines of one head and about one weight are one stroke
const WIDEST = 3.5;
const GAP = 6;
const TAG = 14; // for the letter of a text
const SIDES = /** @type {const} */ (["query", "key"]);

// A color per head, far from its neighbors'; the mean and the largest of all have the text's own.
export function headColor(/** @type {Head} */ head) {
  if (typeof head !== "number") return isDark() ? "#e5e7eb" : "#374151";
  return `hsl(${(210 + head * 137.508) % 360} ${isDark() ? "75% 66%" : "72% 34%"})`;
}

/** `starts` holds the first row of each text of a pair; it is empty for a single text.
 * @type {(names: string[], width: number, height: number, starts: number[]) => Plan} */
export function arrange(names, width, height, starts) {
  const left = Math.min(150, Math.floor(width * 0.3));
  const room = left - 2 * GAP - (starts.length ? TAG : 0);
  return {
    width,
    left,
    right: width - left,
    height,
    scroll: 0,
    names: names.map((name) => fitted(name, room, true)),
    starts,
  };
}

/** Draw one canvas: `sets` are the lines by head, `only` one token of one side, or null for all;
 * lines below the least weight are left out.
 * @type {(context: Context, plan: Plan, sets: LineSet[], only: Token | null, least?: number) =>
 *   void} */
export function drawLines(context, plan, sets, only, least = 0) {
  const spread = Math.min(2.5, (ROW - 6) / Math.max(1, sets.length));
  context.lineCap = "butt";
  for (const [at, set] of sets.entries()) {
    context.strokeStyle = headColor(set.head);
    const found = paths(plan, set, only, (at - (sets.length - 1) / 2) * spread, least);
    for (const [level, path] of found.entries()) {
      if (!path) continue;
      const strength = (level + 0.5) / LEVELS;
      context.globalAlpha = strength;
      context.lineWidth = Math.max(0.75, WIDEST * strength);
      context.stroke(path);
    }
  }
  context.globalAlpha = 1;
}

/** The lines in sight as one path a level of strength, which is the square root of the weight.
 * @type {(plan: Plan, set: LineSet, only: Token | null, shift: number, least: number) => (Path2D | undefined)[]} */
function paths(plan, set, only, shift, least) {
  const { query, key, weight } = set;
  /** @type {(Path2D | undefined)[]} */ const found = new Array(LEVELS);
  const middle = ROW / 2 - plan.scroll + shift;
  const add = (/** @type {number} */ i) => {
    if (weight[i] < least) return;
    const from = query[i] * ROW + middle;
    const to = key[i] * ROW + middle;
    if ((from < 0 && to < 0) || (from > plan.height && to > plan.height)) return;
    const level = Math.min(LEVELS - 1, Math.floor(Math.sqrt(weight[i]) * LEVELS));
    const path = found[level] ?? new Path2D();
    found[level] = path;
    path.moveTo(plan.left, from);
    path.lineTo(plan.right, to);
  };
  if (only) eachAt(set, only, add);
  else for (let i = 0; i < weight.length; i++) add(i);
  return found;
}

/** The names of both columns; `linked` holds those that stay strong while one token is looked at.
 * @type {(context: Context, plan: Plan, marks: Marks, linked: Record<"query" | "key", Set<number>> | null) => void} */
export function drawNames(context, plan, marks, linked) {
  const first = Math.max(0, Math.floor(plan.scroll / ROW));
  const last = Math.min(plan.names.length, Math.ceil((plan.scroll + plan.height) / ROW));
  const [strong, weak] = [css("--body-text-color"), css("--body-text-color-subdued")];
  context.textBaseline = "middle";
  for (const side of SIDES) {
    const x = side === "query" ? plan.left - GAP : plan.right + GAP;
    context.textAlign = side === "query" ? "right" : "left";
    for (let at = first; at < last; at++) {
      const y = at * ROW + ROW / 2 - plan.scroll;
      const bright = !linked || linked[side].has(at);
      context.globalAlpha = bright ? 1 : 0.45;
      context.font = linked && bright ? `600 ${FONT}` : FONT;
      context.fillStyle = bright ? strong : weak;
      context.fillText(isolated(plan.names[at]), x, y);
      if (marks[side] === at) outline(context, plan, side, y, marks.colors[side]);
    }
  }
  context.globalAlpha = 1;
  for (const [text, row] of plan.starts.entries()) drawStart(context, plan, row * ROW - plan.scroll, "AB"[text]);
}

/** The letter of a text at its first token, and a line above where another text ends.
 * @type {(context: Context, plan: Plan, top: number, letter: string) => void} */
function drawStart(context, plan, top, letter) {
  context.font = `600 10px ${FONT.split("px ")[1]}`;
  context.fillStyle = context.strokeStyle = css("--body-text-color-subdued");
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  for (const side of SIDES) {
    const left = side === "query";
    const [from, to] = left ? [1, plan.left - 2] : [plan.width - 1, plan.right + 2];
    context.textAlign = left ? "left" : "right";
    context.fillText(letter, from + (left ? 2 : -2), top + ROW / 2);
    if (letter === "A") continue;
    context.beginPath();
    context.moveTo(from, Math.round(top) + 0.5);
    context.lineTo(to, Math.round(top) + 0.5);
    context.stroke();
  }
  context.setLineDash([]);
}

/** @type {(context: Context, plan: Plan, side: "query" | "key", y: number, color: string) => void} */
function outline(context, plan, side, y, color) {
  context.globalAlpha = 1;
  context.strokeStyle = color;
  context.lineWidth = 2;
  const [x, width] = side === "query" ? [1, plan.left - 2] : [plan.right + 1, plan.width - plan.right - 2];
  context.strokeRect(x, y - ROW / 2 + 1.5, width, ROW - 3);
}

// The picture of all lines, kept, so that leaving a token costs one copy and not thousands of strokes.
export class AllLines {
  #canvas = el("canvas");
  #of = "";

  /** @type {(context: Context, plan: Plan, sets: LineSet[], of: string) => void} */
  copy(context, plan, sets, of) {
    if (this.#of !== of) drawLines(fit(this.#canvas, plan.width, plan.height), plan, sets, null);
    this.#of = of;
    context.drawImage(this.#canvas, 0, 0, plan.width, plan.height);
  }
}
