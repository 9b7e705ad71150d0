// Step 9: each token hidden from every token, beside the attention it got; then what carried the answer.

import { button, caption, el, fillTable, rowWith, tableHead, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { streamed } from "../core/streamed.js";
import { isolated } from "../core/token_names.js";
import { oneStop } from "../views/one_stop.js";
import { CarriedShares } from "./carried_shares.js";
import { asksFor } from "./cover.js";
import { choosing, fixed, listed, quoted, scrolled, shareText, signedText } from "./printed.js";
import { spoken } from "./sentences.js";

/** @import { Acts, Shown, StepView } from "./types.d.ts" */

const [SHORT, NAMED] = [64, 4]; // tokens: measured at once up to so many; in the sentence
const LITTLE = 0.005; // of a probability; less is told with two decimals more, here and in lesson/pictured.py

const ASKED = "deciding-word flips"; // the exercises

/** @implements {StepView} */
export class KnockoutStep {
  #asked = new Latest((sentence) => this.shown && this.said.replaceChildren(spoken(this.shown.texts, sentence)));
  start = button("", () => this.#measure());
  progress = el("progress", { max: 1, value: 0, hidden: true });
  said = el("p", { class: "viz-caption", role: "status" });
  table = el("table", { class: "viz-learn-plain viz-learn-effects" });
  note = caption();
  /** @type {Shown | null} */
  shown = null;
  /** @type {{ key: string, effects: TokenEffects, order: number[] } | null} */
  found = null;

  constructor(/** @type {Acts} */ acts) {
    this.choose = acts.choose;
    oneStop(this.table);
    this.changed = acts.layoutChanged;
    this.asks = acts.asks;
    this.carried = new CarriedShares(acts);
    this.node = el(
      "div",
      { class: "viz-learn-knockout" },
      el(
        "section",
        {},
        el("div", { class: "viz-controls" }, this.start, this.progress),
        ...[scrolled(this.table), this.said, this.note],
      ),
      this.carried.node,
    );
  }

  /** Whether what the table says is asked. */
  get #covered() {
    return ASKED.split(" ").some((id) => this.asks(id));
  }

  // The order of the table gives the answer away, too.
  asked() {
    if (this.shown) this.#draw();
    this.changed();
  }

  /** @param {Shown} shown */
  headline({ run, texts }) {
    if (this.found?.key !== run.key || this.#covered)
      return [run.grid && !run.tasks.length ? texts.knockout.patches : texts.knockout.same];
    const { effects, order } = this.found;
    const flips = order.filter((at) => effects.answers[at] !== effects.untouched.answer).slice(0, NAMED);
    const vector = !effects.untouched.answer; // the model has no answer
    if (vector) return texts.knockout.turns(quoted(run.tokens[order[0]]));
    if (!flips.length) return texts.knockout.headline(quoted(run.tokens[order[0]]));
    return texts.knockout.flips(flips.map((at) => quoted(run.tokens[at])).join(texts.knockout.or));
  }

  /** @param {Shown} shown */
  show(shown) {
    const { run, texts } = shown;
    const other = this.shown?.run.key !== run.key;
    this.shown = shown;
    this.carried.show(shown);
    this.start.textContent = run.grid ? texts.knockout.startPatches : texts.knockout.start;
    this.note.textContent = texts.knockout.note;
    if (other) this.#asked.stop();
    this.start.hidden = this.found?.key === run.key;
    if (this.found?.key === run.key) this.#draw();
    else if (other) this.table.replaceChildren();
    if (other && this.found?.key !== run.key && run.n <= SHORT) this.#measure();
  }

  async #measure() {
    const { shown } = this;
    if (!shown) return;
    const { run, texts } = shown;
    this.progress.hidden = false;
    this.said.textContent = texts.waiting;
    const found = await this.#asked.run(async (fresh) => {
      /** @type {WhatIfOffered} */
      const offer = await fresh(run.json("whatif/offered"));
      if (offer.missing) throw new Error(offer.missing);
      const tell = (/** @type {number} */ done) => {
        this.progress.value = done;
      };
      const asked = new URLSearchParams({ how: "attention" });
      /** @type {TokenEffects} */
      const effects = await fresh(streamed(run.url(`whatif/tokens?${asked}`), tell, { signal: fresh.signal }));
      return effects;
    });
    this.progress.hidden = true;
    if (!found) return;
    this.found = { key: run.key, effects: found, order: strongest(found, run) };
    this.start.hidden = true;
    this.#draw();
    this.changed();
  }

  #draw() {
    const { found, shown } = this;
    if (!found || !shown) return;
    const { run, place, numbers, texts } = shown;
    const words = texts.knockout;
    const { effects } = found;
    if (found.key !== run.key) return;
    const { answer, share } = effects.untouched;
    const answers = Boolean(answer);
    const most = Math.max(...found.order.map((at) => Math.abs(effectOf(effects, at)))) || 1;
    const decimals = answers && most < LITTLE ? 5 : 3;
    this.said.textContent = answers ? words.likely(quoted(answer), fixed(share ?? 0, decimals)) : words.turned;
    const sizes = run.tokens.map((_, at) => Math.abs(effectOf(effects, at)));
    const rows = listed(sizes, [place.key]);
    const told = found.order.filter((at) => rows.includes(at));
    const order = this.#covered ? told.sort((a, b) => a - b) : told;
    const left = found.order.length - order.length;
    const head = `${place.layer}.${place.head}`;
    const titles = [words.attention(head), words.effect, ...(answers ? [words.answer] : [])];
    const row = (/** @type {number} */ at) => {
      const value = effectOf(effects, at);
      const bar = el("i", { style: `--share:${Math.abs(value) / most}` });
      const said = ` ${answers ? signedText(value, decimals) : fixed(value, 3)}`;
      return rowWith(
        { class: at === place.key ? "viz-chosen" : "" },
        choosing(run.tokens[at], () => this.choose({ key: at })),
        numbers.attention ? shareText(numbers.attention.weights[at]) : "",
        el("td", { "data-effect": value }, el("span", asksFor(ASKED), bar, said)),
        ...(answers ? [answerCell(effects, at, decimals)] : []),
      );
    };
    const others = left ? [tableRow(texts.pooling.others(left), "", "", "")] : [];
    fillTable(this.table, tableHead(words.token, ...titles), [...order.map(row), ...others]);
  }

  leave() {
    this.#asked.stop();
    this.carried.leave();
    this.progress.hidden = true;
    if (this.shown && this.found?.key !== this.shown.run.key) this.shown = null; // begun again when it is seen again
  }
}

/** The prediction without a token, marked if it changed.
 * @type {(effects: TokenEffects, at: number, decimals: number) => HTMLElement} */
function answerCell({ answers, shares, untouched }, at, decimals) {
  const flips = answers[at] !== untouched.answer;
  const answer = el("bdi", {}, isolated(answers[at] ?? ""));
  const said = el("span", asksFor(ASKED), answer, ` ${fixed(shares[at] ?? 0, decimals)}`);
  return el("td", { class: flips ? "viz-learn-flips" : "" }, said);
}

/** The change in the probability of the answer; of a model without answers, how far its vector turns.
 * @type {(effects: TokenEffects, at: number) => number} */
const effectOf = ({ values, pair, untouched }, at) =>
  untouched.answer ? (pair[at]?.[0] ?? 0) - (untouched.share ?? 0) : (values[at] ?? 0);

/** Tokens by the size of their effect; what could not be hidden is left out.
 * @type {(effects: TokenEffects, run: Run) => number[]} */
const strongest = (effects, run) =>
  run.tokens
    .map((_, at) => at)
    .filter((at) => (effects.values[at] ?? null) !== null)
    .sort((a, b) => Math.abs(effectOf(effects, b)) - Math.abs(effectOf(effects, a)));
