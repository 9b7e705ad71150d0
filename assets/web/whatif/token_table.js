// Each word hidden from every token: what the model answers then, and the fewest words that flip the answer.

import { current } from "../core/app_state.js";
import { button, caption, control, el, options, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { quoted } from "../core/token_names.js";
import { section } from "../views/headed.js";
import { flips } from "./requests.js";
import { digitsFor, largestAmount, share, signedFixed, unitOf } from "./wording.js";

/** @import { FlipsFound, TokenEffects } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @typedef {{ how: (how: string) => unknown, hide: (tokens: number[]) => unknown, start: () => unknown }} Acts */

const [MOST, MOST_PATCHES] = [40, 14]; // rows; of a longer text those with the largest effects
const MOST_FLIPPED = 3; // tokens in a set
/** @type {[how: string, words: string][]} */
const HOWS = [
  ["attention", "no other token may attend to it"],
  ["mask", "[MASK] in its place"],
];

export class TokenTable {
  #asked = new Latest((sentence) => {
    this.fewest.textContent = sentence;
  });
  /** @type {Run | null} */
  run = null;
  /** @type {TokenEffects | null} */
  effects = null;
  title = el("h3");
  what = caption();
  how = el("select", { id: "viz-whatif-tokens-how", "aria-label": "How a word is removed" }, ...options(HOWS));
  by = control("By:", this.how);
  table = el("table", { class: "viz-whatif-table" });
  cut = caption();
  fewest = status();
  start = button("", () => this.acts.start(), { class: "viz-small viz-whatif-go" });

  constructor(/** @type {Acts} */ acts) {
    this.acts = acts;
    this.how.addEventListener("change", () => acts.how(this.how.value));
    this.table.addEventListener("pointerleave", () => current.hover(null));
    const shares = button("show the shares", toShares, { class: "viz-whatif-link" });
    const note = caption("A token's share of the result may rank it differently: ", shares, ".");
    this.node = section(
      ...["viz-whatif-tokens", "Each word hidden from every token", this.title],
      ...[this.what, this.by, this.start, this.table, this.cut, this.fewest, note],
    );
  }

  /** `long`: too long to be measured without being asked. @type {(run: Run, long: boolean) => void} */
  enter(run, long) {
    Object.assign(this, { run, effects: null });
    this.#asked.stop();
    this.fewest.textContent = "";
    this.start.textContent = `Hide each of ${run.n} tokens`;
    this.start.hidden = !long;
    this.table.hidden = this.cut.hidden = long; // not computed yet
    this.#name("attention");
    this.what.textContent = `One ${unitOf(run)} at a time.`;
    this.by.hidden = Boolean(run.grid);
    this.draw();
  }

  /** @type {(effects: TokenEffects, how: string) => void} */
  show(effects, how) {
    this.effects = effects;
    this.#name(how);
    this.table.hidden = this.cut.hidden = false;
    this.start.hidden = true;
    this.draw();
    this.#find();
  }

  #name(/** @type {string} */ how) {
    const done = how === "mask" ? "replaced with [MASK]" : "hidden from every token";
    this.title.textContent = `Each ${unitOf(this.run)} ${done}`;
  }

  // The query that is chosen on all tabs.
  mark(/** @type {number} */ token) {
    for (const row of this.table.querySelectorAll("tr[data-token]"))
      row.classList.toggle("viz-chosen", row instanceof HTMLElement && Number(row.dataset.token) === token);
  }

  draw() {
    const { run, effects } = this;
    if (!run) return;
    const labels = effects?.untouched.answer ? effects.labels : [];
    const titles = effects && !labels.length ? ["effect"] : labels;
    const shown = this.#shown(run, effects);
    this.what.textContent = effects ? `${effects.sentence} Measured: ${effects.measure}.` : this.what.textContent;
    const head = el("tr", {}, ...["", ...titles, ""].map((title) => el("th", { scope: "col" }, title)));
    const digits = digitsFor(largestAmount(effects?.values ?? []));
    this.table.replaceChildren(
      el("thead", {}, head),
      el("tbody", {}, ...shown.map((token) => this.#row(run, token, effects, labels.length, digits))),
    );
    const order = effects ? "those with the largest effects, in text order" : "the first ones";
    this.cut.textContent = shown.length < run.n ? `${shown.length} of ${run.n} tokens, ${order}.` : "";
    this.mark(current.selection.query);
  }

  /** @type {(run: Run, effects: TokenEffects | null) => number[]} */
  #shown(run, effects) {
    const all = run.tokens.map((_, at) => at);
    const size = (/** @type {number} */ at) => Math.abs(effects?.values[at] ?? 0);
    const most = run.grid ? MOST_PATCHES : MOST;
    return all.length <= most
      ? all
      : all
          .toSorted((a, b) => size(b) - size(a))
          .slice(0, most)
          .sort((a, b) => a - b);
  }

  /** @type {(run: Run, token: number, effects: TokenEffects | null, labels: number, digits: number) => HTMLElement} */
  #row(run, token, effects, labels, digits) {
    const choose = () => current.selection.set({ query: token });
    const name = button("", choose, { class: "viz-whatif-token", title: "Choose it as the query on all tabs" });
    name.append(el("bdi", {}, run.tokens[token]));
    const numbers = !effects
      ? ["…"]
      : labels
        ? Array.from({ length: labels }, (_, at) => share(effects.pair[token]?.[at]))
        : [signedFixed(effects.values[token], digits)];
    const answer = effects?.answers[token] ?? "";
    const flipped = labels > 0 && answer !== "" && answer !== effects?.untouched.answer;
    const attributes = { "data-token": token, onpointerenter: () => current.hover(token) };
    return el(
      "tr",
      attributes,
      el("th", { scope: "row" }, name),
      ...numbers.map((text) => el("td", {}, text)),
      el("td", { class: "viz-whatif-flips" }, flipped ? `flips to ${answer}` : ""),
    );
  }

  // The fewest words, where there is an answer that could flip and the search is short.
  #find() {
    const { run, effects } = this;
    if (!run || !effects?.untouched.answer) return;
    const alone = effects.answers.some((answer) => answer && answer !== effects.untouched.answer);
    if (alone || run.n <= MOST) return this.#search(run);
    this.fewest.replaceChildren(
      `No single ${unitOf(run)} flips the answer. `,
      button("Look for two or three that do", () => this.#search(run), { class: "viz-whatif-link" }),
    );
  }

  #search(/** @type {Run} */ run) {
    const looking = "Looking for the fewest tokens that flip the answer …";
    this.fewest.textContent = looking;
    this.#asked.run(async (fresh) => {
      const tell = (/** @type {number} */ done) => {
        if (!fresh.signal.aborted) this.fewest.textContent = `${looking} ${Math.round(100 * done)}%`;
      };
      const found = await fresh(flips(run, MOST_FLIPPED, tell, fresh.signal));
      this.#say(run, found);
    });
  }

  /** @type {(run: Run, found: FlipsFound) => void} */
  #say(run, { sentence, sets, tries }) {
    const [set] = sets;
    const named = (set ?? []).map((token) => quoted(run.tokens[token])).join(" and ");
    const hide = set ? [" ", button(`Hide ${named}`, () => this.acts.hide(set), { id: "viz-whatif-fewest" })] : [];
    this.fewest.replaceChildren(sentence, ...hide);
    this.fewest.dataset.painted = String(tries);
  }
}

function toShares() {
  current.selection.set({ measure: "contribution" });
  document.querySelector(".viz-how")?.scrollIntoView();
}
