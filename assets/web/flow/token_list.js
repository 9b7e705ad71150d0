// A list of the run's tokens to choose one from: searched by text or number, walked by arrow keys.

import { count, el } from "../core/dom.js";

const MOST = 200; // listed at once
let lists = 0;

export class TokenList {
  // `onchoose` gets the number of the token.
  constructor(label, onchoose) {
    this.onchoose = onchoose;
    this.id = `viz-tokens-${lists++}`;
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
      onkeydown: (event) => this.#key(event),
    });
    this.list = el("ul", {
      id: this.id,
      class: "viz-token-list",
      role: "listbox",
      tabindex: "0",
      "aria-label": label,
      onkeydown: (event) => this.#key(event),
    });
    this.note = el("p", { class: "viz-caption", role: "status" });
    this.node = el("div", { class: "viz-tokens" }, this.search, this.list, this.note);
  }

  show(run, chosen) {
    const other = this.run !== run;
    this.run = run;
    this.chosen = chosen;
    if (other) this.search.value = "";
    const listed = !other && this.shown?.includes(chosen);
    if (listed) this.#mark();
    else this.#list();
  }

  // The tokens that match; without a search, those around the chosen one.
  #matching() {
    const { run, chosen } = this;
    const wanted = this.search.value.trim().toLowerCase();
    const all = run.tokens.map((_, at) => at);
    if (!wanted) {
      const start = Math.max(0, Math.min(chosen - MOST / 2, run.n - MOST));
      return [all.slice(start, start + MOST), run.n];
    }
    const found = all.filter((at) => String(at) === wanted || run.tokens[at].toLowerCase().includes(wanted));
    return [found.slice(0, MOST), found.length];
  }

  #list() {
    const [shown, total] = this.#matching();
    this.shown = shown;
    this.list.replaceChildren(
      ...shown.map((at) =>
        el(
          "li",
          {
            id: `${this.id}-${at}`,
            role: "option",
            "data-at": at,
            "aria-selected": "false",
            onclick: () => this.onchoose(at),
          },
          el("span", { class: "viz-token-number" }, String(at)),
          el("bdi", {}, this.run.tokens[at]),
        ),
      ),
    );
    this.note.textContent = !total
      ? "No token has that text or number."
      : shown.length < total
        ? `${count(shown.length)} of ${count(total)} tokens; search for others.`
        : "";
    this.#mark();
  }

  #mark() {
    for (const item of this.list.children)
      item.setAttribute("aria-selected", String(Number(item.dataset.at) === this.chosen));
    const item = this.list.querySelector('[aria-selected="true"]');
    for (const box of [this.list, this.search]) {
      if (item) box.setAttribute("aria-activedescendant", item.id);
      else box.removeAttribute("aria-activedescendant");
    }
    if (!item) return;
    // Within the list only: scrollIntoView would move the page too.
    const [top, bottom] = [item.offsetTop, item.offsetTop + item.offsetHeight];
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    if (bottom > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = bottom - this.list.clientHeight;
  }

  #key(event) {
    const { shown } = this;
    if (!shown?.length) return;
    const last = shown.length - 1;
    const place = shown.indexOf(this.chosen);
    const inList = event.currentTarget === this.list; // Home and End move the caret in the search
    const to = {
      ArrowDown: place + 1,
      ArrowUp: Math.max(0, place - 1),
      ...(inList ? { ArrowRight: place + 1, ArrowLeft: Math.max(0, place - 1), Home: 0, End: last } : {}),
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (this.search.value === "" && to > last && shown[last] + 1 < this.run.n) this.onchoose(shown[last] + 1);
    else if (this.search.value === "" && place === 0 && event.key !== "Home" && to === 0 && shown[0] > 0)
      this.onchoose(shown[0] - 1);
    else this.onchoose(shown[Math.min(last, to)]);
  }
}
