// Step 9: each token hidden from every token, beside the attention it got; then what carried the answer.

import { button, controls, el, fillTable, rowWith, status, tableHead, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { streamed } from "../core/streamed.js";
import { isolated } from "../core/token_names.js";
import { oneStop } from "../views/one_stop.js";
import { CarriedShares } from "./carried_shares.js";
import { asksFor } from "./cover.js";
import { choosing, fixed, listed, quoted, scrolled, shareText, signedText } from "./printed.js";
import { spoken } from "./sentences.js";
import { StepView } from "./step_view.js";

const [SHORT, NAMED] = [64, 4]; // tokens: measured at once up to so many; in the sentence
const LITTLE = 0.005; // of a probability; less is told with two decimals more, here and in lesson/pictured.py

const ASKED = "deciding-word flips"; // the exercises

export class KnockoutStep extends StepView {
  #asked = new Latest((sentence) => {
    this.progress.hidden = true;
    this.said.textContent = spoken(this.shown.texts, sentence);
  });
  start = button("", () => this.#measure());
  progress = el("progress", { max: 1, value: 0, hidden: true });
  said = status();
  table = oneStop(el("table", { class: "viz-learn-plain viz-learn-effects" }));
  carried = new CarriedShares(this.acts);
  views = [this.carried];
  measured = el("section", {}, controls(this.start, this.progress), scrolled(this.table), this.said, this.note);
  node = el("div", { class: "viz-learn-knockout" }, this.measured, this.carried.node);
  key = ""; // of the run that is shown, and measured unless it is long
  /** @type {{ key: string, effects: TokenEffects, order: number[] } | null} */
  found = null;

  /** Whether what the table says is asked. */
  get #covered() {
    return ASKED.split(" ").some((id) => this.acts.asks(id));
  }

  // The order of the table gives the answer away, too.
  asked() {
    this.#draw();
    this.acts.layoutChanged();
  }

  headline() {
    const { run, texts } = this.shown;
    if (this.found?.key !== run.key || this.#covered)
      return [run.grid && !run.tasks.length ? texts.knockout.patches : texts.knockout.same];
    const { effects, order } = this.found;
    const flips = order.filter((at) => effects.answers[at] !== effects.untouched.answer).slice(0, NAMED);
    const vector = !effects.untouched.answer; // the model has no answer
    if (vector) return texts.knockout.turns(quoted(run.tokens[order[0]]));
    if (!flips.length) return texts.knockout.headline(quoted(run.tokens[order[0]]));
    return texts.knockout.flips(flips.map((at) => quoted(run.tokens[at])).join(texts.knockout.or));
  }

  draw() {
    const { run, texts } = this.shown;
    const other = this.key !== run.key;
    this.key = run.key;
    this.start.textContent = run.grid ? texts.knockout.startPatches : texts.knockout.start;
    this.note.textContent = texts.knockout.note;
    if (other) this.#stop();
    this.start.hidden = this.found?.key === run.key;
    if (this.found?.key === run.key) this.#draw();
    else if (other) this.table.replaceChildren();
    if (other && this.found?.key !== run.key && run.n <= SHORT) this.#measure();
  }

  async #measure() {
    const { run, texts } = this.shown;
    Object.assign(this.progress, { hidden: false, value: 0 });
    this.said.textContent = texts.waiting;
    await this.#asked.run(async (fresh) => {
      /** @type {WhatIfOffered} */
      const offer = await fresh(run.json("whatif/offered"));
      if (offer.missing) throw new Error(offer.missing);
      const tell = (/** @type {number} */ done) => {
        this.progress.value = done;
      };
      const asked = new URLSearchParams({ how: "attention" });
      /** @type {TokenEffects} */
      const effects = await fresh(streamed(run.url(`whatif/tokens?${asked}`), tell, { signal: fresh.signal }));
      this.found = { key: run.key, effects, order: strongest(effects, run) };
      this.progress.hidden = this.start.hidden = true;
      this.#draw();
      this.acts.layoutChanged();
    });
  }

  #stop() {
    this.#asked.stop();
    this.progress.hidden = true;
  }

  #draw() {
    const { found, shown } = this;
    if (found?.key !== shown?.run.key || !found) return;
    const { run, place, numbers, texts } = shown;
    const words = texts.knockout;
    const { effects } = found;
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
        choosing(run.tokens[at], () => this.acts.choose({ key: at })),
        numbers.attention ? shareText(numbers.attention.weights[at]) : "",
        el("td", { "data-effect": value }, el("span", asksFor(ASKED), bar, said)),
        ...(answers ? [answerCell(effects, at, decimals)] : []),
      );
    };
    const others = left ? [tableRow(texts.pooling.others(left), "", "", "")] : [];
    fillTable(this.table, tableHead(words.token, ...titles), [...order.map(row), ...others]);
  }

  clear() {
    super.clear();
    this.#stop();
    if (this.found?.key !== this.key) this.key = ""; // begun again when it is seen again
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
