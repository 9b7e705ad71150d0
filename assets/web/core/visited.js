// Back and Forward: each run and each tab that was open is an entry of the browser's history.

import { openTab } from "./tab_link.js";

/** @import { Selection } from "./selection.js" */
/** @typedef {{ tab: string, link: string, passing?: boolean }} Entry `passing` to the run that takes its place */

const NAME = "viz"; // beside what Gradio keeps in an entry

/** Write an address: as a new entry where run or tab are other than those of the entry that one is on.
 * @type {(address: string, entry: Entry) => void} */
export function visit(address, entry) {
  /** @type {Entry | undefined} */
  const before = history.state?.[NAME];
  const state = { ...history.state, [NAME]: entry };
  const same = !before || before.passing || (before.tab === entry.tab && before.link === entry.link);
  if (same) history.replaceState(state, "", address);
  else history.pushState(state, "", address);
}

/** Go where Back and Forward lead; `ask` has the server fill the form and run what the address asks for.
 * @param {{ selection: Selection, on: (told: (run: Run | null) => void) => void }} current
 * @param {() => void} ask */
export function followBack(current, ask) {
  const { selection } = current;
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
