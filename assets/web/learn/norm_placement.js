// Pre-norm and post-norm side by side, in two small untrained encoders, whose residual connections and norms go off.

import { caption, el, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { fixed, quoted } from "./printed.js";
import { placement } from "./requests.js";

/** @import { Placement } from "./requests.js" */
/** @import { Shown } from "./types.d.ts" */

const DECIMALS = [1, 3, 2]; // of the three columns
const FEW = 3; // the row of which it is said how alike all tokens are
const KINDS = /** @type {const} */ (["pre", "post"]);

export class NormPlacement {
  #asked = new Latest((sentence) => this.said.replaceChildren(sentence));
  title = el("h4");
  residual = el("input", { type: "checkbox", onchange: () => this.#ask() });
  norm = el("input", { type: "checkbox", onchange: () => this.#ask() });
  switches = el("div", { class: "viz-controls" });
  table = el("table", { class: "viz-learn-plain viz-learn-placement" });
  said = el("p", { class: "viz-learn-equation", role: "status" });
  note = caption();
  node = el("section", {}, this.title, this.switches, this.table, this.said, this.note);
  /** @type {Shown | null} */
  shown = null;
  asked = "";

  /** @param {Shown} shown */
  show(shown) {
    const { texts } = shown;
    const words = texts.placement;
    this.shown = shown;
    this.node.hidden = !document.getElementById("viz-tabs"); // a lesson in a file has no such encoders
    this.title.textContent = words.title;
    this.switches.replaceChildren(
      el("label", { class: "viz-control" }, this.residual, ` ${words.residualOff}`),
      el("label", { class: "viz-control" }, this.norm, ` ${words.normOff}`),
    );
    this.note.textContent = words.note;
    if (!this.node.hidden) this.#ask();
  }

  async #ask() {
    const { shown } = this;
    if (!shown) return;
    const on = { residual: !this.residual.checked, norm: !this.norm.checked };
    const asked = JSON.stringify([shown.run.key, shown.place.query, on, shown.texts.language]);
    if (asked === this.asked) return;
    this.asked = "";
    await this.#asked.run(async (fresh) => {
      this.#draw(await fresh(placement(shown.run, shown.place.query, on, fresh.signal)), on, shown);
      this.asked = asked;
    });
  }

  /** @type {(found: Placement, on: { residual: boolean, norm: boolean }, shown: Shown) => void} */
  #draw(found, on, { run, place, texts: { placement: words, block } }) {
    const columns = KINDS.flatMap((kind) => [found[kind].length, found[kind].left, found[kind].alike]);
    const names = [block.pre, words.post].map((name) => el("th", { scope: "colgroup", colspan: 3 }, name));
    const titles = [words.blocks, ...KINDS.flatMap(() => words.columns)];
    this.table.replaceChildren(
      el(
        "thead",
        {},
        el("tr", {}, el("td"), ...names),
        el("tr", {}, ...titles.map((each) => el("th", { scope: "col" }, each))),
      ),
      el(
        "tbody",
        {},
        ...found.depths.map((depth, at) =>
          tableRow(String(depth), ...columns.map((column, i) => fixed(column[at], DECIMALS[i % 3]))),
        ),
      ),
    );
    const token = quoted(run.tokens[place.query]);
    const [all, few] = [found.depths.length - 1, FEW].map((at) => found.depths[at]);
    const [pre, post] = [found.pre, found.post].map(({ length, left, alike }) => ({
      ...{ length: fixed(length[length.length - 1], 1), left: fixed(left[left.length - 1], 3) },
      alike: fixed(alike[FEW], 2),
    }));
    const said = () => {
      if (!on.norm && !on.residual) return words.neither(token, pre.length, all, few, pre.alike);
      if (!on.norm) return words.noNorm(all, token, pre.length);
      if (!on.residual) return words.noResidual(token, few, pre.alike, post.alike);
      return words.both(token, post.length, all, post.left, pre.length, pre.left);
    };
    this.said.textContent = said();
  }
}
