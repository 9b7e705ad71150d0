// A number that is dragged: sideways by the pointer, or by ← and →.

import { el } from "../core/dom.js";
import { fixed } from "./printed.js";

const [PER_PIXEL, STEP] = [0.03, 0.1];

/** `changed` is told each new number; `done` that the dragging has ended.
 * @type {(value: number, label: string, changed: (value: number) => unknown, done: () => unknown) => HTMLElement} */
export function scrubber(value, label, changed, done) {
  const node = el("span", { class: "viz-learn-scrub", role: "slider", tabindex: "0", "aria-label": label });
  let [now, from, start] = [value, 0, value];
  const show = () => {
    node.textContent = fixed(now, 2);
    node.ariaValueNow = String(now);
    node.ariaValueText = fixed(now, 2);
  };
  const set = (/** @type {number} */ next) => {
    now = Math.max(-99, Math.min(99, next));
    show();
    changed(now);
  };
  node.addEventListener("pointerdown", (event) => {
    [from, start] = [event.clientX, now];
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) set(start + (event.clientX - from) * PER_PIXEL);
  });
  node.addEventListener("lostpointercapture", done);
  node.addEventListener("keydown", (event) => {
    const by = { ArrowRight: STEP, ArrowLeft: -STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault(); // the arrows' meaning for the whole tab
    event.stopPropagation();
    set(now + by);
  });
  node.addEventListener("keyup", (event) => event.key.startsWith("Arrow") && done());
  show();
  return node;
}
