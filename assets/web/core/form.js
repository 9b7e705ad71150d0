// The form of the page, filled from a view: a text in place of the one that ran.

/** Run another text with all else as the form has it. @param {string} text */
export function runText(text) {
  const box = document.querySelector("#viz-text-a textarea, #viz-text-a input");
  if (!(box instanceof HTMLTextAreaElement || box instanceof HTMLInputElement)) return;
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  // The form takes the text over with its next update.
  requestAnimationFrame(() => document.getElementById("viz-run")?.click());
}
