// A list of the run's tokens to choose one from: searched by text or number, walked by arrow keys.

import { count, el, query, status } from "../core/dom.js";

/** @import { Run } from "../core/run.js" */

const MOST = 200; // listed at once
const IN_SEARCH = ["ArrowDown", "ArrowUp"]; // Home and End move its caret
const IN_LIST = [...IN_SEARCH, "ArrowRight", "ArrowLeft", "Home", "End"];
let lists = 0;

export class TokenList {
  id = `viz-tokens-${lists++}`;
  note = status();
  /** @type {Run | null} */
  run = null;
  chosen = -1;
  /** @type {number[]} tokens that are listed */
  shown = [];

  /** `choose` gets the number of the token. @param {string} label @param {(token: number) => unknown} choose */
  constructor(label, choose) {
    this.choose = choose;
    const onkeydown = (/** @type {KeyboardEvent} */ event) => this.#key(event);
    this.search = el("input", {
      type: "search",
      class: "viz-token-search",
      placeholder: "Token or number",
      role: "combobox",
      "aria-label": `${label}: search`,
      "aria-controls": this.id,
      "aria-expanded": "true",
      autocomplete: "off",
      oninput: () => this.#list(),
      onkeydown,
    });
    const list = { id: this.id, class: "viz-token-list", role: "listbox", tabindex: "0", "aria-label": label };
    this.list = el("ul", { ...list, onkeydown });
    this.node = el("div", { class: "viz-tokens" }, this.search, this.list, this.note);
  }

  show(/** @type {Run} */ run, /** @type {number} */ chosen) {
    const other = this.run !== run;
    this.run = run;
    this.chosen = chosen;
    if (other) this.search.value = "";
    if (other || !this.shown.includes(chosen)) this.#list();
    else this.#mark();
  }

  #list() {
    const { tokens } = this.run ?? { tokens: [] };
    const found = matching(tokens, this.search.value, this.chosen);
    this.shown = found.shown;
    this.list.replaceChildren(
      ...this.shown.map((at) =>
        el(
          "li",
          { id: `${this.id}-${at}`, role: "option", "data-at": at, onclick: () => this.choose(at) },
          el("span", { class: "viz-token-number" }, String(at)),
          el("bdi", {}, tokens[at]),
        ),
      ),
    );
    this.note.textContent = !found.total
      ? "No token has that text or number."
      : this.shown.length < found.total
        ? `${count(this.shown.length)} of ${count(found.total)} tokens; search for others.`
        : "";
    this.#mark();
  }

  #mark() {
    const { list } = this;
    const place = this.shown.indexOf(this.chosen);
    this.shown.forEach((_, at) => {
      list.children[at].setAttribute("aria-selected", String(at === place));
    });
    for (const box of [list, this.search]) {
      if (place >= 0) box.setAttribute("aria-activedescendant", `${this.id}-${this.chosen}`);
      else box.removeAttribute("aria-activedescendant");
    }
    if (place < 0) return;
    // Within the list only: scrollIntoView would move the page too.
    const { offsetTop: top, offsetHeight } = query(list, '[aria-selected="true"]');
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + offsetHeight > list.scrollTop + list.clientHeight)
      list.scrollTop = top + offsetHeight - list.clientHeight;
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const keys = event.currentTarget === this.list ? IN_LIST : IN_SEARCH;
    if (!this.run || !this.shown.length || !keys.includes(event.key)) return;
    event.preventDefault();
    this.choose(walked(event.key, this.shown, this.chosen, this.search.value ? 0 : this.run.n));
  }
}

/** The tokens that match, and how many there are; without a search, those around the chosen one.
 * @type {(tokens: string[], searched: string, chosen: number, most?: number) => { shown: number[], total: number }} */
export function matching(tokens, searched, chosen, most = MOST) {
  const wanted = searched.trim().toLowerCase();
  const all = tokens.map((_, at) => at);
  const start = Math.max(0, Math.min(chosen - most / 2, all.length - most));
  if (!wanted) return { shown: all.slice(start, start + most), total: all.length };
  const found = all.filter((at) => String(at) === wanted || tokens[at].toLowerCase().includes(wanted));
  return { shown: found.slice(0, most), total: found.length };
}

/** The token that a key leads to from the chosen one. Arrows go on beyond what is listed where that is a
 * part of all `n` tokens; n is 0 where they were searched.
 * @type {(key: string, shown: number[], chosen: number, n: number) => number} */
export function walked(key, shown, chosen, n) {
  const [place, last] = [shown.indexOf(chosen), shown.length - 1];
  if (key === "Home") return shown[0];
  if (key === "End") return shown[last];
  const by = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  if (by > 0 && place === last && shown[last] + 1 < n) return shown[last] + 1;
  if (by < 0 && place === 0 && n && shown[0] > 0) return shown[0] - 1;
  return shown[Math.max(0, Math.min(last, place + by))];
}
