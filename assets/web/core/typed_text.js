// Restores text that was typed but not run after the page reloads.
//
// The page reloads by itself where a run was asked for and the server had gone; without this, the
// form would then hold the text of the run before, and Run would run that.

import { current } from "./app_state.js";
import { built, fill, textBox } from "./form.js";

/** @import { BoxName } from "./form.js" */
/** @typedef {Partial<Record<BoxName, string>>} Typed */

const KEPT = "viz-typed"; // in the window's own memory, which a reload leaves and a new window lacks
const NAMES = /** @type {const} */ (["a", "b"]);

/** Texts to restore into the form: typed, but not what ran.
 * @type {(kept: string | null, link: Record<string, string>) => [BoxName, string][]} */
export function unrun(kept, link) {
  /** @type {Typed} */
  const typed = kept ? JSON.parse(kept) : {};
  return NAMES.flatMap((name) => {
    const text = typed[name];
    return text !== undefined && text !== (link[name] ?? "") ? [[name, text]] : [];
  });
}

// Watch the form, also one that is still being built; after a reload, fill it as it was.
export function keepTyped() {
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  let waits = entry?.type === "reload"; // for the first run, with which the form is filled
  document.addEventListener("input", ({ target }) => {
    if (!NAMES.some((name) => target === textBox(name))) return;
    const typed = Object.fromEntries(NAMES.map((name) => [name, textBox(name)?.value ?? ""]));
    sessionStorage.setItem(KEPT, JSON.stringify(typed));
  });
  current.on((run) => {
    if (!run) return;
    const typed = unrun(sessionStorage.getItem(KEPT), run.link);
    if (!typed.length) sessionStorage.removeItem(KEPT);
    if (waits) for (const [name, text] of typed) built(() => textBox(name)).then(() => fill(name, text));
    waits = false;
  });
}
