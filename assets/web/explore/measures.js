// The measures of one question, in words, and the switch between them; by its name the server tells the numbers of each.

import { button, el } from "../core/dom.js";
import { DEFAULTS } from "../core/selection_address.js";
import { oneStop } from "../views/one_stop.js";

const CHANGED = "press Restore first"; // effects are measured on the run as the model gives it
const MASKED = "remove the mask first";

/** @typedef {{ title: string, about: string, heads: string, verb: string, how: string, map: string | null,
 *   working?: string }} Measure `map` is what its map holds, null where that is of weights; `working` is said while a
 *   measure that takes its time is measured */

/** @type {Record<string, Measure>} */
export const MEASURES = {
  attention: {
    title: "Attention",
    about: "where it looks",
    heads: "weight of the chosen pair",
    verb: "gives",
    how:
      "Attention rollout: average the heads of each block, count the residual stream as one half, and multiply through " +
      "the blocks. Each row adds up to 100%. It shows where heads look, not what reached the result.",
    map: null,
  },
  contribution: {
    title: "Contribution",
    about: "what reached the result",
    heads: "what each one brings",
    verb: "brings",
    how:
      "With attention, norms and activations held at their values in this run, each row and the later biases add up to " +
      "the result. It does not show what would happen without a token or head.",
    map: "share",
  },
  effect: {
    title: "Effect",
    about: "what changes without it",
    heads: "effect of removing each",
    verb: "removed changes the result by",
    how:
      "The model is rerun without each token, each head, and each link shown (cut in every head of its block). Effects " +
      "don’t add up, because other parts can compensate. The map takes a single head and unmerged tokens. A state or a vector " +
      "is measured along the direction that it had before.",
    map: "effect",
    working: "Removing each head, word and link",
  },
};

/** Why a measure cannot be told of a run; "" where it can. @type {(run: Run, measure: string) => string} */
export function missing(run, measure) {
  if (measure === DEFAULTS.measure) return "";
  if (run.unsplit || measure !== "effect") return run.unsplit;
  return run.changed?.changes.length ? CHANGED : run.masked ? MASKED : "";
}

/** The measure that is shown of a run: the chosen one, or the nearest that there is.
 * @type {(run: Run, measure: string) => string} */
export const offered = (run, measure) =>
  [measure, "contribution"].find((name) => !missing(run, name)) ?? DEFAULTS.measure;

export class MeasureSwitch {
  node = el("div", {
    class: "viz-measures",
    role: "group",
    "aria-label": "What the picture, the heads and the map tell",
  });

  /** @param {PageSelection} selection @param {AbortSignal} signal */
  constructor(selection, signal) {
    const all = Object.entries(MEASURES).map(([name, { title, about }]) => {
      const press = () => selection.set({ measure: name });
      const made = button("", press, { class: "viz-measure", "data-measure": name });
      made.append(el("b", {}, title), el("small", {}, about));
      return made;
    });
    this.node.append(...all);
    const mark = (shown = selection.measure) => {
      for (const each of all) each.setAttribute("aria-pressed", String(each.dataset.measure === shown));
    };
    selection.on((changed) => changed.has("measure") && mark(), signal);
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
