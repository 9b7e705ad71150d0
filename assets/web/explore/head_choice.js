// The choice of heads: one, the mean or the maximum of all, or the mean of any set of them; and the keys for the next.

import { button, control, el, options } from "../core/dom.js";
import { headFrom, headsOf } from "../core/selection_address.js";
import { popover } from "../views/popover.js";

export class HeadChoice {
  #listed = "";
  select = el("select", { id: "viz-head", onchange: (event) => this.#choose(event.currentTarget.value) });
  chips = el("div", { class: "viz-chips", role: "group", "aria-label": "Heads whose mean is shown" });
  opener = button("Several heads …", () => {}, {
    title: "The mean of any set of heads; in the atlas, Ctrl or Shift + click",
  });
  node = el(
    "span",
    { class: "viz-head-choice" },
    control("Head", this.select),
    ...[this.opener, popover(this.opener, this.chips)],
  );

  constructor(/** @type {PageSelection} */ selection) {
    this.selection = selection;
  }

  // Bring both in line with the selection.
  show(/** @type {Run} */ { nHeads }) {
    const { head } = this.selection;
    const heads = headsOf(head);
    const listed = `${nHeads}:${heads.length > 1 && head}`;
    if (listed !== this.#listed) {
      const all = Array.from({ length: nHeads }, (_, at) => /** @type {const} */ ([at, String(at)]));
      const several = heads.length > 1 ? [/** @type {const} */ ([head, `mean of ${heads.join(", ")}`])] : [];
      this.select.replaceChildren(...options([...all, ["mean", "mean of all"], ["max", "max of all"], ...several]));
      this.#listed = listed;
    }
    this.select.value = String(head);
    if (this.chips.childElementCount !== nHeads + 1) {
      const every = Array.from({ length: nHeads }, (_, at) => at);
      const all = button("all", () => this.selection.set({ head: headFrom(every) }), { "data-several": "all" });
      this.chips.replaceChildren(...every.map((at) => this.#chip(at)), all);
    }
    for (const [at, chip] of [...this.chips.children].slice(0, nHeads).entries())
      chip.ariaPressed = String(heads.includes(at));
  }

  #chip(/** @type {number} */ head) {
    const more = { class: "viz-small viz-head-chip", "data-several": head, "aria-label": `Head ${head}` };
    return button(String(head), () => this.selection.set({ head: toggled(this.selection.head, head) }), more);
  }

  #choose(/** @type {string} */ value) {
    this.selection.set({ head: /^\d+$/.test(value) ? Number(value) : value });
  }
}

/** A set of heads with one more, or without it; a set never becomes empty: its last head stays.
 * @type {(head: Head, one: number) => Head} */
export function toggled(head, one) {
  const heads = headsOf(head);
  const left = heads.includes(one) ? heads.filter((other) => other !== one) : [...heads, one];
  return left.length ? headFrom(left) : head;
}

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

/** @param {HTMLElement} root of the tab; out of sight it takes no keys @param {PageSelection} selection
 * @param {() => Run | null} run @param {AbortSignal} signal */
export function followKeys(root, selection, run, signal) {
  const walk = (/** @type {KeyboardEvent} */ { key, target, ctrlKey, metaKey, altKey, defaultPrevented }) => {
    const shown = run();
    const typed = target instanceof Element && target.closest(FIELDS);
    if (!shown || typed || ctrlKey || metaKey || altKey || defaultPrevented || !root.clientWidth) return;
    const to = key.length === 1 ? stepped(key, selection, shown) : null;
    if (to) selection.set(to);
  };
  document.addEventListener("keydown", walk, { signal });
}
