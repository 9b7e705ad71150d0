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
  hide = false;
  /** @type {number[]} tokens that can be chosen */
  all = [];
  /** @type {number[]} those of them that are listed */
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

  /** @param {Run} run @param {number} chosen @param {boolean} hide whether special tokens are left out */
  show(run, chosen, hide) {
    const other = this.run !== run || this.hide !== hide;
    if (this.run !== run) this.search.value = "";
    this.run = run;
    this.chosen = chosen;
    this.hide = hide;
    this.all = run.visible(hide);
    if (other || !this.shown.includes(chosen)) this.#list();
    else this.#mark();
  }

  #list() {
    const { tokens } = this.run ?? { tokens: [] };
    const found = matching(tokens, this.search.value, this.chosen, this.all);
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
    this.choose(walked(event.key, this.shown, this.chosen, this.search.value ? [] : this.all));
  }
}

/** Matching tokens of `all` and their number; without a search, those around the chosen one.
 * @type {(tokens: string[], searched: string, chosen: number, all: number[]) => { shown: number[],
 *   total: number }} */
export function matching(tokens, searched, chosen, all) {
  const wanted = searched.trim().toLowerCase();
  const place = all.findIndex((at) => at >= chosen);
  const start = Math.max(0, Math.min((place < 0 ? all.length : place) - MOST / 2, all.length - MOST));
  if (!wanted) return { shown: all.slice(start, start + MOST), total: all.length };
  const found = all.filter((at) => String(at) === wanted || tokens[at].toLowerCase().includes(wanted));
  return { shown: found.slice(0, MOST), total: found.length };
}

/** The token that a key leads to from the chosen one. Arrows go on beyond what is listed where that is a
 * part of `all`; none where they were searched.
 * @type {(key: string, shown: number[], chosen: number, all: number[]) => number} */
export function walked(key, shown, chosen, all) {
  const [place, last] = [shown.indexOf(chosen), shown.length - 1];
  if (key === "Home") return shown[0];
  if (key === "End") return shown[last];
  const by = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  const beyond = place === (by > 0 ? last : 0) ? all[all.indexOf(shown[place]) + by] : undefined;
  if (all.length && beyond !== undefined) return beyond;
  return shown[Math.max(0, Math.min(last, place + by))];
}
