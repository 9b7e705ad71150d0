// Choosing heads in the atlas: a click or the arrows choose one, Ctrl or Shift a set of a layer's.

import { aims } from "../views/head_cells.js";
import { moved } from "../views/patch_canvas.js";
import { toggled } from "./head_choice.js";
import { headNamed } from "./head_statistics.js";

/** @import { Atlas } from "./atlas.js" */
/** @import { Selection } from "./types.d.ts" */

/** Make the atlas's cells choose heads; `expect` gets the one that the next click may choose.
 * @type {(atlas: Atlas, expect: (place: HeadPlace) => unknown) => void} */
export function choosing(atlas, expect) {
  const { grid, selection } = atlas;
  aims(grid, expect);
  grid.onclick = ({ target, ctrlKey, metaKey }) => {
    const name = nameOf(target);
    if (name && (ctrlKey || metaKey)) toggle(selection, name);
    else if (name) selection.set(headNamed(name));
  };
  grid.onkeydown = (event) => walk(atlas, event);
}

// Arrows select as they move; with Shift or Ctrl they only move, so that a set can be chosen.
function walk(/** @type {Atlas} */ atlas, /** @type {KeyboardEvent} */ event) {
  const { run, selection, places, cells } = atlas;
  const { key, shiftKey } = event;
  const name = nameOf(event.target);
  const control = event.ctrlKey || event.metaKey;
  const at = atlas.at.get(name);
  if (!run || at === undefined || (key === "Enter" && control)) return; // Ctrl + Enter runs the form
  const to = ledTo(key, at, run, atlas.order.ranked); // Enter and space lead nowhere else
  if (to === null) return;
  event.preventDefault();
  if (shiftKey && (key === "Enter" || key === " ")) toggle(selection, name);
  else if (!shiftKey && !control) selection.set(headNamed(places[to].name));
  cells.get(places[to].name)?.focus({ preventScroll: true });
}

// Add a head to the set of its layer, or take it out; the last one stays.
function toggle(/** @type {Selection} */ selection, /** @type {string} */ name) {
  const { layer, head } = headNamed(name);
  const same = selection.layer === layer;
  selection.set({ layer, head: same ? toggled(selection.head, head) : head });
}

const nameOf = (/** @type {EventTarget | null} */ target) =>
  (target instanceof HTMLElement && target.dataset.head) || "";

/** Target of a key; a row ends with its layer, but ranks continue in the next.
 * @type {(key: string, at: number, run: { nLayers: number, nHeads: number }, ranked: boolean) =>
 *   number | null} */
export function ledTo(key, at, { nLayers, nHeads }, ranked) {
  const along = key === "ArrowLeft" ? at - 1 : at + 1;
  if (ranked && (key === "ArrowLeft" || key === "ArrowRight"))
    return Math.min(nLayers * nHeads - 1, Math.max(0, along));
  const to = moved(key, at, { rows: nLayers, cols: nHeads });
  return to === -1 ? at : to;
}
