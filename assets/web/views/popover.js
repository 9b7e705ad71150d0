// What a button opens over the page: below it and inside the window; Escape, a click elsewhere or a scroll closes it.

import { el } from "../core/dom.js";

/** @type {(opener: HTMLButtonElement, ...content: (string | Node)[]) => HTMLElement} */
export function popover(opener, ...content) {
  const node = el("div", { popover: "auto", class: "viz-popover" }, ...content);
  const close = () => node.hidePopover();
  opener.popoverTargetElement = node;
  node.addEventListener("toggle", ({ newState }) => {
    if (newState !== "open") return window.removeEventListener("scroll", close);
    const { left, bottom } = opener.getBoundingClientRect();
    const room = window.innerWidth - node.offsetWidth - 8;
    Object.assign(node.style, { left: `${Math.max(8, Math.min(left, room))}px`, top: `${bottom + 4}px` });
    window.addEventListener("scroll", close);
  });
  return node;
}
