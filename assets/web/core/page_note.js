// One line over the whole page that moves nothing: the server is gone, or is full.

import { el } from "./dom.js";

/** @type {HTMLElement | null} */
let note = null;

/** "" takes it away. @param {string} sentence */
export function sayOverPage(sentence) {
  note ??= document.body.appendChild(el("p", { class: "viz-page-note", role: "status" }));
  note.textContent = sentence;
  note.hidden = !sentence;
}
