// The tab in the link: the address says which one is open, and a link opens it.

import { built } from "./form.js";

const PREFIX = "viz-tab-"; // of a tab's elem_id; its button adds "-button"
const SELECTED = "[role=tab][aria-selected=true]";

/** The tab of a button's id; "" of another button. @param {string} id */
export const tabOf = (id) =>
  id.startsWith(PREFIX) && id.endsWith("-button") ? id.slice(PREFIX.length, -"-button".length) : "";

/** Open a tab, the first of all without a name, and one of its parts. @type {(name: string, part?: string) => void} */
export function openTab(name, part = "") {
  built(() => buttonOf(name || firstTab())).then((button) => button.click());
  if (part) built(() => partOf(name, part)).then((button) => button.click());
}

/** @type {(name: string, part: string) => HTMLElement | null} */
const partOf = (name, part) => document.querySelector(`#${PREFIX}${name} button[data-part=${part}]`);

/** The button of a tab; on a narrow screen it may be one of the menu, where it has its title alone, which Gradio's own
 * description of the page has too. @type {(name: string) => HTMLElement | null} */
function buttonOf(name) {
  const id = PREFIX + name;
  const parts = /** @type {any} */ (window).gradio_config?.components ?? [];
  const title = parts.find((/** @type {any} */ { props }) => props?.elem_id === id)?.props.label;
  const menu = /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("#viz-tabs .overflow-dropdown button")
  );
  return (
    document.getElementById(`${id}-button`) ?? [...menu].find((button) => button.textContent?.trim() === title) ?? null
  );
}

/** Open the tab of the link, then write each that is opened. @param {PageSelection} selection */
export function followTabs(selection) {
  const { tab, part } = selection;
  // The page may still be building its tabs.
  built(() => (tab ? buttonOf(tab) : tabsNode())).then(() => {
    if (tab) openTab(tab, part);
    follow(selection, tabsNode());
  });
}

const tabsNode = () => document.getElementById("viz-tabs");
const firstTab = () => tabOf(document.querySelector(`#viz-tabs [id^=${PREFIX}][role=tab]`)?.id ?? "");

function follow(/** @type {PageSelection} */ selection, /** @type {HTMLElement | null} */ tabs) {
  if (!tabs) return;
  const write = () =>
    built(() => tabs.querySelector(SELECTED)).then(({ id }) => {
      if (tabOf(id)) selection.openTab(tabOf(id) === firstTab() ? "" : tabOf(id));
    });
  new MutationObserver(write).observe(tabs, { attributeFilter: ["aria-selected"], subtree: true });
}
