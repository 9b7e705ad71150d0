// The notebook around a cell: it is told how high the cell is, and shows whether its page is dark.

import { context2d, el } from "./dom.js";

const DARK_PAGE = 0.5; // ink brighter than this is on a dark page

// Light or dark follows the color of the notebook's own text, and the system's where none is known.
export function followNotebook() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const turn = (/** @type {boolean} */ dark) => document.documentElement.classList.toggle("dark", dark);
  const alone = () => turn(system.matches);
  const tell = () => parent.postMessage({ height: Math.ceil(document.body.getBoundingClientRect().height) }, "*");
  let ink = "";
  turn(system.matches);
  system.addEventListener("change", alone);
  if (parent === window) return;
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || typeof data?.ink !== "string") return;
    system.removeEventListener("change", alone);
    turn(brightness(data.ink) > DARK_PAGE);
    if (data.ink !== ink) tell(); // the notebook listens now, if it did not before
    ink = data.ink;
  });
  new ResizeObserver(tell).observe(document.body);
  // The notebook answers with its ink, which may have changed since.
  document.documentElement.addEventListener("pointerenter", tell);
}

/** Brightness of a CSS color, 0 to 1. @type {(color: string) => number} */
function brightness(color) {
  const context = context2d(el("canvas"));
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
}
