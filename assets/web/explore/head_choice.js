// The choice of heads: one, the mean or the maximum of all, or the mean of any set of them.

import { button, control, el, options } from "../core/dom.js";
import { headFrom, headsOf } from "../core/selection_address.js";

/** @import { Selection } from "./types.d.ts" */

export class HeadChoice {
  #listed = "";
  select = el("select", { id: "viz-head", onchange: (event) => this.#choose(event.currentTarget.value) });
  chips = el("div", { class: "viz-chips", role: "group", "aria-label": "Heads whose mean is shown" });
  summary = el(
    "summary",
    { title: "The mean of any set of heads; in the atlas, Ctrl or Shift + click" },
    "Several heads …",
  );
  more = el("details", { class: "viz-several", onkeydown: (event) => this.#key(event) }, ...[this.summary, this.chips]);
  node = el("span", { class: "viz-head-choice" }, control("Head", this.select), this.more);

  constructor(/** @type {Selection} */ selection) {
    this.selection = selection;
    document.addEventListener("pointerdown", ({ target }) => {
      if (!(target instanceof Node && this.more.contains(target))) this.more.open = false;
    });
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
    if (this.chips.childElementCount !== nHeads)
      this.chips.replaceChildren(...Array.from({ length: nHeads }, (_, at) => this.#chip(at)));
    for (const [at, chip] of [...this.chips.children].entries()) chip.ariaPressed = String(heads.includes(at));
  }

  #chip(/** @type {number} */ head) {
    const more = { class: "viz-small viz-head-chip", "data-several": head, "aria-label": `Head ${head}` };
    return button(String(head), () => this.selection.set({ head: toggled(this.selection.head, head) }), more);
  }

  #choose(/** @type {string} */ value) {
    this.selection.set({ head: /^\d+$/.test(value) ? Number(value) : value });
  }

  #key(/** @type {KeyboardEvent} */ event) {
    if (event.key !== "Escape" || !this.more.open) return;
    event.preventDefault();
    this.more.open = false;
    this.summary.focus();
  }
}

/** A set of heads with one more, or without it; a set never becomes empty: its last head stays.
 * @type {(head: Head, one: number) => Head} */
export function toggled(head, one) {
  const heads = headsOf(head);
  const left = heads.includes(one) ? heads.filter((other) => other !== one) : [...heads, one];
  return left.length ? headFrom(left) : head;
}
