// The tab in the link: the address says which one is open, and a link opens it.

import { built } from "./form.js";

/** @import { Selection } from "./selection.js" */

const PREFIX = "viz-tab-"; // of a tab's elem_id; its button adds "-button"
const SHARED = "viz-tabs-"; // of one that holds several, whose names follow
const FIRST = "explore";
const SELECTED = "[role=tab][aria-selected=true]";
let awaited = ""; // the tab that is being opened within another

/** The tabs of a button's id: one, or those that its tab holds. @type {(id: string) => string[]} */
export function tabsOf(id) {
  const name = id.replace(/-button$/, "");
  if (name.startsWith(SHARED)) return name.slice(SHARED.length).split("-");
  return name !== id && name.startsWith(PREFIX) ? [name.slice(PREFIX.length)] : [];
}

/** Open a tab, and first the one that holds it; the first of all without a name. */
export function openTab(/** @type {string} */ name) {
  const wanted = name || FIRST;
  awaited = wanted;
  buttonOf(SHARED, wanted)?.click();
  built(() => buttonOf(PREFIX, wanted)).then((button) => {
    if (awaited !== wanted) return; // another was asked for meanwhile
    button.click();
    awaited = "";
  });
}

/** The button of a tab, or of the one that holds it; on a narrow screen it may be one of the menu, where it has its
 * title alone, which Gradio's own description of the page has too. @type {(prefix: string, name: string) => HTMLElement | null} */
function buttonOf(prefix, name) {
  const isIt = (/** @type {string} */ id) => id.startsWith(prefix) && tabsOf(`${id}-button`).includes(name);
  const parts = /** @type {any} */ (window).gradio_config?.components ?? [];
  const { elem_id: id, label: title } =
    parts.find((/** @type {any} */ { props }) => isIt(props?.elem_id ?? ""))?.props ?? {};
  if (!id) return null;
  const menu = /** @type {NodeListOf<HTMLElement>} */ (
    document.querySelectorAll("#viz-tabs .overflow-dropdown button")
  );
  return (
    document.getElementById(`${id}-button`) ?? [...menu].find((button) => button.textContent?.trim() === title) ?? null
  );
}

/** Open the tab of the link, then write each that is opened. @param {Selection} selection */
export function followTabs(selection) {
  const linked = selection.tab;
  // The page may still be building its tabs.
  const find = () => (linked ? (buttonOf(SHARED, linked) ?? buttonOf(PREFIX, linked)) : tabsNode());
  built(find).then(() => {
    if (linked) openTab(linked);
    follow(selection, tabsNode());
  });
}

const tabsNode = () => document.getElementById("viz-tabs");

function follow(/** @type {Selection} */ selection, /** @type {HTMLElement | null} */ tabs) {
  if (!tabs) return;
  const write = () =>
    built(() => selectedIn(tabs)).then((button) => {
      const [name] = tabsOf(button.id);
      const onTheWay = name !== awaited && tabsOf(tabs.querySelector(SELECTED)?.id ?? "").includes(awaited);
      if (name && !onTheWay) selection.openTab(name === FIRST ? "" : name);
    });
  new MutationObserver(write).observe(tabs, { attributeFilter: ["aria-selected"], subtree: true });
}

/** The button of the open tab, within the one that holds it; null until it is built. @type {(tabs: HTMLElement) => HTMLElement | null} */
function selectedIn(tabs) {
  const button = /** @type {HTMLElement | null} */ (tabs.querySelector(SELECTED));
  if (!button?.id.startsWith(SHARED)) return button;
  const panel = document.getElementById(button.getAttribute("aria-controls") ?? "");
  return panel && selectedIn(panel);
}
