// In the place of what Explore has around it on a page alone: an early place, Plotly's figures, and texts to be typed.

import { el } from "../../core/dom.js";
import { View } from "../../core/view.js";

export const earlyPlace = () => null;

export const settle = (/** @type {HTMLElement} */ _early, /** @type {HTMLElement} */ _root) => {};

export class AnyView extends View {
  node = el("div", { hidden: true });

  show(/** @type {Run} */ _run) {}
}
