// A step of the lesson, or a part of one: a view that keeps what it shows.

import { caption, el } from "../core/dom.js";
import { View } from "../core/view.js";

/** @import { Acts, Shown } from "./types.d.ts" */

export class StepView extends View {
  note = caption();
  said = el("p", { class: "viz-learn-equation", role: "status" });
  /** @type {Shown} */
  shown = /** @type {any} */ (null); // until it is first shown
  /** @type {StepView[]} parts of it, which show the same */
  views = [];
  /** @type {HTMLElement | null} */
  beside = null; // what stands below the question

  constructor(/** @type {Acts} */ acts) {
    super();
    this.acts = acts;
  }

  show(/** @type {Shown} */ shown) {
    this.shown = shown;
    this.draw();
    for (const view of this.views) view.show(shown);
  }

  /** The sentence over the step, once it is shown. @returns {string | (string | Node)[]} */
  headline() {
    return "";
  }

  // Other exercises are open.
  asked() {}

  // One asks for this number of a vector.
  print(/** @type {number} */ cell) {
    this.acts.choose({ around: cell });
  }
}
