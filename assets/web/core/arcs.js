// Lines over the words, from the chosen one to where it looks: wider and darker the larger the weight.

import { css, fit, rounded } from "./dom.js";

/** @typedef {{ at: number, weight: number }} Link to a chip by its place */
/** @typedef {{ x: number, top: number }} Place the middle of a chip's upper edge */
/** @typedef {{ query: number, links: Link[], faint: { query: number, at: number, weight: number }[] }} Lines of the
 *   chosen query, and the strong ones of the others */

export const ROOM = 96; // pixels above a single line of words
const EDGE = 6; // pixels that stay free above the highest arc
const LABELLED = 0.1; // the least weight that is written beside its line
const LABEL = "12px system-ui, sans-serif";

/** @type {(canvas: HTMLCanvasElement, box: HTMLElement, chips: HTMLElement[], lines: Lines) => void} */
export function drawArcs(canvas, box, chips, { query, links, faint }) {
  const context = fit(canvas, box.clientWidth, box.scrollHeight);
  const single = isSingle(chips);
  const place = (/** @type {number} */ at) => placeOf(chips[at]);
  context.lineCap = "round";
  if (!chips[query]) return;
  if (single)
    for (const each of faint)
      arc(context, place(each.query), place(each.at), css("--faint", box), 0.5 + 2 * each.weight);
  // Draw the strongest arc last, on top of the others.
  for (const [at, { at: key, weight: share }] of [...links.entries()].reverse()) {
    if (!chips[key] || key === query) continue;
    context.globalAlpha = single ? 1 : 0.55;
    const peak = arc(context, place(query), place(key), css(at ? "--arc" : "--accent", box), 1 + 5 * share);
    context.globalAlpha = 1;
    if (single && share >= LABELLED)
      label(context, peak, rounded(share), css(at ? "--body-text-color-subdued" : "--accent", box));
  }
}

/** Whether all chips stand in one line. @type {(chips: HTMLElement[]) => boolean} */
export const isSingle = (chips) => chips.length > 0 && chips[0].offsetTop === chips[chips.length - 1].offsetTop;

/** @type {(chip: HTMLElement) => Place} */
const placeOf = (chip) => ({ x: chip.offsetLeft + chip.offsetWidth / 2, top: chip.offsetTop });

/** An arc between two chips; gives its highest point. @type {(context: CanvasRenderingContext2D, from: Place, to: Place,
 *   color: string, width: number) => Place} */
function arc(context, from, to, color, width) {
  const top = Math.min(from.top, to.top);
  const high = Math.min(ROOM - 20, 16 + Math.abs(from.x - to.x) * 0.16, top - EDGE);
  const over = top - high;
  context.strokeStyle = color;
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(from.x, from.top);
  context.bezierCurveTo(from.x, over - high / 3, to.x, over - high / 3, to.x, to.top);
  context.stroke();
  return { x: (from.x + to.x) / 2, top: over };
}

/** @type {(context: CanvasRenderingContext2D, at: Place, text: string, color: string) => void} */
function label(context, { x, top }, text, color) {
  context.font = LABEL;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  const wide = context.measureText(text).width;
  context.fillStyle = css("--body-background-fill");
  context.fillRect(x - wide / 2 - 3, top - 18, wide + 6, 14);
  context.fillStyle = color;
  context.fillText(text, x, top - 4);
}
