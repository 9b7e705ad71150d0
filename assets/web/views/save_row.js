// Saving what a view shows, a click each: as a picture, a table or another file, in a menu over the page; and copying text.

import { current } from "../core/app_state.js";
import { button, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { ask } from "../core/server.js";
import { oneStop } from "./one_stop.js";
import { popover } from "./popover.js";

/** @typedef {{ blob: Blob, name: string } | string | Node | null} Saved a file, or what is told in place of one; null where the
 *   browser saves by itself */
/** @typedef {[text: string, title: string, make: () => Promise<Saved> | Saved | Promise<unknown>]} Choice */

/** What is said of the last press, until another run is shown. @type {HTMLElement | null} */
let told = null;
current.on(() => told?.replaceChildren());

/** The buttons, and what became of the one that was pressed last.
 * @type {(label: string, choices: Choice[], ...more: Node[]) => { node: HTMLElement, buttons: HTMLButtonElement[] }} */
export function saves(label, choices, ...more) {
  const said = el("span", { class: "viz-caption", role: "status" });
  const latest = new Latest((sentence) => said.replaceChildren(sentence));
  const press = (/** @type {Choice[2]} */ make) => {
    told = said;
    said.textContent = "Preparing …";
    return latest.run(async (fresh) => {
      const made = /** @type {Saved} */ (await fresh(Promise.resolve(make())));
      if (typeof made === "string" || made instanceof Node) return said.replaceChildren(made);
      if (made) save(made.blob, made.name);
      said.textContent = made ? `Saved ${made.name} (${sizeOf(made.blob)}).` : "";
    });
  };
  const buttons = choices.map(([text, title, make]) => button(text, () => press(make), { title }));
  const all = { class: "viz-saves", role: "group", "aria-label": label };
  return { node: el("div", all, ...buttons, ...more, said), buttons };
}

/** @type {(label: string, choices: Choice[], ...more: Node[]) => HTMLElement} */
export function saveRow(label, choices, ...more) {
  const opener = button("⤓ Save", () => {}, { class: "viz-take-open", title: label });
  const menu = oneStop(saves(label, choices, ...more).node);
  return el("span", { class: "viz-figure-take" }, opener, popover(opener, menu));
}

/** The file at a path of the server, by the name that comes with it. @param {string} path */
export async function fileAt(path) {
  const response = await ask(path);
  const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "run";
  return { blob: await response.blob(), name };
}

const sizeOf = (/** @type {Blob} */ { size }) =>
  size < 1e6 ? `${Math.max(1, Math.round(size / 1e3))} kB` : `${(size / 1e6).toFixed(1)} MB`;

// Download as if a link was clicked.
function save(/** @type {Blob} */ blob, /** @type {string} */ name) {
  const href = URL.createObjectURL(blob);
  el("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

/** What a node reads; it is selected where the browser lets no script write to the clipboard.
 * @type {(node: HTMLElement, said: HTMLElement) => Promise<void>} */
export async function copyText(node, said) {
  try {
    await navigator.clipboard.writeText(node.textContent ?? "");
    said.textContent = "Copied.";
  } catch {
    getSelection()?.selectAllChildren(node);
    said.textContent = "Selected; press Ctrl+C.";
  }
}
