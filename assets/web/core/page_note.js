// One line over the whole page, which moves nothing: the server is gone, or has no place free.

import { el } from "./dom.js";

class PageNote {
  node = el("p", { class: "viz-page-note", role: "status", hidden: true });

  // "" takes it away.
  say(/** @type {string} */ sentence) {
    if (!this.node.isConnected) document.body.append(this.node);
    this.node.textContent = sentence;
    this.node.hidden = !sentence;
  }
}

/** @type {PageNote | null} */
let note = null;

export function sayOverPage(/** @type {string} */ sentence) {
  note ??= new PageNote();
  note.say(sentence);
}
