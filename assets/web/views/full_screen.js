// A view alone over the whole window: by its button or the key f; Escape or f again leaves.

import { button, svg } from "../core/dom.js";

/** @typedef {{ opener: HTMLButtonElement, redraw: () => unknown, names: typeof SCREEN }} View */

/** What its button does, then and there. */
export const SCREEN = { open: "Full screen (key f)", close: "Leave full screen (key f)" };

const FULL = "viz-full";
const CORNERS = "M5 1H1v4M9 1h4v4M5 13H1V9M9 13h4V9";
const FIELDS = "input, textarea, select, [contenteditable]";

/** @type {WeakMap<HTMLElement, View>} */ const views = new WeakMap();
/** @type {HTMLElement | null} */ let shown = null;
let listens = false;

/** The button that shows a view alone; `redraw` fits what it draws to the new room.
 * @type {(node: HTMLElement, redraw?: () => unknown) => HTMLButtonElement} */
export function fullScreen(node, redraw = () => {}) {
  const named = { class: "viz-small viz-full-open", "aria-pressed": "false" };
  const opener = button("", () => toggle(node), named);
  const line = { d: CORNERS, fill: "none", stroke: "currentColor", "stroke-width": 1.6 };
  opener.append(svg("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" }, svg("path", line)));
  label(opener, SCREEN.open);
  if (!listens) listen();
  views.set(node, { opener, redraw, names: SCREEN });
  node.classList.add("viz-fullable");
  return opener;
}

/** Name the button of a view in another language. @type {(node: HTMLElement, names: typeof SCREEN) => void} */
export function nameScreen(node, names) {
  const view = views.get(node);
  if (!view) return;
  view.names = names;
  label(view.opener, shown === node ? names.close : names.open);
}

/** The pixels that are left for one part of a view that is alone in the window, below and above its other
 * parts; 0 where the view is not alone. @type {(part: HTMLElement) => number} */
export function fullHeight(part) {
  if (!shown?.contains(part)) return 0;
  let others = 0;
  for (let at = part; at !== shown && at.parentElement; at = at.parentElement) others += besides(at);
  const { paddingTop, paddingBottom } = getComputedStyle(shown);
  return Math.max(200, window.innerHeight - others - Number.parseFloat(paddingTop) - Number.parseFloat(paddingBottom));
}

// The height of what stands above and below a node, where it does not stand beside it.
function besides(/** @type {HTMLElement} */ node) {
  const [{ top, bottom }, all] = [node.getBoundingClientRect(), node.parentElement?.children ?? []];
  let height = 0;
  for (const other of all) {
    const box = other.getBoundingClientRect();
    if (other === node || !box.height || getComputedStyle(other).position === "absolute") continue;
    const { marginTop, marginBottom } = getComputedStyle(other);
    if (box.bottom <= top + 1 || box.top >= bottom - 1)
      height += box.height + Number.parseFloat(marginTop) + Number.parseFloat(marginBottom);
  }
  return height;
}

function label(/** @type {HTMLButtonElement} */ opener, /** @type {string} */ text) {
  opener.title = text;
  opener.ariaLabel = text.replace(/ \(.*/, "");
}

function toggle(/** @type {HTMLElement} */ node) {
  if (shown === node) leave();
  else enter(node);
}

// Without full screen, show the view as a popover: no ancestor clips the top layer.
async function enter(/** @type {HTMLElement} */ node) {
  if (shown) leave();
  shown = node;
  mark(node, true);
  try {
    await node.requestFullscreen();
    if (shown !== node) await away(node); // already left
  } catch {
    if (shown === node) cover(node);
  }
  again();
}

function cover(/** @type {HTMLElement} */ node) {
  node.setAttribute("popover", "manual");
  node.showPopover?.();
}

function leave() {
  const node = shown;
  shown = null;
  if (!node) return;
  mark(node, false);
  node.removeAttribute("popover"); // which closes it
  away(node);
}

// Drawn anew once the browser has left, so that the view fits the window as it is then.
async function away(/** @type {HTMLElement} */ node) {
  if (document.fullscreenElement === node) await document.exitFullscreen().catch(() => {});
  requestAnimationFrame(() => {
    views.get(node)?.redraw();
    node.scrollIntoView({ block: "nearest" });
  });
}

function mark(/** @type {HTMLElement} */ node, /** @type {boolean} */ full) {
  const view = views.get(node);
  node.classList.toggle(FULL, full);
  document.documentElement.classList.toggle("viz-has-full", full);
  if (!view) return;
  view.opener.ariaPressed = String(full);
  label(view.opener, full ? view.names.close : view.names.open);
}

const again = () => requestAnimationFrame(() => shown && views.get(shown)?.redraw());

// The view that a key is meant for: the one with the focus by keyboard, else the one under the pointer.
function meant() {
  const focused = document.activeElement?.closest(".viz-fullable");
  const pointed = [...document.querySelectorAll(".viz-fullable:hover")].at(-1);
  const byKeyboard = document.activeElement?.matches(":focus-visible");
  return /** @type {HTMLElement | null} */ ((byKeyboard ? (focused ?? pointed) : (pointed ?? focused)) ?? null);
}

// Once, with the first view.
function listen() {
  listens = true;
  document.addEventListener("fullscreenchange", () => {
    if (shown && !document.fullscreenElement) leave();
  });
  window.addEventListener("resize", again);
  document.addEventListener("keydown", (event) => {
    const { key, target, ctrlKey, metaKey, altKey, defaultPrevented } = event;
    if (key === "Escape" && shown && !defaultPrevented) return leave();
    const typed = target instanceof Element && target.closest(FIELDS);
    if (key.toLowerCase() !== "f" || typed || ctrlKey || metaKey || altKey || defaultPrevented) return;
    const node = shown ?? meant();
    if (!node || !views.has(node)) return;
    event.preventDefault();
    toggle(node);
  });
}
