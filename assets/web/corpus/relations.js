// Relations of a treebank: for each the best head, beside what needs no head and what needs no training.

import { button, caption, el, rowWith } from "../core/dom.js";
import { headName } from "../views/cells.js";
import { section, table as tableOf } from "../views/headed.js";
import { ranked } from "./tables.js";

/** @typedef {{ name: string, arcs: number, at: HeadPlace, share: number, offset: number, byOffset: number,
 *   random: number }} Line a relation and its best head; `random` is the share of the best head with random weights */

const TITLES = ["Relation", "Arcs", "Head", "Right", "Offset", "Random"];
const MANY = 20; // relations that are listed
const TOWARD = {
  to_head: "from a word to the word it depends on",
  to_dependent: "from a word to one that depends on it",
};

/** The relations, first those whose best head is furthest above what needs no trained head.
 * @type {(relations: Relations) => Line[]} */
export function linesOf({ relations, n_arcs, accuracy, random, offsets, offset_accuracy }) {
  const lines = relations.map((name, at) => {
    const [best] = ranked(accuracy[at], 1);
    return {
      ...{ name, arcs: n_arcs[at], at: best, share: accuracy[at][best.layer][best.head] },
      ...{ offset: offsets[at], byOffset: offset_accuracy[at], random: Math.max(...random[at].flat()) },
    };
  });
  const above = (/** @type {Line} */ { share, byOffset, random }) => share - Math.max(byOffset, random);
  return lines.sort((one, two) => above(two) - above(one));
}

/** The first relation in a sentence. @type {(lines: Line[]) => string} */
export function relationSaid([{ name, at, share, offset, byOffset, random }]) {
  const beside = `offset ${signedWhole(offset)}: ${percent(byOffset)}, random weights: ${percent(random)}`;
  return `Head ${headName(at)} attends most to the right word in ${percent(share)} of “${name}” arcs (${beside}).`;
}

const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(0)}%`;
const signedWhole = (/** @type {number} */ value) => `${value < 0 ? "−" : "+"}${Math.abs(value)}`;

export class RelationList {
  said = el("p", { class: "viz-corpus-said" });
  about = caption();
  list = el("div", { class: "viz-corpus-scroll", tabindex: 0, role: "region", "aria-label": "Relations" });
  node = section(
    ...["viz-corpus-relations", "Relations of the treebank", "Relations of the treebank"],
    ...[this.said, this.list, this.about],
  );

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    this.choose = choose;
  }

  show(/** @type {HeadTable} */ { relations, about }) {
    this.node.hidden = !relations && !about.no_relations;
    this.list.hidden = !relations;
    this.said.textContent = about.no_relations;
    this.about.textContent = "";
    if (!relations) return;
    const lines = linesOf(relations);
    this.said.textContent = relationSaid(lines);
    this.list.replaceChildren(tableOf("viz-corpus-changes", TITLES, lines.slice(0, MANY).map(this.#line)));
    const [sentences, out] = [relations.n_sentences, relations.n_left_out].map((n) => n.toLocaleString("en-US"));
    const left = relations.n_left_out ? `, without ${out} arcs that were cut off` : "";
    this.about.textContent =
      `Right: how often the head attends to the right word more than to any other, ${TOWARD[relations.direction]}, ` +
      `over ${sentences} sentences${left}. Offset: how often the word at that distance is the right one. Random: the ` +
      "best head of the same model with random weights. Relations whose head is farthest above both come first; a " +
      "head that is not clearly above both says nothing about syntax (Htut et al., 2019).";
  }

  #line = (/** @type {Line} */ { name, arcs, at, share, offset, byOffset, random }) =>
    rowWith(
      { "data-relation": name },
      el("bdi", {}, name),
      arcs.toLocaleString("en-US"),
      button(headName(at), () => this.choose(at), { "aria-label": `Head ${headName(at)}, best at ${name}` }),
      ...[percent(share), `${percent(byOffset)} (${signedWhole(offset)})`, percent(random)],
    );
}
