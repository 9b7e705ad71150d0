// Looking is not doing: what becomes of the answer without the head that is followed, and without the one that does most.

import { el, fillTable, tableHead, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { streamed } from "../core/streamed.js";
import { isolated } from "../core/token_names.js";
import { asksFor } from "./cover.js";
import { choosing, fixed, quoted } from "./printed.js";
import { tokenNumbers } from "./requests.js";
import { StepView } from "./step_view.js";

/** @import { Shown } from "./types.d.ts" */
/** @typedef {{ layer: number, head: number, weight: number, answer: string, share: number, value: number }} Removed */

const MOST = 20_000; // heads times tokens up to which they are measured unasked
const [ASKED, WEIGHT] = ["head-that-acts", "weight-of-key"]; // the exercises

/** The head without which least is left of the answer, or by which a vector turns most.
 * @type {(found: HeadEffects) => HeadPlace} */
export function mostEffective({ untouched, answers, shares, values }) {
  const heads = values.flatMap((row, layer) => row.map((value, head) => ({ layer, head, size: Math.abs(value ?? 0) })));
  const left = ({ layer, head } = heads[0]) =>
    untouched.answer && answers[layer][head] === untouched.answer ? (shares[layer][head] ?? 1) : 0;
  return heads.sort((a, b) => left(a) - left(b) || b.size - a.size)[0];
}

export class RemovedHeads extends StepView {
  #asked = new Latest((sentence) => this.said.replaceChildren(sentence));
  title = el("h4");
  table = el("table", { class: "viz-learn-plain" });
  node = el("div", { class: "viz-learn-removed" }, this.title, this.table, this.said);
  /** @type {{ key: string, effects: HeadEffects } | null} */
  found = null;

  async draw() {
    const { shown } = this;
    const { run, place, texts } = shown;
    const few = run.n * run.nLayers * run.nHeads <= MOST && run.nHeads > 1;
    this.node.hidden = !few || !run.hasModel || Boolean(run.changed) || Boolean(run.masked);
    if (this.node.hidden) return this.#asked.stop();
    this.title.textContent = texts.removed.title;
    await this.#asked.run(async (fresh) => {
      if (this.found?.key !== run.key) {
        this.table.replaceChildren();
        this.said.textContent = texts.waiting;
        const effects = await fresh(effectsOf(run, fresh.signal));
        this.found = effects && { key: run.key, effects };
      }
      const { found } = this;
      this.node.hidden = !found;
      if (!found) return;
      const most = mostEffective(found.effects);
      const other = isHead(most, place) ? null : await fresh(tokenNumbers(run, { ...place, ...most }, fresh.signal));
      const own = shown.numbers.attention?.weights[place.key] ?? 0;
      this.#draw(shown, found.effects, own, other?.attention?.weights[place.key] ?? own);
    });
  }

  /** @type {(shown: Shown, effects: HeadEffects, weight: number, others: number) => void} */
  #draw({ run, place, texts }, effects, weight, others) {
    const words = texts.removed;
    const of = (/** @type {HeadPlace} */ { layer, head }, /** @type {number} */ looks) => ({
      ...{ layer, head, weight: looks, value: effects.values[layer][head] ?? 0 },
      ...{ answer: effects.answers[layer][head], share: effects.shares[layer][head] ?? 0 },
    });
    const [own, most] = [of(place, weight), of(mostEffective(effects), others)];
    const { answer } = effects.untouched;
    const key = quoted(run.tokens[place.key]);
    const titles = [words.weight(key), answer ? words.answer : words.turned];
    const cells = (/** @type {Removed} */ each) =>
      answer ? `${isolated(each.answer)} ${fixed(each.share, 3)}` : fixed(Math.abs(each.value), 4);
    const row = (/** @type {Removed} */ each, /** @type {boolean} */ hidden) =>
      tableRow(
        hidden ? this.#name(each) : `${each.layer}.${each.head}`, // the head that is followed
        el("span", asksFor(hidden ? ASKED : WEIGHT), fixed(each.weight, 3)),
        el("span", asksFor(ASKED), cells(each)),
      );
    const same = isHead(own, most);
    const rows = [row(own, false), ...(same ? [] : [row(most, true)])];
    fillTable(this.table, tableHead(words.head, ...titles), rows);
    this.said.replaceChildren(el("span", asksFor(ASKED), said(own, most, answer, key, words)));
  }

  #name(/** @type {Removed} */ { layer, head }) {
    const name = choosing(`${layer}.${head}`, () => this.acts.choose({ layer, head }));
    return el("span", asksFor(ASKED), name);
  }
}

/** @type {(run: Run, signal: AbortSignal) => Promise<HeadEffects | null>} */
async function effectsOf(run, signal) {
  /** @type {WhatIfOffered} */
  const offer = await run.json("whatif/offered");
  if (offer.missing) return null;
  return streamed(run.url("whatif/heads"), () => {}, { signal });
}

const isHead = (/** @type {HeadPlace} */ one, /** @type {HeadPlace} */ other) =>
  one.layer === other.layer && one.head === other.head;

/** @type {(own: Removed, most: Removed, answer: string, key: string, words: Shown["texts"]["removed"]) => string} */
function said(own, most, answer, key, words) {
  const [name, other] = [own, most].map(({ layer, head }) => `${layer}.${head}`);
  const weight = fixed(own.weight, 3);
  const by = fixed(Math.abs(own.value), 4);
  if (!answer && name === other) return words.turnsMost(name, key, weight, by);
  if (!answer) return words.turns(name, key, weight, by, other, fixed(Math.abs(most.value), 4));
  const of = (/** @type {Removed} */ each) => `${quoted(each.answer)} (${fixed(each.share, 3)})`;
  if (name === other) return own.answer === answer ? words.none(name) : words.both(name, key, of(own));
  return words.looks(name, key, weight, of(own), other, of(most), most.answer !== answer);
}
