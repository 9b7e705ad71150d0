// Keys for the next and the previous head or layer, wherever the focus is but in a field.

import { headsOf } from "../core/selection_address.js";

/** @import { Selection } from "./types.d.ts" */

export const HINT = "Keys: h and l for the next head and layer, Shift for the previous one";
const FIELDS = "input, textarea, select, [contenteditable]";

/** The head that a key leads to, the first again after the last; null by any other key.
 * @type {(key: string, at: { layer: number, head: Head }, run: { nLayers: number, nHeads: number }) =>
 *   { layer: number } | { head: number } | null} */
export function stepped(key, { layer, head }, { nLayers, nHeads }) {
  const by = key === key.toLowerCase() ? 1 : -1;
  const around = (/** @type {number} */ at, /** @type {number} */ many) => (at + by + many) % many;
  if (key.toLowerCase() === "l") return { layer: around(layer, nLayers) };
  if (key.toLowerCase() === "h") return { head: around(headsOf(head)[0] ?? (by > 0 ? -1 : 0), nHeads) };
  return null;
}

/** @param {HTMLElement} root of the tab; out of sight it takes no keys @param {Selection} selection
 * @param {() => Run | null} run */
export function followKeys(root, selection, run) {
  document.addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey, defaultPrevented }) => {
    const shown = run();
    const typed = target instanceof Element && target.closest(FIELDS);
    if (!shown || typed || ctrlKey || metaKey || altKey || defaultPrevented || !root.clientWidth) return;
    const to = key.length === 1 ? stepped(key, selection, shown) : null;
    if (to) selection.set(to);
  });
}
