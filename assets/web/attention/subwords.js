// The exact numbers of the sub-words that a merged cell stands for, one hover away.

import { el, number } from "../core/dom.js";

const WHOLE = 512; // up to so many tokens the map of all sub-words comes in one piece
const LISTED = 24;

export class SubWords {
  constructor(map) {
    this.map = map;
    this.node = el("p", { class: "viz-caption viz-subwords", hidden: true });
  }

  clear() {
    this.asked = null;
    this.node.textContent = "";
    this.node.hidden = !this.map.selection.words;
  }

  // Say what a cell is made of; the last call wins, and one at rest asks the server.
  tell(row, col) {
    const { map } = this;
    this.node.hidden = !map.selection.words;
    if (this.node.hidden) return;
    const [query, key] = [map.shown[row], map.shown[col]];
    const asked = [map.run.key, map.selection.name, map.selection.kept, row, col].join(":");
    this.asked = asked;
    if (query.tokens.length * key.tokens.length === 1) {
      this.node.textContent = "One token each: nothing is merged in this cell.";
      return;
    }
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      try {
        const said = await this.#sentence(query, key);
        if (this.asked === asked) this.node.textContent = said;
      } catch (fault) {
        if (this.asked === asked) this.node.textContent = fault.message;
      }
    }, 40);
  }

  async #sentence(query, key) {
    const { run, selection } = this.map;
    const { layer, head, hide, renorm } = selection;
    const single = { layer, head, hide, renorm, words: false };
    const { places, length } = run.shown(single);
    const range = ({ tokens }) => [places[tokens[0]], places[tokens.at(-1)] + 1];
    const parts =
      length > WHOLE
        ? [range(query), range(key)]
        : [
            [0, length],
            [0, length],
          ];
    const { values, shape } = await run.map(single, ...parts);
    const cells = query.tokens.flatMap((from) =>
      key.tokens.map((to) => {
        const weight = values[(places[from] - parts[0][0]) * shape[1] + places[to] - parts[1][0]];
        return `${from} “${run.tokens[from]}” → ${to} “${run.tokens[to]}” ${number(weight)}`;
      }),
    );
    const more = cells.length > LISTED ? ` … and ${cells.length - LISTED} more; unmerge sub-words to see them` : "";
    return `Mean over ${many(query, "query", "queries")} of the sum over ${many(key, "key", "keys")}: ${cells.slice(0, LISTED).join(", ")}${more}.`;
  }
}

const many = ({ tokens: { length } }, one, several) => `${length} ${length === 1 ? one : several}`;
