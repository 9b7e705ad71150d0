// What each way of computing attention gives a query without any key, tried on the server when asked.

import { el } from "../core/dom.js";
import { json } from "./requests.js";

export class EmptyRows {
  constructor() {
    this.body = el("div", {}, el("p", { class: "viz-caption" }, "Trying …"));
    this.node = el(
      "details",
      { class: "viz-mask-box viz-mask-empty", ontoggle: () => this.node.open && this.#ask() },
      el("summary", {}, "A query without any key: what torch gives"),
      this.body,
    );
  }

  enter(run) {
    this.run = run;
    if (this.node.open) this.#ask();
  }

  async #ask() {
    const { run } = this;
    if (this.known) return;
    try {
      const ways = await json(run, "empty");
      this.known = true;
      this.body.replaceChildren(
        el("p", { class: "viz-caption" }, "A tiny example with one fully masked row, run just now on each path:"),
        el(
          "div",
          { class: "viz-mask-scroll" },
          el(
            "table",
            { class: "viz-mask-table" },
            el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Path"), el("th", { scope: "col" }, "Gives"))),
            el(
              "tbody",
              {},
              ...ways.map(({ way, words }) => el("tr", {}, el("th", { scope: "row" }, way), el("td", {}, words))),
            ),
          ),
        ),
      );
    } catch (fault) {
      this.body.replaceChildren(el("p", { class: "viz-caption" }, fault.message));
    }
  }
}
