// What a button opens over the page: below it and inside the window, wherever the page scrolls; Escape closes it.

import { el } from "../core/dom.js";

/** @type {(opener: HTMLButtonElement, ...content: (string | Node)[]) => HTMLElement} */
export function popover(opener, ...content) {
  const node = el("div", { popover: "auto", class: "viz-popover" }, ...content);
  const place = () => {
    const { left, bottom } = opener.getBoundingClientRect();
    const room = window.innerWidth - node.offsetWidth - 8;
    Object.assign(node.style, { left: `${Math.max(8, Math.min(left, room))}px`, top: `${bottom + 4}px` });
  };
  opener.popoverTargetElement = node;
  node.addEventListener("toggle", ({ newState }) => {
    window.removeEventListener("scroll", place);
    if (newState !== "open") return;
    place();
    window.addEventListener("scroll", place, { passive: true });
  });
  return node;
}
