// Texts of one's own, one set for the whole page: what is typed in one tab stands in the others, also after a reload.

import { Emitter } from "./emitter.js";

const KEPT = "viz.dataset"; // in the browser tab, and nowhere else

/** How a table with labels begins, in place of one text a line. */
export const HEADED = /^\s*(?:text|label|word)\s*,/i;

export const WHERE_KEPT =
  "Your texts stay in this browser tab, also after a reload or Back, and stand in every tab of the page that takes texts.";

/** @extends {Emitter<[text: string]>} */
class Dataset extends Emitter {
  text = kept(KEPT);

  constructor() {
    super();
    addEventListener("pagehide", () => keep(KEPT, this.text)); // once, and not with every key
  }

  set(/** @type {string} */ text) {
    if (text === this.text) return;
    this.text = text;
    this.tell(text);
  }

  /** A box with the texts: typing in it changes them. @param {HTMLTextAreaElement} box */
  bind(box) {
    const show = (/** @type {string} */ text) => {
      if (text === box.value) return;
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true })); // as if it was typed, for who else listens
    };
    if (this.text) show(this.text);
    else this.set(box.value);
    this.on(show);
    box.addEventListener("input", () => this.set(box.value));
  }
}

export const dataset = new Dataset();

/** What is kept in the browser tab by a name; "" where nothing is. @param {string} name */
export function kept(name) {
  try {
    return sessionStorage.getItem(name) ?? "";
  } catch {
    return ""; // the browser refuses
  }
}

/** Keep a text in the browser tab, where there is room. @type {(name: string, text: string) => void} */
export function keep(name, text) {
  try {
    sessionStorage.removeItem(name);
    sessionStorage.setItem(name, text);
  } catch {} // no room, or the browser refuses
}
