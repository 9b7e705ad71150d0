// The scatter plot's x axis: every head's weight on one link, or any statistic of its map.

import { control, el, options } from "../core/dom.js";

/** @import { Maybe, PairLinks } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @typedef {{ query: number, key: number }} Link */
/** @typedef {{ title: string, along: Maybe[][] }} Axis layer, head */

const [FOUND, CHOSEN] = ["found", "chosen"];

export class AttentionAxis {
  /** @type {Run | null} */
  run = null;
  /** @type {Record<string, Link>} of the finding, and as it is chosen on all tabs */
  links = {};
  select = el("select", { id: "viz-whatif-axis" });
  node = el("p", { class: "viz-whatif-axis" }, control("→ Across:", this.select));

  constructor(/** @type {() => unknown} */ changed) {
    this.select.addEventListener("change", changed);
  }

  /** Offer the finding's link (if it has one), the selected link, and the statistics.
   * @type {(run: Run, found: Link | null, chosen: Link) => void} */
  offer(run, found, chosen) {
    const before = this.run === run ? this.select.value : "";
    const same = found && found.query === chosen.query && found.key === chosen.key;
    this.run = run;
    this.links = { ...(found && { [FOUND]: found }), ...(same ? {} : { [CHOSEN]: chosen }) };
    const links = Object.entries(this.links).map(([name, link]) => /** @type {const} */ ([name, linkTitle(run, link)]));
    const statistics = Object.entries(run.vocabulary.statistics).map(
      ([name, { title, unit }]) => /** @type {const} */ ([name, unit ? `${title} (${unit})` : title]),
    );
    const names = [...links, ...statistics].map(([name]) => name);
    this.select.replaceChildren(...options([...links, ...statistics]));
    this.select.value = names.includes(before) ? before : names[0];
  }

  // The link whose weight is across; null where a statistic is.
  get link() {
    return this.links[this.select.value] ?? null;
  }

  /** The numbers of what is selected. @type {(signal: AbortSignal) => Promise<Axis>} */
  async read(signal) {
    const { run, select } = this;
    if (!run) throw new Error("There is no run.");
    const title = select.selectedOptions[0].text;
    const { link } = this;
    if (!link) {
      const layers = Array.from({ length: run.nLayers }, (_, layer) => run.statistics(layer));
      return { title, along: (await Promise.all(layers)).map((known) => known[select.value]) };
    }
    const found = /** @type {PairLinks} */ (await run.json(`pair?query=${link.query}&key=${link.key}`, signal));
    return { title, along: found.weights };
  }
}

/** @type {(run: Run, link: Link) => string} */
const linkTitle = ({ tokens }, { query, key }) => `attention weight ${tokens[query]} → ${tokens[key]}`;
