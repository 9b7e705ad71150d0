// The answers before and after a change, as bars; without a prediction head, how far the vectors moved.

import { caption, el, number } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { said } from "./requests.js";
import { share } from "./wording.js";

/** @import { Said } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */

const MOST = 5; // answers

export class Answers {
  #latest = new Latest((sentence) => {
    this.clear();
    this.sentence.textContent = sentence;
  });
  #of = "";
  sentence = el("p", { class: "viz-whatif-said", role: "status" });
  bars = el("div", { class: "viz-whatif-bars" });
  node = el("div", { class: "viz-whatif-answers" }, this.sentence, this.bars);

  // Clear until something is chosen.
  clear() {
    this.#latest.stop();
    this.#of = this.sentence.textContent = "";
    this.bars.replaceChildren();
    this.node.classList.remove("viz-busy");
    delete this.node.dataset.painted;
  }

  /** `words` say what was changed. @type {(run: Run, codes: string[], words: string) => unknown} */
  show(run, codes, words) {
    const of = `${run.key}:${codes.join(",")}`;
    if (of === this.#of) return;
    this.#of = of;
    delete this.node.dataset.painted;
    this.node.classList.add("viz-busy");
    return this.#latest.run(
      async (fresh) => {
        const found = await fresh(said(run, codes, fresh.signal));
        this.node.classList.remove("viz-busy");
        this.sentence.textContent = found.sentence;
        this.bars.replaceChildren(...(found.labels.length ? barsOf(found, words) : vectorsOf(found)));
        this.node.dataset.painted = codes.join(",");
      },
      { pause: 60 },
    );
  }
}

/** @type {(found: Said, words: string) => HTMLElement[]} */
const barsOf = ({ labels, before, after }, words) => [
  group("Before", labels, before, "before"),
  group(words, labels, after, "after"),
];

/** @type {(title: string, labels: string[], shares: number[], when: string) => HTMLElement} */
function group(title, labels, shares, when) {
  const likeliest = shares.indexOf(Math.max(...shares));
  const lines = labels.slice(0, MOST).map((label, at) => {
    const kind = at === 0 ? "viz-whatif-first" : at === likeliest ? "viz-whatif-other" : "";
    const bar = el("i", { class: kind, style: `width: ${(100 * shares[at]).toFixed(2)}%` });
    return el(
      "li",
      {},
      el("bdi", {}, label),
      el("span", {}, bar),
      el("em", { "data-share": shares[at] }, share(shares[at])),
    );
  });
  return el("figure", { "data-when": when }, el("figcaption", {}, title), el("ul", {}, ...lines));
}

/** @type {(found: Said) => HTMLElement[]} */
function vectorsOf({ measure, value, changed, cosine, moved }) {
  const line = (/** @type {string} */ name, /** @type {string} */ text) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, text));
  const rows = [
    ...(value === null && changed === null ? [] : [line(measure, `${number(value)} → ${number(changed)}`)]),
    ...(cosine === null ? [] : [line("cosine of the pooled vectors, with and without", number(cosine))]),
    ...(moved === null ? [] : [line("mean over tokens of ‖h − h′‖ / ‖h′‖ at the output", number(moved))]),
  ];
  return [
    el("table", {}, el("tbody", {}, ...rows)),
    caption("Nothing is predicted here: the model has no prediction head, or the text has no [MASK]."),
  ];
}
