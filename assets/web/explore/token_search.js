// Finds a token by its name or number, and walks the query or the key through its occurrences.

import { count, el, labelled, options } from "../core/dom.js";

/** @import { AttentionMap, Shown } from "./types.d.ts" */

const SIDES = /** @type {const} */ ({ query: "as the query", key: "as the key" });
const LABEL = "Find a token or its number";

export class TokenSearch {
  #jumped = ""; // what was gone to last, and by which side
  field = el("input", {
    type: "search",
    id: "viz-search",
    placeholder: LABEL,
    "aria-label": LABEL,
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => this.show(),
    onkeydown: (event) => this.#key(event),
  });
  side = el(
    "select",
    { id: "viz-search-side", "aria-label": "What jumps there", onchange: () => this.show() },
    ...options(Object.entries(SIDES)),
  );
  steps = [
    labelled("↑", "Previous occurrence (Shift + Enter)", () => this.#go(-1)),
    labelled("↓", "Next occurrence (Enter)", () => this.#go(1)),
  ];
  told = el("span", { class: "viz-caption viz-search-count", role: "status" });
  node = el(
    "div",
    { class: "viz-search", role: "search", "aria-label": "Find a token" },
    ...[this.field, this.side, ...this.steps, this.told],
  );

  constructor(/** @type {AttentionMap} */ map) {
    this.map = map;
    for (const step of this.steps) step.disabled = true;
  }

  // Say how many there are; nothing jumps before it is asked to.
  show() {
    const { run } = this.map;
    const found = this.#found();
    const text = this.#text();
    const isHidden = () => run?.tokens.some((name, at) => plain(name) === text || String(at) === text);
    for (const step of this.steps) step.disabled = !found.length;
    if (!text) this.told.textContent = "";
    else if (found.length) this.told.textContent = `${count(found.length)} found; Enter goes there.`;
    else this.told.textContent = isHidden() ? "Only among the hidden tokens." : "None found.";
  }

  #text() {
    return this.field.value.trim().toLocaleLowerCase();
  }

  #found() {
    return this.map.run ? places(this.#text(), this.map.shown) : [];
  }

  #key(/** @type {KeyboardEvent} */ event) {
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      this.#go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape" && this.field.value) {
      event.preventDefault();
      this.field.value = "";
      this.show();
    }
  }

  // To the next one, from where the query or key is now; round again at the end.
  #go(/** @type {number} */ by) {
    const { map } = this;
    const found = this.#found();
    if (!found.length) return this.show();
    const side = /** @type {keyof typeof SIDES} */ (this.side.value);
    const asked = `${this.#text()}:${side}`;
    const at = this.#jumped === asked ? found.indexOf(map.chosen[side === "query" ? 0 : 1]) : -1;
    const next = at < 0 ? (by > 0 ? 0 : found.length - 1) : (at + by + found.length) % found.length;
    this.#jumped = asked;
    map.selection.set({ [side]: map.shown[found[next]].tokens[0] });
    map.lookAt();
    this.told.textContent = `${count(next + 1)} of ${count(found.length)}`;
  }
}

/** Places among the shown tokens, of a text in small letters: that of its number, then those of its name; else
 * of a part of it. @type {(text: string, shown: Shown) => number[]} */
export function places(text, shown) {
  if (!text) return [];
  const numbered = /^\d{1,9}$/.test(text) && Number(text) < shown.places.length ? [shown.places[Number(text)]] : [];
  const matching = (/** @type {(name: string) => boolean} */ matches) =>
    shown.flatMap((unit, place) => (matches(plain(unit.name)) ? [place] : []));
  const same = matching((name) => name === text || name === plain(text));
  const found = numbered.length || same.length ? same : matching((name) => name.includes(text));
  return [...new Set([...numbered.filter((place) => place >= 0), ...found])];
}

// A name without the marks that tokenizers put at its ends.
const plain = (/** @type {string} */ name) =>
  name
    .toLocaleLowerCase()
    .replace(/^(##|[▁Ġ ]+)(?=.)/u, "")
    .replace(/(?<=.)<\/w>$/u, "");
