// The tab in the link: the address says which one is open, and a link opens it.

/** @import { Selection } from "./selection.js" */

const PREFIX = "viz-tab-"; // of a tab's elem_id; its button adds "-button"
const FIRST = "attention";

/** The tab of a button's id; nothing for any other id. @type {(id: string) => string} */
export const tabOf = (id) => (id.startsWith(PREFIX) && id.endsWith("-button") ? id.slice(PREFIX.length, -7) : "");

// Open a tab, from a link within another; the first without a name.
export const openTab = (/** @type {string} */ name) => buttonOf(name || FIRST)?.click();

/** A tab's button; on a narrow screen it may be one of the menu, where it has its title alone, which Gradio's
 * own description of the page has too. @type {(name: string) => HTMLElement | null} */
function buttonOf(name) {
  const own = document.getElementById(`${PREFIX}${name}-button`);
  if (own) return own;
  const parts = /** @type {any} */ (window).gradio_config?.components ?? [];
  const title = parts.find((/** @type {any} */ { props }) => props?.elem_id === PREFIX + name)?.props.label;
  const menu = /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("#viz-tabs .overflow-dropdown button")
  );
  return [...menu].find((button) => button.textContent?.trim() === title) ?? null;
}

/** Open the tab of the link, then write each that is opened. @param {Selection} selection */
export function followTabs(selection) {
  const linked = selection.tab;
  // The page may still be building its tabs.
  const find = () => (linked ? buttonOf(linked) : document.getElementById("viz-tabs"));
  whenThere(find, (found) => {
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

/** @type {(find: () => HTMLElement | null, then: (found: HTMLElement) => void) => void} */
function whenThere(find, then) {
  const look = () => {
    const found = find();
    if (found) then(found);
    return found !== null;
  };
  if (look()) return;
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.documentElement, { childList: true, subtree: true, attributeFilter: ["id"] });
}
