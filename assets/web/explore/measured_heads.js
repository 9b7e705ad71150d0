// All heads in the measure that is chosen: what each brings or changes, or its weight on the chosen pair.

import { el } from "../core/dom.js";
import { quoted } from "../core/token_names.js";
import { HeadShares } from "./head_shares.js";
import { MEASURES } from "./measures.js";
import { amountSaid, briefly, unitSaid } from "./routes_layout.js";

/** @import { HeadLink, PairLinksView, Selection } from "./types.d.ts" */
/** @import { HeadNumbers } from "./head_shares.js" */

export class MeasuredHeads {
  /** @type {Run | null} */ #run = null;
  /** @type {Explained | null} */ #shown = null;
  #doing = "removing";
  title = el("h3");

  /** @param {Selection} selection @param {PairLinksView} pair @param {(sentence: string) => unknown} say
   * @param {(place: HeadPlace) => unknown} press */
  constructor(selection, pair, say, press) {
    this.selection = selection;
    this.pair = pair;
    this.grid = new HeadShares((place) => selection.set(place), say, press);
    this.section = el("section", { class: "viz-shares", "aria-label": "All heads" }, this.title, this.grid.node);
    selection.on((changed) => {
      if (changed.has("layer") || changed.has("head")) this.grid.mark(selection.layer, selection.head);
    });
    pair.on(() => selection.measure === "attention" && this.draw());
  }

  /** `doing`: what is done to each head for its effect. @type {(run: Run, shown: Explained, doing: string) => void} */
  show(run, shown, doing) {
    [this.#run, this.#shown, this.#doing] = [run, shown, doing];
    this.draw();
  }

  draw() {
    const run = this.#run;
    const shown = this.#shown;
    if (!run || !shown) return;
    const { measure, layer, head } = this.selection;
    const verb = MEASURES[measure].verb.replace("removed", this.#doing.replace("ing", "ed"));
    const heads = MEASURES[measure].heads.replace("removing", this.#doing);
    this.grid.show(run, measure === "attention" ? this.#weights(run) : sharesOf(shown, verb));
    this.title.textContent = `All heads: ${measure === "attention" ? this.#pair(run) : `${heads}, in ${unitSaid(shown)}`}`;
    this.grid.mark(layer, head);
  }

  #pair(/** @type {Run} */ run) {
    const [from, to] = this.#names(run);
    return `weight of ${from} → ${to}`;
  }

  #names(/** @type {Run} */ { tokens }) {
    const { query, key } = this.selection;
    return [query, key].map((at) => quoted(tokens[at]));
  }

  /** @type {(run: Run) => HeadNumbers} */
  #weights(run) {
    const [from, to] = this.#names(run);
    return {
      values: table(run, this.pair.of(this.selection)),
      signed: false,
      write: (weight) => weight.toFixed(2).replace(/^0/, ""),
      said: (weight) => `gives ${to} ${weight.toFixed(4)} of the attention of ${from}`,
    };
  }
}

/** @type {(shown: Explained, verb: string) => HeadNumbers} */
const sharesOf = (shown, verb) => ({
  values: shown.heads,
  signed: true,
  write: (share) => briefly(share, shown),
  said: (share) => `${verb} ${amountSaid(share, shown)}`,
});

/** Weights of one pair, by layer and head; null where a mask forbids it.
 * @type {(run: Run, links: HeadLink[]) => Maybe[][]} */
export function table({ nLayers, nHeads }, links) {
  const found = Array.from({ length: nLayers }, () => /** @type {Maybe[]} */ (Array(nHeads).fill(null)));
  for (const { layer, head, weight } of links) found[layer][head] = Number.isNaN(weight) ? null : weight;
  return found;
}
