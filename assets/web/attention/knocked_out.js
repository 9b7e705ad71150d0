// Beside shares: what hiding each token does to the same answer.

import { button, caption, el, number } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { streamed } from "../core/streamed.js";
import { quoted } from "../core/token_names.js";
import { table } from "../views/headed.js";

/** @import { Maybe, TokenEffects } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @typedef {{ run: Run, options: Record<string, string>, shares: Map<number, number> }} Asked of which answer, and
 *   the share of each token that is shown */

const LISTED = 8;
/** @type {Record<string, string>} by prediction head */
const MEASURES = { masked: "masked", classify: "logit" };
const ABOUT =
  "Each token in turn is hidden from every token in every layer, and the model runs again. The effect is exact " +
  "for a text without that token; a share is what the token carried on this run. The two need not agree.";

export class KnockedOut {
  #latest = new Latest((sentence) => this.#say(sentence));
  #of = ""; // which answer's table is there, or on its way
  said = el("p", { role: "status" });
  list = el("div");
  node = el("section", { class: "viz-knocked-out", "aria-label": "Effect of hiding each token", hidden: true });

  constructor() {
    this.node.append(el("h3", {}, "Effect of hiding each token"), this.said, this.list, caption(ABOUT));
  }

  /** Answer to watch; null if no such answer is shown. @type {(asked: Asked | null) => void} */
  show(asked) {
    const measure = asked && !asked.options.against && MEASURES[asked.options.of];
    this.node.hidden = !measure;
    if (!asked || !measure) return;
    const { run, options } = asked;
    const given = new URLSearchParams({
      measure,
      ...(options.label && { answer: options.label }),
      ...(options.token && measure === "masked" && { at: options.token }),
    });
    const path = `whatif/tokens?${given}`;
    const of = `${run.key}:${path}:${asked.shares.size}`;
    if (this.#of === of) return;
    this.#of = "";
    delete this.node.dataset.painted;
    this.#latest.stop();
    this.#say(
      "",
      button(`Hide each of the ${run.n} tokens`, () => this.#measure(asked, path, of)),
    );
  }

  /** @type {(asked: Asked, path: string, of: string) => void} */
  #measure(asked, path, of) {
    this.#of = of;
    const tell = (/** @type {number} */ done) => {
      this.said.textContent = `Hiding one token after another … ${Math.round(100 * done)}%`;
    };
    this.node.classList.add("viz-behind");
    this.#latest.run(async (fresh) => {
      const url = asked.run.url(path);
      const found = /** @type {TokenEffects} */ (await fresh(streamed(url, tell, { signal: fresh.signal })));
      const rows = rowsOf(found, asked.shares);
      this.#say(sentenceOf(found, asked), this.#table(asked.run, found, rows));
      this.node.dataset.painted = this.#of;
    });
  }

  /** @type {(sentence: string, ...nodes: Node[]) => void} */
  #say(sentence, ...nodes) {
    this.node.classList.remove("viz-behind");
    this.said.textContent = sentence;
    this.list.replaceChildren(...nodes);
  }

  /** @type {(run: Run, found: TokenEffects, rows: Row[]) => HTMLElement} */
  #table(run, { labels, untouched }, rows) {
    const cells = rows.map(({ at, share, pair, answer }) =>
      el(
        "tr",
        { "data-token": at },
        el("th", { scope: "row" }, run.named(at)),
        el("td", {}, number(share)),
        el("td", {}, number(pair[0])),
        el("td", { class: "viz-flips" }, answer === untouched.answer ? "" : `then ${quoted(answer)}`),
      ),
    );
    const heads = ["Token", "Share", `${quoted(labels[0])} without it`, ""];
    return table("viz-knocked-table", heads, cells, "Shares of tokens, and the answer without each");
  }
}

/** @typedef {{ at: number, share: number, pair: Maybe[], answer: string, effect: number }} Row */

/** The tokens to show: those with the largest shares, and with the largest effects, by share.
 * @type {(found: TokenEffects, shares: Map<number, number>, most?: number) => Row[]} */
export function rowsOf({ values, pair, answers }, shares, most = LISTED) {
  const rows = [...shares]
    .filter(([at]) => values[at] != null)
    .map(([at, share]) => ({ at, share, pair: pair[at], answer: answers[at], effect: Math.abs(Number(values[at])) }));
  const first = (/** @type {(row: Row) => number} */ of) => [...rows].sort((a, b) => of(b) - of(a)).slice(0, most / 2);
  const kept = new Set([...first((row) => row.share), ...first((row) => row.effect)]);
  return rows.filter((row) => kept.has(row)).sort((a, b) => b.share - a.share);
}

/** Which token leads by either measure. @type {(found: TokenEffects, asked: Asked) => string} */
function sentenceOf(found, { run, shares }) {
  const rows = rowsOf(found, shares);
  if (!rows.length) return "No token can be hidden here.";
  const [first] = rows;
  const most = rows.reduce((a, b) => (b.effect > a.effect ? b : a));
  const { untouched, labels } = found;
  const name = (/** @type {number} */ at) => quoted(run.tokens[at]);
  const then = most.answer === untouched.answer ? "" : `, and the answer becomes ${quoted(most.answer)}`;
  const without = `${quoted(labels[0])} ${number(most.pair[0])} without it${then}`;
  const same = first.at === most.at ? "and hiding it" : `hiding ${name(most.at)}`;
  return `${name(first.at)} has the largest share${first.at === most.at ? ` ${same}` : `; ${same}`} changes the answer most: ${without}.`;
}
