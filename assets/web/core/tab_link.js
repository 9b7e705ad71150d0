// The tab in the link: the address says which one is open, and a link opens it.

/** @import { Selection } from "./selection.js" */

const PREFIX = "viz-tab-"; // of a tab's elem_id; its button adds "-button"
const FIRST = "attention";

/** The tab of a button's id; nothing for any other id. @type {(id: string) => string} */
export const tabOf = (id) => (id.startsWith(PREFIX) && id.endsWith("-button") ? id.slice(PREFIX.length, -7) : "");

/** Open the tab of the link, then write each that is opened. @param {Selection} selection */
export function followTabs(selection) {
  const tabs = document.getElementById("viz-tabs");
  if (selection.tab) document.getElementById(`${PREFIX}${selection.tab}-button`)?.click();
  if (!tabs) return;
  new MutationObserver(() => {
    const open = tabs.querySelector(`[role=tab][aria-selected=true][id^=${PREFIX}]`);
    const name = open ? tabOf(open.id) : "";
    if (name) selection.openTab(name === FIRST ? "" : name);
  }).observe(tabs, { attributeFilter: ["aria-selected"], subtree: true });
}
