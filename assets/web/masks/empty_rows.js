// Results of each attention implementation for a query without any key, tried on the server.

import { caption, el, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { table } from "../views/headed.js";
import { emptyRows } from "./requests.js";

export class EmptyRows {
  /** @type {Run | null} */
  run = null;
  known = false;
  body = el("div", {}, caption("Trying …"));
  node = el(
    "details",
    { class: "viz-mask-box viz-mask-empty", ontoggle: () => this.#ask() },
    el("summary", {}, "Fully masked rows in PyTorch"),
    this.body,
  );
  #asked = new Latest((sentence) => this.body.replaceChildren(caption(sentence)));

  enter(/** @type {Run} */ run) {
    this.run = run;
    this.#ask();
  }

  async #ask() {
    const { run } = this;
    if (!run || !this.node.open || this.known) return;
    const ways = await this.#asked.run((fresh) => fresh(emptyRows(run)));
    if (!ways) return;
    const rows = ways.map(({ way, words }) => tableRow(way, words));
    this.known = true;
    this.body.replaceChildren(
      caption("A tiny example with one fully masked row, run just now on each path:"),
      el("div", { class: "viz-mask-scroll" }, table("viz-mask-table", ["Path", "Gives"], rows)),
    );
  }
}
