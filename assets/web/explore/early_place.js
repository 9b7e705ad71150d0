// A live place for the first tab until Gradio has built the page.

import { el } from "../core/dom.js";
import { linked } from "../core/run_host.js";

const NARROW = 1240; // pixels; below, the heading and the form take more lines, and the tab would jump

/** A root for the tab, in sight at once; null for a link, on a narrow screen, or where the page is there.
 * @returns {HTMLElement | null} */
export function earlyPlace() {
  if (linked || window.innerWidth < NARROW || document.querySelector(".viz-root")) return null;
  if (wantsDark()) document.body.classList.add("dark"); // as Gradio will do
  const root = el("div", { class: "viz-root" });
  const form = el("p", { class: "viz-caption" }, "Building the form …");
  const heading = el("header", { class: "viz-heading" }, el("h1", {}, "viz_encoder"));
  document.body.append(el("div", { id: "viz-early" }, heading, form, root));
  return root;
}

/** Into the place that the page has for it. @type {(early: HTMLElement, root: HTMLElement) => void} */
export function settle(early, root) {
  const before = early.getBoundingClientRect().top;
  root.replaceWith(early);
  document.getElementById("viz-early")?.remove();
  window.scrollBy(0, early.getBoundingClientRect().top - before); // nothing jumps, wherever one has scrolled to
}

function wantsDark() {
  const asked = new URLSearchParams(window.location.search).get("__theme");
  return asked ? asked === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}
