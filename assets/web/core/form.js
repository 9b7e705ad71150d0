// The form of the page, filled from a view: a text in place of the one that ran.

/** @typedef {keyof typeof BOXES} BoxName */

const BOXES = { a: "#viz-text-a textarea, #viz-text-a input", b: "#viz-text-b textarea, #viz-text-b input" };

export const textBox = (/** @type {BoxName} */ name) =>
  /** @type {HTMLTextAreaElement | HTMLInputElement | null} */ (document.querySelector(BOXES[name]));

/** Have the form hold a text, as if it was typed. @type {(name: BoxName, text: string) => void} */
export function fill(name, text) {
  const box = textBox(name);
  if (!box) return;
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Run another text with all else as the form has it. @param {string} text */
export function runText(text) {
  fill("a", text);
  // The form takes the text over with its next update.
  requestAnimationFrame(() => document.getElementById("viz-run")?.click());
}
