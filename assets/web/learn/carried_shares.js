// What carried the answer: with the attention weights held it is a sum, of a share a token, here and in the twin.

import { el, fillTable, rowWith, tableHead, tableRow } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { oneStop } from "../views/one_stop.js";
import { asksFor } from "./cover.js";
import { addingUp, choosing, listed, quoted, scrolled, signedText } from "./printed.js";
import { carried } from "./requests.js";
import { StepView } from "./step_view.js";

/** @import { Carried, Split } from "./requests.js" */

const HALF = 50; // percent of its track for the longest bar
const [SUM, TWIN] = ["sum-of-shares", "twin-share"]; // the exercises

export class CarriedShares extends StepView {
  #asked = new Latest((sentence) => this.note.replaceChildren(sentence));
  title = el("h4");
  table = oneStop(el("table", { class: "viz-learn-plain viz-learn-carried" }));
  node = el("section", { hidden: true }, this.title, this.note, scrolled(this.table));

  async draw() {
    const { run, place } = this.shown;
    const asked = `${run.key}:${place.query}`;
    if (this.node.dataset.asked !== asked) this.node.hidden = true;
    this.node.dataset.asked = asked;
    await this.#asked.run(async (fresh) => {
      const split = await fresh(carried(run, place.query, fresh.signal)); // the run keeps it
      if ("shares" in split) this.#draw(split);
    });
  }

  #draw(/** @type {Carried} */ split) {
    const { run, place, texts } = this.shown;
    const { twin } = split;
    const words = texts.carried;
    this.node.hidden = false;
    this.title.textContent = `${words.title}: ${split.answer ? words.score(quoted(split.answer), quoted(split.rival)) : words.vector}`;
    this.note.textContent = `${words.note}${run.tasks.includes("masked") && split.answer && !twin ? ` ${words.none}` : ""}`;
    const sides = [split, ...(twin ? [twin] : [])];
    const size = (/** @type {unknown} */ _, /** @type {number} */ at) =>
      Math.max(...sides.map(({ shares }) => Math.abs(shares[at])));
    const own = listed(run.tokens.map(size));
    const left = split.shares.flatMap((_, at) => (own.includes(at) ? [] : [at]));
    const addends = sides.map(({ shares, biases }) => [
      ...own.map((at) => shares[at]),
      ...(left.length ? [left.reduce((sum, at) => sum + shares[at], 0)] : []),
      biases,
    ]);
    const most = Math.max(...addends.flat().map(Math.abs)) || 1;
    const printed = sides.map(({ score }, of) => addingUp(addends[of], 2, score));
    const titles = [words.here, ...(twin ? [words.there(quoted(twin.word), quoted(run.tokens[twin.at]))] : [])];
    const line = (/** @type {Node | string} */ name, /** @type {number} */ at, chosen = false) =>
      rowWith(
        { class: chosen ? "viz-chosen" : "" },
        name,
        ...sides.map((_, of) => shareCell(addends[of][at], printed[of][at], most, of ? TWIN : "")),
      );
    const rows = own.map((at, row) =>
      line(
        choosing(run.tokens[at], () => this.acts.choose({ key: at })),
        row,
        at === place.key,
      ),
    );
    if (left.length) rows.push(line(texts.pooling.others(left.length), own.length));
    const sum = (/** @type {Split} */ { score }, /** @type {number} */ of) =>
      el(
        "td",
        {},
        el("b", asksFor(of ? TWIN : SUM), signedText(score, 2)),
        " ",
        el("span", { class: "viz-learn-signed" }),
      );
    rows.push(line(words.biases, rows.length));
    const foot = el("tfoot", {}, tableRow(words.sum, ...sides.map(sum)));
    fillTable(this.table, tableHead(words.token, ...titles), rows, foot);
  }

  clear() {
    super.clear();
    this.#asked.stop();
  }
}

/** The number, and its bar to the left or right of the middle.
 * @type {(value: number, printed: number, most: number, asked: string) => HTMLElement} */
function shareCell(value, printed, most, asked) {
  const wide = (HALF * Math.abs(value)) / most;
  const left = value < 0 ? HALF - wide : HALF;
  const bar = el("i", { style: `width:${wide}%;margin-left:${left}%`, "data-sign": value < 0 ? "less" : "more" });
  const track = el("span", { class: "viz-learn-signed" }, bar);
  return el(
    "td",
    { "data-share": value },
    el("span", asked ? asksFor(asked) : {}, `${signedText(printed, 2)} `, track),
  );
}
