// Back and Forward: each run, each tab that was open and each choice of a person's is an entry of the browser's history.

import { openTab } from "./tab_link.js";

/** @typedef {{ tab: string, link: string, chosen: string, passing?: boolean }} Entry `passing` to the run that takes its
 *   place */

const NAME = "viz"; // beside what Gradio keeps in an entry
const SOON = 1_000; // milliseconds after a click within which it chose what changes
let clicked = -Infinity; // when a person last did what may choose something: no drag, and no way of the pointer

/** Write an address: as a new entry where run or tab are other than those of the entry that one is on, or a click chose.
 * @type {(address: string, entry: Entry, since?: number) => void} `since` when it was chosen; the page may be busy since */
export function visit(address, entry, since = performance.now()) {
  /** @type {Entry | undefined} */
  const before = history.state?.[NAME];
  const state = { ...history.state, [NAME]: entry };
  const there = before?.tab === entry.tab && before.link === entry.link;
  const chose = before?.chosen !== entry.chosen && since - clicked < SOON;
  if (!before || before.passing || (there && !chose)) return history.replaceState(state, "", address);
  clicked = -Infinity; // what follows from it is of the same entry
  history.pushState(state, "", address);
}

function noteClick(/** @type {Event & { key?: string }} */ { type, isTrusted, target, key }) {
  const drags = type === "change" && target instanceof HTMLInputElement && target.type === "range";
  const chooses = { click: isTrusted, change: !drags, keydown: key === "Enter" || key === " " }[type]; // a script opens tabs
  if (chooses) clicked = performance.now();
}

/** Go where Back and Forward lead; `ask` has the server fill the form and run what the address asks for.
 * @param {{ selection: PageSelection, on: (told: (run: Run | null) => void) => void }} current
 * @param {() => void} ask */
export function followBack(current, ask) {
  const { selection } = current;
  for (const event of ["click", "change", "keydown"]) addEventListener(event, noteClick, true);
  let coming = false; // the run of another entry
  current.on(() => {
    coming = false;
  });
  addEventListener("popstate", ({ state }) => {
    /** @type {Entry | undefined} */
    const entry = state?.[NAME];
    if (!entry) return;
    const other = entry.link !== selection.entry.link;
    selection.goBack(location.search, other);
    openTab(entry.tab);
    coming ||= other; // where one went on before it came, its answer must not be the last
    if (coming) ask();
  });
}
