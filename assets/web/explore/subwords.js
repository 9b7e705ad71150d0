// The exact numbers of the sub-words that a merged cell stands for, one hover away.

import { el, number } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { WHOLE } from "./tiles.js";

/** @import { AttentionMap, Range } from "./types.d.ts" */

const PAUSE = 40; // milliseconds a cell is pointed at, before the server is asked
const LISTED = 24;

export class SubWords {
  #latest = new Latest((sentence) => this.node.replaceChildren(sentence));
  node = el("p", { class: "viz-caption viz-subwords", hidden: true });

  constructor(/** @type {AttentionMap} */ map) {
    this.map = map;
  }

  clear() {
    this.#latest.stop();
    this.node.textContent = "";
    this.node.hidden = !this.map.selection.words;
  }

  // Say what a cell is made of; the last call wins, and one at rest asks the server.
  tell(/** @type {number} */ row, /** @type {number} */ col) {
    const { run, shown, selection } = this.map;
    this.node.hidden = !selection.words;
    if (this.node.hidden || !run) return;
    const [query, key] = [shown[row], shown[col]];
    if (query.tokens.length * key.tokens.length === 1) {
      this.#latest.stop();
      this.node.textContent = "This cell is one query token and one key token: nothing is merged.";
      return;
    }
    const ask = () => sentence(run, { ...selection, words: false }, query, key);
    this.#latest.run(async (fresh) => this.node.replaceChildren(await fresh(ask())), { pause: PAUSE });
  }
}

/** @type {(run: Run, single: MapView, query: Unit, key: Unit) => Promise<string>} */
export async function sentence(run, single, query, key) {
  const { places, length } = run.shown(single);
  const range = (/** @type {Unit} */ { tokens }) =>
    /** @type {Range} */ (length > WHOLE ? [places[tokens[0]], places[tokens[tokens.length - 1]] + 1] : [0, length]);
  const [rows, keys] = [range(query), range(key)];
  const { values, shape } = await run.map(single, rows, keys);
  const cells = query.tokens.flatMap((from) =>
    key.tokens.map((to) => {
      const weight = values[(places[from] - rows[0]) * shape[1] + places[to] - keys[0]];
      return `${run.named(from)} → ${run.named(to)} ${number(weight)}`;
    }),
  );
  const more = cells.length > LISTED ? ` … and ${cells.length - LISTED} more; unmerge sub-words to see them` : "";
  const listed = cells.slice(0, LISTED).join(", ");
  return `Mean over ${many(query, "query", "queries")} of the sum over ${many(key, "key", "keys")}: ${listed}${more}.`;
}

/** @type {(unit: Unit, one: string, several: string) => string} */
const many = ({ tokens: { length } }, one, several) => `${length} ${length === 1 ? one : several}`;
