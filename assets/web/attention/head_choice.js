// The choice of heads: one, the mean or the maximum of all, or the mean of any set of them.

import { el } from "../core/dom.js";
import { headFrom, headsOf } from "../core/selection.js";

export class HeadChoice {
  constructor(selection) {
    this.selection = selection;
    this.select = el("select", { id: "viz-head", onchange: () => this.#choose(this.select.value) });
    this.chips = el("div", { class: "viz-chips", role: "group", "aria-label": "Heads whose mean is shown" });
    this.more = el(
      "details",
      { class: "viz-several", onkeydown: (event) => this.#key(event) },
      el("summary", { title: "The mean of any set of heads; in the atlas, Ctrl or Shift + click" }, "Several …"),
      this.chips,
    );
    this.node = el(
      "span",
      { class: "viz-head-choice" },
      el("label", { class: "viz-control" }, "Head", this.select),
      this.more,
    );
    document.addEventListener("pointerdown", (event) => {
      if (!this.more.contains(event.target)) this.more.open = false;
    });
  }

  // Bring both in line with the selection.
  show(run) {
    const { head } = this.selection;
    const option = (value, text) => el("option", { value }, text);
    const several = headsOf(head).length > 1 ? [option(head, `mean of ${headsOf(head).join(", ")}`)] : [];
    const listed = `${run.nHeads}:${several.length && head}`;
    if (listed !== this.listed)
      this.select.replaceChildren(
        ...Array.from({ length: run.nHeads }, (_, at) => option(at, String(at))),
        option("mean", "mean of all"),
        option("max", "max of all"),
        ...several,
      );
    this.listed = listed;
    this.select.value = String(head);
    if (this.chips.childElementCount !== run.nHeads)
      this.chips.replaceChildren(...Array.from({ length: run.nHeads }, (_, at) => this.#chip(at)));
    const chosen = new Set(headsOf(head));
    [...this.chips.children].forEach((chip, at) => chip.setAttribute("aria-pressed", String(chosen.has(at))));
  }

  #chip(head) {
    return el(
      "button",
      {
        type: "button",
        class: "viz-small viz-head-chip",
        "data-several": head,
        "aria-label": `Head ${head}`,
        onclick: () => this.#toggle(head),
      },
      String(head),
    );
  }

  // A set never becomes empty: its last head stays.
  #toggle(head) {
    const chosen = headsOf(this.selection.head);
    const left = chosen.includes(head) ? chosen.filter((other) => other !== head) : [...chosen, head];
    if (left.length) this.selection.set({ head: headFrom(left) });
  }

  #choose(value) {
    this.selection.set({ head: /^\d+$/.test(value) ? Number(value) : value });
  }

  #key(event) {
    if (event.key !== "Escape" || !this.more.open) return;
    event.preventDefault();
    this.more.open = false;
    this.more.firstChild.focus();
  }
}
