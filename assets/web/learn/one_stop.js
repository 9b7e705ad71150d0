// Many controls as one stop of the Tab key: arrow keys go from one to the next, as in a toolbar.

const STEPS = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 });

/** Make it so for the controls of an element, those that are drawn later too.
 * @param {HTMLElement} node @param {string} selector */
export function oneStop(node, selector) {
  /** @type {() => HTMLElement[]} */
  const all = () => [...node.querySelectorAll(selector)].map((each) => /** @type {HTMLElement} */ (each));
  /** @type {(chosen: Element | null | undefined) => void} */
  const settle = (chosen) => {
    const controls = all();
    const stop = controls.find((each) => each === chosen) ?? controls.find((each) => isCurrent(each)) ?? controls[0];
    for (const each of controls) if (each.tabIndex !== (each === stop ? 0 : -1)) each.tabIndex = each === stop ? 0 : -1;
  };
  new MutationObserver(() =>
    settle(all().find((each) => each.tabIndex === 0 && each === document.activeElement)),
  ).observe(node, { childList: true, subtree: true });
  node.addEventListener("focusin", ({ target }) => target instanceof Element && settle(target.closest(selector)));
  node.addEventListener("keydown", (event) => {
    const step = STEPS[event.key] ?? 0;
    const controls = all();
    const at = controls.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (!step || at < 0 || event.defaultPrevented) return;
    event.preventDefault();
    controls[(at + step + controls.length) % controls.length].focus();
  });
  settle(null);
}

const isCurrent = (/** @type {Element} */ each) =>
  each.getAttribute("aria-current") === "step" || each.getAttribute("aria-pressed") === "true";
