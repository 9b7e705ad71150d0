// Finds a token by its name or number, and walks the query or the key through its occurrences.

import { el, count } from "../core/dom.js";

export class Search {
  constructor(map) {
    this.map = map;
    this.field = el("input", {
      type: "search",
      id: "viz-search",
      placeholder: "Find a token or its number",
      "aria-label": "Find a token or its number",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.show(),
      onkeydown: (event) => this.#key(event),
    });
    this.side = el(
      "select",
      { id: "viz-search-side", "aria-label": "What jumps there", onchange: () => this.show() },
      el("option", { value: "query" }, "as the query"),
      el("option", { value: "key" }, "as the key"),
    );
    const button = (text, label, by) =>
      el(
        "button",
        { type: "button", class: "viz-small", "aria-label": label, title: label, onclick: () => this.#step(by) },
        text,
      );
    this.steps = [button("↑", "Previous occurrence (Shift + Enter)", -1), button("↓", "Next occurrence (Enter)", 1)];
    this.told = el("span", { class: "viz-caption viz-search-count", role: "status" });
    this.node = el(
      "div",
      { class: "viz-search", role: "search", "aria-label": "Find a token" },
      this.field,
      this.side,
      ...this.steps,
      this.told,
    );
    this.show();
  }

  // Say how many there are; nothing jumps before it is asked to.
  show() {
    const found = this.#found();
    const hidden = !found.length && this.#hidden();
    for (const step of this.steps) step.disabled = !found.length;
    this.told.textContent = !this.#text()
      ? ""
      : hidden
        ? "Only among the hidden tokens."
        : found.length
          ? `${count(found.length)} found; Enter goes there.`
          : "None found.";
  }

  #text() {
    return this.field.value.trim().toLocaleLowerCase();
  }

  // Places among the shown tokens: that of the number, then those of the name; else of a part of it.
  #found() {
    const { run, shown } = this.map;
    const text = this.#text();
    if (!text || !run) return [];
    const numbered = /^\d{1,9}$/.test(text) && Number(text) < run.n ? [shown.places[Number(text)]] : [];
    const places = (matches) => shown.flatMap((entry, place) => (matches(plain(entry.name)) ? [place] : []));
    const same = places((name) => name === text || name === plain(text));
    const found = numbered.length || same.length ? same : places((name) => name.includes(text));
    return [...new Set([...numbered.filter((place) => place >= 0), ...found])];
  }

  #hidden() {
    const { run } = this.map;
    const text = this.#text();
    return Boolean(run && text) && run.tokens.some((name, at) => plain(name) === text || String(at) === text);
  }

  #key(event) {
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#step(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && this.field.value) {
      event.preventDefault();
      this.field.value = "";
      this.show();
    }
  }

  // To the next one, from where the query or key is now; round again at the end.
  #step(by) {
    const { map } = this;
    const found = this.#found();
    if (!found.length) return this.show();
    const side = this.side.value;
    const now = map.chosen[side === "query" ? 0 : 1];
    const at = this.jumped === `${this.#text()}:${side}` ? found.indexOf(now) : -1;
    const next = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
    this.jumped = `${this.#text()}:${side}`;
    map.selection.set({ [side]: map.shown[found[next]].tokens[0] });
    map.lookAt();
    this.told.textContent = `${count(next + 1)} of ${count(found.length)}`;
  }
}

// A name without the marks that tokenizers put at its ends.
const plain = (name) =>
  name
    .toLocaleLowerCase()
    .replace(/^(##|[▁Ġ ]+)(?=.)/u, "")
    .replace(/(?<=.)<\/w>$/u, "");
