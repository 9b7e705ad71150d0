// A list that shows its first lines, and the others at a press.

import { button } from "../core/dom.js";

export class ShortList {
  /** @type {Node[]} */
  lines = [];
  rest = button("", () => this.#fill(Infinity), { class: "viz-small viz-rest" });

  /** @param {HTMLElement} node @param {number} first how many lines are shown at first */
  constructor(node, first) {
    this.node = node;
    this.first = first;
  }

  show(/** @type {Node[]} */ lines) {
    this.lines = lines;
    this.#fill(this.first);
  }

  #fill(/** @type {number} */ most) {
    this.node.replaceChildren(...this.lines.slice(0, most));
    this.rest.hidden = this.lines.length <= most;
    this.rest.textContent = `${this.lines.length - this.first} more`;
  }
}
