// Axis titles and token names around the big map; as many names as fit, the chosen ones always.

import { context2d, css } from "./dom.js";
import { isolated } from "./token_names.js";

/**
 * A map whose sides are named: where it lies, what stands along them, and the cell that is chosen.
 * @typedef {Frame & { view: Viewport, shown: Named[], columns?: Named[], chosen: number[], axes?: typeof AXES,
 *   context: CanvasRenderingContext2D, overContext: CanvasRenderingContext2D }} Labelled
 * @typedef {{ name: string }} Named
 */
/** @typedef {CanvasRenderingContext2D} Context */

/** What the axes of an attention map are called. */
export const AXES = { query: "← Query (who looks)", key: "Key (who is looked at) →" };

const FONT = "12px system-ui, sans-serif";
const LINE = 13; // pixels a name needs
const MAX_LEFT = 150;
const MAX_TOP = 110;
const TITLE = 18;
const TILT = -Math.PI / 3;

/** @type {Context | undefined} */
let measure;
const measuring = () => (measure ??= context2d(document.createElement("canvas")));

/** A name at 12 pixels, cut to a room. @type {(text: string, room: number, strong?: boolean) => string} */
export const fitted = (text, room, strong = false) => short(measuring(), text, room, strong);

// Room for the names, measured on the longest.
export function labelRoom(/** @type {Named[]} */ shown) {
  const ruler = measuring();
  ruler.font = `600 ${FONT}`;
  let widest = 20;
  for (const { name } of shown.slice(0, 2000)) widest = Math.max(widest, ruler.measureText(name).width);
  return {
    left: Math.min(MAX_LEFT, widest + 14) + TITLE,
    top: Math.min(MAX_TOP, widest * Math.sin(-TILT) + 16) + TITLE,
  };
}

const columnsOf = (/** @type {Labelled} */ map) => map.columns ?? map.shown;

/** Names along both sides, or those of one cell only, boxed. @type {(map: Labelled, only?: number[]) => void} */
export function drawLabels(map, only) {
  const context = only ? map.overContext : map.context;
  const cell = map.side / map.view.span;
  const inks = { strong: css("--body-text-color"), weak: css("--body-text-color-subdued") };
  context.font = FONT;
  context.textBaseline = "middle";
  if (!only) drawTitles(map, context, inks.weak);
  const [rows, cols] = map.view.cells();
  const every = Math.max(1, Math.ceil(LINE / cell));
  const chosen = map.chosen;
  /** @type {(range: Span, axis: 0 | 1, names: Named[]) => number[]} */
  const listed = ([start, stop], axis, { length }) =>
    only ? [only[axis]] : thin([start, Math.min(stop, length)], every, chosen[axis]);
  const boxed = Boolean(only);
  for (const row of listed(rows, 0, map.shown)) drawRow(map, context, inks, row, boxed || row === chosen[0], boxed);
  for (const col of listed(cols, 1, columnsOf(map)))
    drawColumn(map, context, inks, col, boxed || col === chosen[1], boxed);
}

/** Every so-many-th of a range, keeping clear of the one that must be named.
 * @type {(range: Span, every: number, always: number) => number[]} */
export function thin([start, stop], every, always) {
  const kept = [];
  for (let at = start - (start % every); at < stop; at += every) {
    if (at >= start && (Math.abs(at - always) >= every || at === always)) kept.push(at);
  }
  if (always >= start && always < stop && !kept.includes(always)) kept.push(always);
  return kept;
}

/** @type {(map: Labelled, context: Context, ink: string) => void} */
function drawTitles(map, context, ink) {
  context.fillStyle = ink;
  context.textAlign = "left";
  const { query, key } = map.axes ?? AXES;
  context.fillText(key, map.left, 8);
  context.save();
  context.translate(8, map.top);
  context.rotate(-Math.PI / 2);
  context.textAlign = "right";
  context.fillText(query, 0, 0);
  context.restore();
}

/** @typedef {{ strong: string, weak: string }} Inks */
/** @type {(map: Labelled, context: Context, inks: Inks, at: number, strong: boolean, boxed: boolean) => void} */
function drawRow(map, context, inks, row, strong, boxed) {
  const [, y] = map.view.middle(row, 0, map);
  if (y < map.top - 2 || y > map.top + map.side + 2) return;
  const text = short(context, map.shown[row].name, map.left - TITLE - 8, strong);
  context.textAlign = "right";
  if (boxed)
    backdrop(context, map.left - 6 - context.measureText(text).width, y - 8, context.measureText(text).width + 4, 16);
  context.fillStyle = strong ? inks.strong : inks.weak;
  context.fillText(isolated(text), map.left - 4, y); // else “##” stands behind what is read from right to left
}

/** @type {(map: Labelled, context: Context, inks: Inks, at: number, strong: boolean, boxed: boolean) => void} */
function drawColumn(map, context, inks, col, strong, boxed) {
  const [x] = map.view.middle(0, col, map);
  if (x < map.left - 2 || x > map.left + map.side + 2) return;
  const text = short(context, columnsOf(map)[col].name, (map.top - TITLE - 8) / Math.sin(-TILT), strong);
  context.save();
  context.translate(x, map.top - 5);
  context.rotate(TILT);
  context.textAlign = "left";
  if (boxed) backdrop(context, -2, -8, context.measureText(text).width + 4, 16);
  context.fillStyle = strong ? inks.strong : inks.weak;
  context.fillText(isolated(text), 0, 0);
  context.restore();
}

/** @type {(context: Context, x: number, y: number, width: number, height: number) => void} */
function backdrop(context, x, y, width, height) {
  context.fillStyle = css("--body-background-fill") || css("--background-fill-primary");
  context.fillRect(x, y, width, height);
}

/** @type {(context: Context, text: string, room: number, strong: boolean) => string} */
function short(context, text, room, strong) {
  context.font = strong ? `600 ${FONT}` : FONT;
  return shortened(text, (cut) => context.measureText(cut).width <= room);
}

/** As many of its first letters as fit, if not all. @type {(text: string, isFit: (text: string) => boolean) => string} */
export function shortened(text, isFit) {
  if (isFit(text)) return text;
  const kept = [...text];
  const cut = (/** @type {number} */ length) => `${kept.slice(0, length).join("")}…`;
  let [fits, over] = [1, kept.length]; // halving, for a name may be long
  while (over - fits > 1) {
    const middle = (fits + over) >> 1;
    if (isFit(cut(middle))) fits = middle;
    else over = middle;
  }
  return cut(fits);
}
