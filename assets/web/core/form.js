// The form of the page, filled from a view: a text in place of the one that ran.

/** @typedef {keyof typeof BOXES} BoxName */

const PATIENCE = 60_000; // milliseconds for the form to be built; the second text has no box where only one is asked for
const BOXES = { a: "#viz-text-a textarea, #viz-text-a input", b: "#viz-text-b textarea, #viz-text-b input" };

export const textBox = (/** @type {BoxName} */ name) =>
  /** @type {HTMLTextAreaElement | HTMLInputElement | null} */ (document.querySelector(BOXES[name]));

/** Fill in a text as if it was typed. @type {(name: BoxName, text: string) => void} */
export function fill(name, text) {
  const box = textBox(name);
  if (!box) return;
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Wait until `find` returns something: the first map may appear before the form and the tabs. It is looked for once a
 * frame, since what was added just now doesn't listen yet.
 * @template T @param {() => T | null} find @returns {Promise<T>} */
export function built(find) {
  const until = performance.now() + PATIENCE;
  return new Promise((resolve) => {
    const look = () => {
      const found = find();
      if (found) resolve(found);
      else if (performance.now() < until) requestAnimationFrame(look);
    };
    requestAnimationFrame(look); // the form has taken over what the link holds by the frame after it is there
  });
}

/** Run another text, or pair of texts, with all else as the form has it. @param {string} text @param {string} [second] */
export async function runText(text, second = "") {
  const run = await built(() => textBox("a") && (!second || textBox("b")) && document.getElementById("viz-run"));
  fill("a", text);
  if (second) fill("b", second);
  requestAnimationFrame(() => run.click()); // the form takes the text over with its next update
}
