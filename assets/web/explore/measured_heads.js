// All heads in the measure that is chosen: what each brings or changes, or its weight on the chosen pair.

import { el } from "../core/dom.js";
import { quoted } from "../core/token_names.js";
import { View } from "../core/view.js";
import { HeadGrid } from "../views/head_grid.js";
import { headName } from "../views/cells.js";
import { MEASURES } from "./measures.js";
import { briefly, unitSaid } from "./answers.js";
import { amountSaid } from "../views/routes_layout.js";

/** @import { HeadNumbers } from "../views/head_grid.js" */

const WRITTEN = 0.12; // of the largest: smaller shares are colored, not written
const LABEL = "A number of each head. Arrow keys move, Enter chooses.";

export class MeasuredHeads extends View {
  /** @type {Explained | null} */ #shown = null;
  #doing = "removing";
  /** @type {HeadLink[]} */ #weighed = []; // of the pair whose weights stand there
  title = el("h3");

  /** @param {PageSelection} selection @param {PairLinksView} pair @param {(sentence: string) => unknown} say
   * @param {(place: HeadPlace | null) => unknown} aim */
  constructor(selection, pair, say, aim) {
    super(selection);
    this.pair = pair;
    this.grid = shareGrid((place) => selection.set(place), say, aim);
    this.node = el("section", { class: "viz-shares", "aria-label": "All heads" }, this.title, this.grid.node);
    selection.on((changed) => {
      if (changed.has("layer") || changed.has("head")) this.grid.mark(selection.layer, selection.head);
    }, this.signal);
    pair.on(() => {
      if (selection.measure === "attention" && this.#weighed !== pair.links) this.draw();
    }, this.signal);
  }

  /** `doing`: what is done to each head for its effect. @type {(run: Run, shown: Explained, doing: string) => void} */
  show(run, shown, doing) {
    [this.run, this.#shown, this.#doing] = [run, shown, doing];
    this.draw();
  }

  draw() {
    const run = this.run;
    const shown = this.#shown;
    if (!run || !shown) return;
    const { measure, layer, head } = this.selection;
    const verb = MEASURES[measure].verb.replace("removed", this.#doing.replace("ing", "ed"));
    const heads = MEASURES[measure].heads.replace("removing", this.#doing);
    this.grid.show(measure === "attention" ? this.#weights(run) : sharesOf(shown, verb));
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
    this.#weighed = this.pair.links;
    const values = table(run, this.pair.of(this.selection));
    return {
      values,
      write: written((weight) => weight.toFixed(2).replace(/^0/, ""), values),
      said: headSaid((weight) => `gives ${to} ${weight.toFixed(4)} of the attention of ${from}`),
    };
  }
}

/** @type {(shown: Explained, verb: string) => HeadNumbers} */
const sharesOf = (shown, verb) => ({
  values: shown.heads,
  signed: true,
  write: written((share) => briefly(share, shown), shown.heads),
  said: headSaid((share) => `${verb} ${amountSaid(share, shown)}`),
});

/** All heads as small cells with their numbers.
 * @type {(choose: (place: HeadPlace) => unknown, say: (sentence: string) => unknown, aim?: (place: HeadPlace | null) => unknown) => HeadGrid} */
export function shareGrid(choose, say, aim) {
  const tell = (/** @type {HeadPlace | null} */ place) => place && grid.numbers && say(grid.said(place));
  const cells = {
    kind: "viz-share",
    sizes: /** @type {[number, number]} */ ([30, 22]),
    parts: /** @type {["span"]} */ (["span"]),
  };
  const grid = new HeadGrid(LABEL, { ...cells, numbered: true, choose, tell, aim });
  return grid;
}

/** Numbers that are not small beside the largest. @type {(write: (value: number) => string, values: Maybe[][]) => (value: Maybe) => string} */
export function written(write, values) {
  const least = WRITTEN * (Math.max(0, ...values.flat().map((value) => Math.abs(value ?? 0))) || 1);
  return (value) => (value === null || Math.abs(value) < least ? "" : write(value));
}

/** `words` follow "Head 5.11 ". @type {(words: (value: number, place: HeadPlace) => string) => HeadNumbers["said"]} */
export const headSaid = (words) => (place, value) =>
  `Head ${headName(place)} ${value === null ? "has no number here" : words(value, place)}`.replaceAll("-", "−");

/** Weights of one pair, by layer and head; null where a mask forbids it.
 * @type {(run: Run, links: HeadLink[]) => Maybe[][]} */
export function table({ nLayers, nHeads }, links) {
  const found = Array.from({ length: nLayers }, () => /** @type {Maybe[]} */ (Array(nHeads).fill(null)));
  for (const { layer, head, weight } of links) found[layer][head] = Number.isNaN(weight) ? null : weight;
  return found;
}
