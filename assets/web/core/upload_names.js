// Gradio's upload boxes, called by what stands on them.

const NAMED = "button.upload-container[aria-label]";

/** Gradio gives the button of a box a name that its own words are no part of; without that name it is
 * called by its words, which is what one who speaks to the page says (WCAG 2.5.3). A cleared box has a
 * new button. @param {HTMLElement} box */
export function calledByItsText(box) {
  const drop = () => {
    for (const button of box.querySelectorAll(NAMED))
      if (button.textContent?.trim()) button.removeAttribute("aria-label");
  };
  drop();
  new MutationObserver(drop).observe(box, { childList: true, subtree: true, attributeFilter: ["aria-label"] });
}
