// Context: how far the followed token's vector turns, block by block, if the chosen one is hidden from all.

import { el, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { fixed, quoted } from "./printed.js";
import { turnedStates } from "./requests.js";

/** @import { Shown } from "./types.d.ts" */

export class TurnedStates {
  #asked = new Latest(() => {
    this.node.hidden = true;
  });
  title = el("h4");
  table = el("table", { class: "viz-learn-plain viz-learn-beside" });
  said = el("p", { class: "viz-learn-equation", role: "status" });
  node = el(
    "section",
    { hidden: true },
    this.title,
    el("div", { class: "viz-learn-scroll", tabindex: 0 }, this.table),
    this.said,
  );

  /** @param {Shown} shown */
  show({ run, place, texts }) {
    const words = texts.turned;
    this.#asked.run(async (fresh) => {
      const found = place.query === place.key ? null : await fresh(turnedStates(run, place, fresh.signal));
      this.node.hidden = !found || !("turned" in found);
      if (!found || !("turned" in found)) return;
      const [query, key] = [place.query, place.key].map((at) => quoted(run.tokens[at]));
      this.title.textContent = words.title(key, query);
      this.table.replaceChildren(
        el("tbody", {}, tableRow(texts.depth.blocks, ...found.turned.map((_, at) => String(at)))),
        el("tfoot", {}, tableRow(words.turns, ...found.turned.map((by) => fixed(by, 3)))),
      );
      const last = found.turned.length - 1;
      this.said.textContent = words.said(key, query, last, fixed(found.turned[last], 3));
    });
  }

  leave() {
    this.#asked.stop();
  }
}
