// Heads as points by two of their numbers: weight on the chosen pair, share, effect, or any statistic.

import { HeadPlane } from "../views/head_plane.js";
import { table } from "./measured_heads.js";
import { unitSaid } from "./answers.js";
import { View } from "../core/view.js";

/** @import { Explained as Explaining } from "./explained.js" */

const TITLE = "Heads by two of their numbers";

export class HeadsPlane extends View {
  /** @param {PageSelection} selection @param {PairLinksView} pair @param {HeadStatistics} statistics @param {Explaining} explained */
  constructor(selection, pair, statistics, explained) {
    super(selection);
    this.pair = pair;
    this.statistics = statistics;
    this.explained = explained;
    const usual = { x: "weight", y: "share" };
    this.plane = new HeadPlane((place) => selection.set(place), { title: TITLE, tab: "heads", usual });
    this.views = [this.plane];
    this.node = this.plane.node;
    for (const source of [pair, statistics, explained, selection]) source.on(() => this.draw(), this.signal);
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    this.draw();
  }

  draw() {
    const run = this.run;
    const { layer, head } = this.selection;
    const due = run && !run.unsplit && !this.explained.found; // else an axis falls back to what is there, and stays
    if (!run || due || !this.node.clientWidth) return super.draw();
    const known = this.#numbers(run).filter(([, , values]) => values.length === run.nLayers);
    this.plane.show(
      {
        words: Object.fromEntries(known.map(([name, title]) => [name, { title }])),
        arrays: Object.fromEntries(known.map(([name, , values]) => [name, values])),
      },
      { layer, head: typeof head === "number" ? head : -1 },
    );
  }

  /** @type {(run: Run) => [name: string, title: string, values: Maybe[][]][]} */
  #numbers(run) {
    const { found, effect } = this.explained;
    const { layers, own } = this.statistics;
    const ranked = Object.entries(own).map(
      ([name, { title, unit }]) =>
        /** @type {[string, string, Maybe[][]]} */ ([name, `${title} (${unit})`, layers.map((layer) => layer[name])]),
    );
    return [
      ["weight", "Attention weight of the chosen pair (0 to 1)", table(run, this.pair.of(this.selection))],
      ["share", ...inUnit("What it brings to the answer", found)],
      ["effect", ...inUnit("Effect of removing it", effect)],
      ...ranked,
    ];
  }
}

/** Parts of a score in the unit in which the page tells them. @type {(title: string, found: Explained | null) => [title: string, values: Maybe[][]]} */
const inUnit = (title, found) => [
  found ? `${title} (${unitSaid(found)})` : title,
  found?.heads.map((row) => row.map((each) => each && (found.large ? (100 * each) / found.score : each))) ?? [],
];
