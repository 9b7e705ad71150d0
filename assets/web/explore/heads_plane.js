// Heads as points by two of their numbers: weight on the chosen pair, share, effect, or any statistic.

import { HeadPlane } from "../views/head_plane.js";
import { table } from "./measured_heads.js";

/** @import { Explained } from "./explained.js" */
/** @import { HeadStatistics, PairLinksView, Selection } from "./types.d.ts" */

const TITLE = "Heads by two of their numbers";

export class HeadsPlane {
  /** @type {Run | null} */ #run = null;

  /** @param {Selection} selection @param {PairLinksView} pair @param {HeadStatistics} statistics @param {Explained} explained */
  constructor(selection, pair, statistics, explained) {
    this.selection = selection;
    this.pair = pair;
    this.statistics = statistics;
    this.explained = explained;
    const usual = { x: "weight", y: "share" };
    this.plane = new HeadPlane((place) => selection.set(place), { title: TITLE, tab: "heads", usual });
    this.node = this.plane.node;
    for (const source of [pair, statistics, explained, selection]) source.on(() => this.draw());
  }

  show(/** @type {Run} */ run) {
    this.#run = run;
    this.draw();
  }

  draw() {
    const run = this.#run;
    const { layer, head } = this.selection;
    const due = run && !run.unsplit && !this.explained.found; // else an axis falls back to what is there, and stays
    if (!run || due || !this.node.clientWidth) return;
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
      ([name, { title }]) =>
        /** @type {[string, string, Maybe[][]]} */ ([name, title, layers.map((layer) => layer[name])]),
    );
    return [
      ["weight", "Weight of the chosen pair", table(run, this.pair.of(this.selection))],
      ["share", "What it brings to the answer", found?.heads ?? []],
      ["effect", "Effect of removing it", effect?.heads ?? []],
      ...ranked,
    ];
  }
}
