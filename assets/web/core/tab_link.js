// The tab in the link: the address says which one is open, and a link opens it.

/** @import { Selection } from "./selection.js" */

const PREFIX = "viz-tab-"; // of a tab's elem_id; its button adds "-button"
const FIRST = "attention";

/** The tab of a button's id; nothing for any other id. @type {(id: string) => string} */
export const tabOf = (id) => (id.startsWith(PREFIX) && id.endsWith("-button") ? id.slice(PREFIX.length, -7) : "");

// Open a tab, from a link within another.
export const openTab = (/** @type {string} */ name) => document.getElementById(`${PREFIX}${name}-button`)?.click();

/** Open the tab of the link, then write each that is opened. @param {Selection} selection */
export function followTabs(selection) {
  const linked = selection.tab;
  // The page may still be building its tabs.
  whenThere(linked ? `${PREFIX}${linked}-button` : "viz-tabs", (found) => {
    if (linked) found.click();
    follow(selection, document.getElementById("viz-tabs"));
  });
}

function follow(/** @type {Selection} */ selection, /** @type {HTMLElement | null} */ tabs) {
  if (!tabs) return;
  new MutationObserver(() => {
    const open = tabs.querySelector(`[role=tab][aria-selected=true][id^=${PREFIX}]`);
    const name = open ? tabOf(open.id) : "";
    if (name) selection.openTab(name === FIRST ? "" : name);
  }).observe(tabs, { attributeFilter: ["aria-selected"], subtree: true });
}

/** @type {(id: string, then: (found: HTMLElement) => void) => void} */
function whenThere(id, then) {
  const look = () => {
    const found = document.getElementById(id);
    if (found) then(found);
    return found !== null;
  };
  if (look()) return;
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["id"] });
}
