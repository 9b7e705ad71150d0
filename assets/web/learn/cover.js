// Covers what a question asks for, wherever it stands on the step, until the question is answered or its answer shown.

/** @import { Exercise } from "./requests.js" */

const COVERED = "viz-covered";
const CELL = "data-asks";

/**
 * Attributes of what an exercise asks for: its id or ids, and where it asks for one number of a vector, which; of a
 * number that may be another than that which is asked for, `value`.
 * @type {(ids: string, about?: { cell?: number, value?: number }) => Record<string, string | number>}
 */
export const asksFor = (ids, { cell, value } = {}) => ({
  ...{ [CELL]: ids },
  ...(cell === undefined ? {} : { "data-cell": cell }),
  ...(value === undefined ? {} : { "data-value": value }),
});

/** Whether an element is what one of these exercises asks for.
 * @type {(about: { asks: string, cell?: string, value?: string }, open: Exercise[]) => boolean} */
export const isAsked = ({ asks, cell, value }, open) =>
  open.some(
    (each) =>
      asks.split(" ").includes(each.id) &&
      (cell === undefined || Number(cell) === each.cell) &&
      (value === undefined || Number(value) === each.answer),
  );

export class Cover {
  /** @type {Exercise[] | null} null until it is known what is asked: then all is covered that may be */
  open = null;

  /** `covers` is an element in which steps draw at any time. @param {HTMLElement} covers */
  constructor(covers) {
    this.covers = covers;
    new MutationObserver(() => this.apply()).observe(covers, { childList: true, subtree: true });
  }

  /** @param {Exercise[] | null} open */
  show(open) {
    this.open = open;
    this.apply();
  }

  /** Whether an exercise is asked and open. @param {string} id */
  asks(id) {
    return this.open === null || this.open.some((each) => each.id === id);
  }

  apply() {
    for (const node of this.covers.querySelectorAll(`[${CELL}]`)) {
      const { asks = "", cell, value } = /** @type {HTMLElement} */ (node).dataset;
      const covered = this.open === null || isAsked({ asks, cell, value }, this.open);
      if (node.classList.contains(COVERED) !== covered) node.classList.toggle(COVERED, covered);
    }
  }
}
