// The specimens by section, with a search; arrow keys move, Enter opens.

import { el, status } from "../core/dom.js";
import { oneStop, revealIn } from "../views/one_stop.js";

/** @typedef {{ node: HTMLElement, specimen: Specimen, text: string }} Option */

const HEADING = 30; // pixels of a section's title, which stays above its specimens

export class SpecimenList {
  /** @type {Option[]} */
  options = [];
  field = el("input", {
    type: "search",
    id: "viz-zoo-search",
    placeholder: "Find a bug",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": "Find a bug by name, symptom or code",
    oninput: () => {
      this.#filter();
      this.box.scrollTop = 0;
    },
    onkeydown: (event) => this.#searchKey(event),
  });
  told = status();

  /** @param {Zoo["sections"]} sections @param {ZooTab} tab */
  constructor(sections, tab) {
    this.tab = tab;
    this.box = el(
      "div",
      { class: "viz-zoo-options", role: "listbox", "aria-label": "Specimens" },
      ...sections.map((section, at) => this.#group(section, `viz-zoo-section-${at}`)),
    );
    this.node = el(
      "nav",
      { class: "viz-zoo-list", "aria-label": "Known mask bugs" },
      ...[this.field, this.told, this.box],
    );
    oneStop(this.box, "button:not([hidden])");
    this.#filter();
  }

  // Mark the shown specimen; none while its name is to be guessed.
  mark(/** @type {Specimen | null} */ specimen) {
    for (const option of this.options) {
      const shown = option.specimen === specimen;
      option.node.setAttribute("aria-selected", String(shown));
      if (shown) revealIn(this.box, option.node, HEADING);
    }
  }

  /** @type {(section: Zoo["sections"][0], name: string) => HTMLElement} */
  #group({ title, specimens }, name) {
    const nodes = specimens.map((specimen) => {
      const { identifier } = specimen;
      const node = el(
        "button",
        {
          type: "button",
          class: "viz-zoo-option",
          role: "option",
          "aria-selected": "false",
          "data-specimen": identifier,
          onclick: () => this.tab.open(identifier),
        },
        ...[el("span", { class: "viz-zoo-id" }, identifier), el("span", {}, specimen.title)],
      );
      this.options.push({ node, specimen, text: Object.values(specimen).join(" ").toLocaleLowerCase() });
      return node;
    });
    const heading = el("h4", { id: name, role: "presentation" }, title);
    return el("div", { class: "viz-zoo-section", role: "group", "aria-labelledby": name }, heading, ...nodes);
  }

  #filter() {
    for (const { node, text } of this.options) node.hidden = !matches(text, this.field.value);
    const seen = this.#seen();
    const found = seen.length
      ? `${seen.length} of ${this.options.length} found; Enter opens the first.`
      : "None found; try another word.";
    this.told.textContent = this.field.value.trim() ? found : `${seen.length} planted bugs`;
  }

  #seen() {
    return this.options.filter(({ node }) => !node.hidden);
  }

  #searchKey(/** @type {KeyboardEvent} */ event) {
    const [first] = this.#seen();
    if (!first) return;
    if (event.key === "Enter") this.tab.open(first.specimen.identifier);
    if (event.key !== "ArrowDown") return;
    event.preventDefault();
    first.node.focus();
  }
}

/** Whether a text in lower case has each of the words. @type {(text: string, words: string) => boolean} */
export const matches = (text, words) =>
  words
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
