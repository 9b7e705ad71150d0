// Share, in the bar: the address of what is shown is copied, or else shown to be copied by hand.

import { current } from "./app_state.js";
import { el } from "./dom.js";

const COPIED = "Link copied";
const FOR = 2_000; // ms

/** Follow clicks on the button, which Gradio may draw anew. */
export function offerLink() {
  document.addEventListener("click", ({ target }) => {
    const share = target instanceof Element && target.closest("#viz-link");
    if (share) copy(share);
  });
}

async function copy(/** @type {Element} */ share) {
  current.selection.flush();
  try {
    await navigator.clipboard.writeText(location.href);
  } catch {
    return showLink(share); // where the page may not write to the clipboard
  }
  share.ariaLabel = COPIED; // which the style shows in place of its name
  setTimeout(() => share.removeAttribute("aria-label"), FOR);
}

// The address, selected, below the button, until something else is used.
function showLink(/** @type {Element} */ share) {
  const link = el("input", {
    class: "viz-share-link",
    readonly: true,
    value: location.href,
    "aria-label": "Link to copy",
  });
  link.addEventListener("blur", () => link.remove());
  share.after(link);
  link.select();
}
