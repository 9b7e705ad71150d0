// Lines over the words, from the chosen one to where it looks: wider and darker the larger the weight.

import { css, fit, rounded } from "./dom.js";

/** @typedef {{ at: number, weight: number }} Link to a chip by its place */
/** @typedef {{ x: number, top: number }} Place the middle of a chip's upper edge */
/** @typedef {{ query: number, links: Link[], was?: Link[], faint?: { query: number, at: number, weight: number }[], marked?: number }} Lines
 *   of the chosen query, now and in the run before, the strong ones of the others, and the key with its own color */
/** @typedef {Place & { text: string, wide: number, color: string }} Label centered above the middle of an arc */

export const ROOM = 96; // pixels above a single line of words
const EDGE = 6; // pixels that stay free above the highest arc
const LABELLED = 0.1; // the least weight that is written beside its line
const LABEL = "12px system-ui, sans-serif";
const [PAD, TALL] = [3, 14]; // pixels beside a label, and its height

/** @type {(canvas: HTMLCanvasElement, box: HTMLElement, chips: HTMLElement[], lines: Lines, room?: number) => void} */
export function drawArcs(canvas, box, chips, lines, room = ROOM) {
  const { query, links, was = [], faint = [], marked = links[0]?.at } = lines;
  const context = fit(canvas, box.clientWidth, box.scrollHeight);
  const single = isSingle(chips);
  const place = (/** @type {number} */ at) => placeOf(chips[at]);
  context.lineCap = "round";
  if (!chips[query]) return;
  if (single)
    for (const each of faint)
      arc(context, place(each.query), place(each.at), css("--faint", box), 0.5 + 2 * each.weight, room);
  context.setLineDash([4, 4]);
  for (const { at, weight } of single ? was : [])
    if (at !== query) arc(context, place(query), place(at), css("--arc", box), 1 + 5 * weight, room);
  context.setLineDash([]);
  const labels = [];
  context.font = LABEL;
  // Draw the strongest arc last, on top of the others.
  for (const { at: key, weight: share } of links.toReversed()) {
    if (!chips[key] || key === query) continue;
    const ink = (/** @type {string} */ usual) => css(key === marked ? "--viz-mark-key" : usual, box);
    context.globalAlpha = single ? 1 : 0.55;
    const peak = arc(context, place(query), place(key), ink("--arc"), 1 + 5 * share, room);
    context.globalAlpha = 1;
    if (!single || share < LABELLED) continue;
    const [text, color] = [rounded(share), ink("--body-text-color-subdued")];
    labels.unshift({ ...peak, text, color, wide: context.measureText(text).width });
  }
  for (const each of apart(labels)) write(context, each);
}

/** The labels that no earlier one lies under, of those in the order of their weights.
 * @template {{ x: number, top: number, wide: number }} Box @param {Box[]} labels @returns {Box[]} */
export function apart(labels) {
  /** @type {Box[]} */
  const kept = [];
  for (const each of labels) {
    const over = (/** @type {Box} */ { x, top, wide }) =>
      Math.abs(x - each.x) < (wide + each.wide) / 2 + 2 * PAD && Math.abs(top - each.top) < TALL;
    if (!kept.some(over)) kept.push(each);
  }
  return kept;
}

/** Whether all chips stand in one line. @type {(chips: HTMLElement[]) => boolean} */
export const isSingle = (chips) => chips.length > 0 && chips[0].offsetTop === chips[chips.length - 1].offsetTop;

/** @type {(chip: HTMLElement) => Place} */
const placeOf = (chip) => ({ x: chip.offsetLeft + chip.offsetWidth / 2, top: chip.offsetTop });

/** An arc between two chips; gives its highest point. @type {(context: CanvasRenderingContext2D, from: Place, to: Place,
 *   color: string, width: number, room: number) => Place} */
function arc(context, from, to, color, width, room) {
  const top = Math.min(from.top, to.top);
  const high = Math.min(room - 20, 16 + Math.abs(from.x - to.x) * 0.16 * (room / ROOM), top - EDGE);
  const over = top - high;
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(from.x, from.top);
  context.bezierCurveTo(from.x, over - high / 3, to.x, over - high / 3, to.x, to.top);
  context.stroke();
  return { x: (from.x + to.x) / 2, top: over };
}

/** @type {(context: CanvasRenderingContext2D, label: Label) => void} */
function write(context, { x, top, text, wide, color }) {
  context.font = LABEL;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.fillStyle = css("--body-background-fill");
  context.fillRect(x - wide / 2 - PAD, top - 4 - TALL, wide + 2 * PAD, TALL);
  context.fillStyle = color;
  context.fillText(text, x, top - 4);
}
