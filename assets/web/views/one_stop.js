// A list of buttons, or a table of controls, as one stop of the Tab key: arrows walk through it, Enter presses.

const ENDS = { Home: -Infinity, End: Infinity };
/** @type {Record<string, number>} */
export const STEPS = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, ...ENDS };

const CURRENT = "[aria-pressed=true], [aria-current=step], [aria-selected=true]";

/** Scroll a box, and not the page, until a node in it is in sight, below so many pixels.
 * @type {(box: HTMLElement, node: HTMLElement, above: number) => void} */
export function revealIn(box, node, above) {
  const [outer, inner] = [box, node].map((each) => each.getBoundingClientRect());
  const top = outer.top + box.clientTop;
  const [over, under] = [inner.top - top - above, inner.bottom - top - box.clientHeight]; // no bar of the box is over it
  if (over < 0) box.scrollTop += over;
  else if (under > 0) box.scrollTop += under;
}

/** The controls in a node become one stop, also those that come later or are shown again: at first the pressed one, or else the first.
 * @template {HTMLElement} Node @param {Node} node @param {string} selector */
export function oneStop(node, selector = "button") {
  const all = () => [.../** @type {NodeListOf<HTMLElement>} */ (node.querySelectorAll(selector))];
  const stop = (/** @type {HTMLElement | undefined} */ at) => {
    for (const one of all()) one.tabIndex = one === at ? 0 : -1;
  };
  const settle = () => {
    const buttons = all();
    if (buttons.filter((one) => one.tabIndex === 0).length !== 1)
      stop(buttons.find((one) => one.matches(CURRENT)) ?? buttons[0]);
  };
  new MutationObserver(settle).observe(node, { childList: true, subtree: true, attributeFilter: ["hidden"] });
  node.addEventListener("focusin", ({ target }) => {
    const one = /** @type {HTMLElement} */ (target);
    if (one.matches(selector)) stop(one);
  });
  node.addEventListener("keydown", (event) => {
    const by = STEPS[event.key];
    const buttons = all();
    const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (!by || at < 0 || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    buttons[Math.max(0, Math.min(buttons.length - 1, at + by))].focus();
  });
  settle();
  return node;
}
