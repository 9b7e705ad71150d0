// Pre-norm and post-norm side by side, in two small untrained encoders, whose residual connections and norms go off.

import { el, fillTable, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { heads } from "../views/headed.js";
import { asksFor } from "./cover.js";
import { fixed, quoted } from "./printed.js";
import { StepView } from "./step_view.js";
import { byDepth, DEPTHS } from "./untrained.js";

/** @import { Told } from "./untrained.js" */
/** @typedef {{ residual: boolean, norm: boolean }} On */

const ASKED = "norm-length"; // the exercise
const [ROOT, SCALE] = ["√64", 8]; // how long a normed state is, as the sentence says it
const FEW = 3; // the row of which it is said how alike all tokens are

export class NormPlacement extends StepView {
  #asked = new Latest();
  title = el("h4");
  residual = el("input", { type: "checkbox", onchange: () => this.#show() });
  norm = el("input", { type: "checkbox", onchange: () => this.#show() });
  switches = el("div", { class: "viz-controls" });
  table = el("table", { class: "viz-learn-plain viz-learn-placement" });
  node = el("section", {}, this.title, this.switches, this.table, this.said, this.note);
  told = "";

  draw() {
    const words = this.shown.texts.placement;
    this.title.textContent = words.title;
    this.switches.replaceChildren(
      el("label", { class: "viz-control" }, this.residual, ` ${words.residualOff}`),
      el("label", { class: "viz-control" }, this.norm, ` ${words.normOff}`),
    );
    this.note.textContent = words.note;
    this.#show();
  }

  // A picture takes half a second, before which the rest of the step is drawn.
  #show() {
    const { run, place, texts } = this.shown;
    const on = { residual: !this.residual.checked, norm: !this.norm.checked };
    const asked = JSON.stringify([run.key, place.query, on, texts.language]);
    if (asked === this.told) return this.#asked.stop();
    const work = () => {
      const pre = byDepth(run.tokens, place.query, { ...on, post: false });
      this.#draw(pre, on.norm ? byDepth(run.tokens, place.query, { ...on, post: true }) : pre, on);
      this.told = asked;
    };
    this.#asked.run(work, { pause: 20 });
  }

  /** @type {(pre: Told[], post: Told[], on: On) => void} */
  #draw(pre, post, on) {
    const { run, place, texts } = this.shown;
    const { placement: words, block } = texts;
    const names = [block.pre, words.post].map((name) => el("th", { scope: "colgroup", colspan: 3 }, name));
    const titles = [words.blocks, ...words.columns, ...words.columns];
    const cells = ({ length, left, alike } = pre[0]) => [fixed(length, 1), fixed(left, 3), fixed(alike, 2)];
    const hidden = (/** @type {string} */ text) => el("span", asksFor(ASKED, { value: SCALE }), text);
    const scaled = (/** @type {Told} */ told, /** @type {number} */ depth) => {
      const [length, ...others] = cells(told);
      return [on.norm && depth ? hidden(length) : length, ...others];
    };
    const head = heads(...titles);
    head.prepend(el("tr", {}, el("td"), ...names));
    const row = (/** @type {number} */ depth, /** @type {number} */ at) =>
      tableRow(String(depth), ...cells(pre[at]), ...scaled(post[at], depth));
    fillTable(this.table, head, DEPTHS.map(row));
    const token = quoted(run.tokens[place.query]);
    const [all, few] = [DEPTHS.length - 1, FEW].map((at) => DEPTHS[at]);
    const [length, left] = cells(pre[DEPTHS.length - 1]);
    const [normed, lost] = cells(post[DEPTHS.length - 1]);
    const [alike, others] = [pre, post].map((told) => cells(told[FEW])[2]);
    const said = () => {
      if (!on.norm && !on.residual) return words.neither(token, length, all, few, alike);
      if (!on.norm) return words.noNorm(all, token, length);
      if (!on.residual) return words.noResidual(token, few, alike, others);
      return words.both(token, normed, all, lost, length, left);
    };
    const [before, ...after] = said().split(ROOT);
    this.said.replaceChildren(
      before,
      ...after.flatMap((text) => [hidden(`${ROOT} = ${normed}`), text.slice(` = ${normed}`.length)]),
    );
  }
}
