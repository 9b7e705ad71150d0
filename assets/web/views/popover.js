// What a button opens over the page: below it, or above it where there is no room; Escape closes it.

import { el } from "../core/dom.js";

/** @type {(opener: HTMLButtonElement, ...content: (string | Node)[]) => HTMLElement} */
export function popover(opener, ...content) {
  const node = el("div", { popover: "auto", class: "viz-popover" }, ...content);
  const place = () => {
    if (!node.matches(":popover-open")) return window.removeEventListener("scroll", place);
    const { left, top, bottom } = opener.getBoundingClientRect();
    const [wide, high] = [window.innerWidth - node.offsetWidth - 8, node.offsetHeight + 8];
    const above = bottom + high > window.innerHeight && top > high;
    const [up, down] = above ? ["auto", `${window.innerHeight - top + 4}px`] : [`${bottom + 4}px`, "auto"];
    Object.assign(node.style, { left: `${Math.max(8, Math.min(left, wide))}px`, top: up, bottom: down });
  };
  opener.popoverTargetElement = node;
  node.addEventListener("toggle", ({ newState }) => {
    if (newState === "open") window.addEventListener("scroll", place, { passive: true });
    place();
  });
  return node;
}
