// The switch between the measures: it drives the picture, the heads and the map alike.

import { button, el } from "../core/dom.js";
import { oneStop } from "../views/one_stop.js";
import { MEASURES } from "./measures.js";

/** @import { Selection } from "./types.d.ts" */

export class MeasureSwitch {
  node = el("div", {
    class: "viz-measures",
    role: "group",
    "aria-label": "What the picture, the heads and the map tell",
  });

  constructor(/** @type {Selection} */ selection) {
    const all = Object.entries(MEASURES).map(([name, { title, about }]) => {
      const press = () => selection.set({ measure: name });
      const made = button("", press, { class: "viz-measure", "data-measure": name });
      made.append(el("b", {}, title), el("small", {}, about));
      return made;
    });
    this.node.append(...all);
    const mark = () => {
      for (const each of all) each.setAttribute("aria-pressed", String(each.dataset.measure === selection.measure));
    };
    selection.on((changed) => changed.has("measure") && mark());
    /** Why a measure is not offered, by its name; "" where it is; `elsewhere` is said already.
     * @type {(why: (measure: string) => string, elsewhere: string) => void} */
    this.allow = (why, elsewhere) => {
      this.node.classList.toggle("viz-fewer", Object.keys(MEASURES).some(why));
      for (const each of all) {
        const said = why(String(each.dataset.measure));
        Object.assign(each, { disabled: Boolean(said), title: said });
        /** @type {HTMLElement} */ (each.lastChild).textContent =
          said && said !== elsewhere ? said : MEASURES[String(each.dataset.measure)].about;
      }
    };
    this.mark = mark;
    mark();
    oneStop(this.node, "button:enabled");
  }
}
