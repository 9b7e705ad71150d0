// The specimens by section, with a search; arrow keys move, Enter opens.

import { el } from "../core/dom.js";

export class SpecimenList {
  constructor(sections, open, surprise) {
    Object.assign(this, { sections, open });
    this.field = el("input", {
      type: "search",
      id: "viz-zoo-search",
      placeholder: "Find a bug",
      "aria-label": "Find a bug by name, symptom or code",
      autocomplete: "off",
      spellcheck: "false",
      oninput: () => this.#filter(),
      onkeydown: (event) => this.#searchKey(event),
    });
    this.told = el("p", { class: "viz-caption", role: "status" });
    this.box = el(
      "div",
      { class: "viz-zoo-options", role: "listbox", "aria-label": "Specimens", onkeydown: (event) => this.#key(event) },
      ...sections.map((section, at) => this.#group(section, at)),
    );
    this.node = el(
      "nav",
      { class: "viz-zoo-list", "aria-label": "Mask zoo" },
      el(
        "button",
        { type: "button", class: "viz-small viz-zoo-surprise", id: "viz-zoo-surprise", onclick: surprise },
        "Surprise me: what is wrong here?",
      ),
      this.field,
      this.told,
      this.box,
    );
    this.#filter();
  }

  // Which one is shown; none while its name is to be guessed.
  mark(identifier) {
    for (const { node, specimen } of this.options)
      node.setAttribute("aria-selected", specimen.identifier === identifier);
    const shown = this.options.find(({ specimen }) => specimen.identifier === identifier)?.node;
    if (!shown) return;
    this.#rove(shown);
    this.#scroll(shown);
  }

  #group({ title, specimens }, at) {
    const named = `viz-zoo-section-${at}`;
    this.options ??= [];
    const nodes = specimens.map((specimen) => {
      const node = el(
        "div",
        {
          class: "viz-zoo-option",
          role: "option",
          tabindex: "-1",
          "aria-selected": "false",
          "data-specimen": specimen.identifier,
          onclick: () => this.open(specimen.identifier),
        },
        el("span", { class: "viz-zoo-id" }, specimen.identifier),
        el("span", {}, specimen.title),
      );
      this.options.push({ node, specimen, text: Object.values(specimen).join(" ").toLocaleLowerCase() });
      return node;
    });
    return el(
      "div",
      { class: "viz-zoo-section", role: "group", "aria-labelledby": named },
      el("h4", { id: named, role: "presentation" }, title),
      ...nodes,
    );
  }

  #filter() {
    const words = this.field.value.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
    for (const { node, text } of this.options) node.hidden = !words.every((word) => text.includes(word));
    for (const group of this.box.children)
      group.hidden = ![...group.querySelectorAll("[role=option]")].some((node) => !node.hidden);
    const found = this.#seen();
    this.told.textContent = !words.length
      ? `${found.length} planted bugs`
      : found.length
        ? `${found.length} of ${this.options.length} found; Enter opens the first.`
        : "None found; try another word.";
    const current = found.find((node) => node.tabIndex === 0) ?? found[0];
    if (current) this.#rove(current);
  }

  #seen() {
    return this.options.map(({ node }) => node).filter((node) => !node.hidden);
  }

  #rove(to) {
    for (const { node } of this.options) node.tabIndex = node === to ? 0 : -1;
  }

  // Within the list alone, for the page itself must not jump.
  #scroll(node) {
    const [box, one] = [this.box.getBoundingClientRect(), node.getBoundingClientRect()];
    if (one.top < box.top) this.box.scrollTop += one.top - box.top - 30;
    if (one.bottom > box.bottom) this.box.scrollTop += one.bottom - box.bottom + 8;
  }

  #searchKey(event) {
    const first = this.#seen()[0];
    if (!first) return;
    if (event.key === "Enter") this.open(first.dataset.specimen);
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    this.#focus(first);
  }

  #key(event) {
    const seen = this.#seen();
    const at = seen.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: seen.length - 1 }[event.key];
    if (at < 0) return;
    if (event.key === "Enter" || event.key === " ") this.open(seen[at].dataset.specimen);
    else if (to === undefined) return;
    event.preventDefault();
    if (to !== undefined) this.#focus(seen[Math.min(seen.length - 1, Math.max(0, to))]);
  }

  #focus(node) {
    this.#rove(node);
    node.focus({ preventScroll: true });
    this.#scroll(node);
  }
}
