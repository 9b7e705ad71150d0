// Under a view, folded: what it shows as a picture or a table, a click each.

import { button, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";

/** @typedef {{ blob: Blob, name: string } | null} Saved null where the browser saves it by itself */
/** @typedef {[text: string, title: string, make: () => Promise<Saved> | Saved | Promise<unknown>]} Choice */

/** @type {(label: string, choices: Choice[]) => HTMLElement} */
export function saveRow(label, choices) {
  const said = el("span", { class: "viz-caption", role: "status" });
  const latest = new Latest((sentence) => {
    said.textContent = sentence;
  });
  const press = (/** @type {Choice[2]} */ make) => {
    said.textContent = "Preparing …";
    return latest.run(async (fresh) => {
      const made = /** @type {Saved} */ (await fresh(Promise.resolve(make())));
      if (made) save(made.blob, made.name);
      said.textContent = made ? `Saved ${made.name}.` : "";
    });
  };
  const buttons = choices.map(([text, title, make]) => button(text, () => press(make), { title }));
  const all = el("div", { class: "viz-saves", role: "group", "aria-label": label }, ...buttons, said);
  return el("details", { class: "viz-figure-take viz-folded" }, el("summary", { title: label }, "⤓ Save"), all);
}

// Download as if a link was clicked.
function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const href = URL.createObjectURL(blob);
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}
