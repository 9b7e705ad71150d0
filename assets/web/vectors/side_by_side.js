// A set by every pooling, side by side: each one's cosines, and how many nearest neighbors it leaves as they are.

import { caption, counted, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { numbers } from "../core/server.js";
import { afterBlocks } from "../core/states.js";
import { signedPicture } from "../views/matrix.js";
import { inOrder, ordered } from "./cosine_matrix.js";
import { called, fixed, OWN, signedBar } from "./results.js";

/** Items whose nearest neighbor stays, those where it is equally near within rounding, and of how many.
 * @typedef {{ method: string, same: number, tied: number, of: number }} Agreement */

const MOST = 100; // items: every method is a matrix of its own
const TIE = 1e-6; // rounding of cosines
const TOLD =
  "Each picture is one method's cosines of every pair of items, all in one color scale; click one for more. Items " +
  "whose cosines differ by less than 1e-6 are equally near.";

/** Count items with the same nearest neighbor in two cosine matrices, among those that have one in
 * both; neighbors equal within rounding are ties.
 * @param {Float32Array} before @param {Float32Array} after @param {number} n */
export function agreement(before, after, n) {
  let [same, tied, of] = [0, 0, 0];
  for (let item = 0; item < n; item++) {
    const [near, now] = [nearest(before, item, n), nearest(after, item, n)];
    if (near < 0 || now < 0) continue;
    of++;
    const row = after.subarray(item * n, (item + 1) * n);
    const atTop = (/** @type {number} */ value) => value >= row[now] - TIE;
    if (!atTop(row[near])) continue;
    if (row.filter((value, other) => other !== item && atTop(value)).length > 1) tied++;
    else same++;
  }
  return { same, tied, of };
}

/** The item of the largest cosine with one; −1 where it has none. @type {(values: Float32Array, item: number, n: number) => number} */
function nearest(values, item, n) {
  let best = -1;
  for (let other = 0; other < n; other++) {
    const value = values[item * n + other];
    if (other !== item && !Number.isNaN(value) && (best < 0 || value > values[item * n + best])) best = other;
  }
  return best;
}

/** The mean cosine of two different items; NaN where there is none. @type {(values: Float32Array, n: number) => number} */
export function meanCosine(values, n) {
  const known = [...values].filter((value, at) => at % (n + 1) && !Number.isNaN(value));
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** Whether the choice of the pooling changes who is nearest to whom.
 * @type {(found: Agreement[], reference: string, after: string) => string} */
export function answer(found, reference, after) {
  const away = (/** @type {Agreement} */ { same, tied, of }) => of - same - tied;
  const moved = found.filter((one) => away(one) > 0).sort((a, b) => away(b) - away(a));
  const near = found.some(({ tied }) => tied) ? ", or one that is equally near" : "";
  if (!moved.length)
    return `Every pooling gives every item the same nearest neighbor as ${called(reference)} does${near}, ${after}.`;
  const [{ method, of }] = moved;
  const kept = found.length - moved.length;
  const rest = kept ? ` ${counted(kept, "other method")} ${kept === 1 ? "changes" : "change"} none.` : "";
  return (
    `The pooling matters here: ${called(method)} gives ${away(moved[0])} of ${counted(of, "item")} ` +
    `another nearest neighbor than ${called(reference)}, ${after}.${rest}`
  );
}

export class SideBySide {
  #latest = new Latest((sentence) => {
    this.#drawn = ""; // so that it is tried again
    this.#say(sentence);
  });
  #drawn = ""; // which set after how many blocks
  /** @type {[string, Float32Array][]} */ #found = [];
  /** @type {Map<string, Agreement>} */ #alike = new Map();
  #reference = "";
  chosen = "";
  heading = el("h3");
  said = caption();
  cards = el("div", { class: "viz-side-cards", role: "group", "aria-label": "Choose a method" });
  scale = el("p", { class: "viz-caption viz-stat-scale" });
  node = el("section", { class: "viz-side", hidden: true }, this.heading, this.said, this.cards, this.scale);

  /** @param {(method: string) => unknown} choose @param {(sentence: string) => unknown} tell what the pictures say */
  constructor(choose, tell) {
    this.choose = choose;
    this.tell = tell;
  }

  /** @type {(set: SetDescription, layer: number) => unknown} */
  show(set, layer) {
    if (this.#drawn === `${set.key}:${layer}`) return;
    this.#drawn = `${set.key}:${layer}`;
    this.node.hidden = set.names.length < 2 || set.names.length > MOST;
    this.#found = [];
    this.cards.replaceChildren();
    if (this.node.hidden) return this.#latest.stop();
    this.heading.textContent = `Every method side by side, ${afterBlocks(layer)}`;
    this.#say("Computing …");
    return this.#latest.run(async (fresh) => {
      const asked = Object.keys(set.methods).map(async (method) => {
        const row = new URLSearchParams({ method, layer: `${layer}` });
        const { values } = await numbers(`viz/set/${set.key}/cosine?${row}`, fresh.signal);
        return /** @type {[string, Float32Array]} */ ([method, values]);
      });
      this.#found = await fresh(Promise.all(asked));
      this.#compare(set, layer);
      this.draw(set);
    });
  }

  #compare(/** @type {SetDescription} */ { methods, names: { length: n } }, /** @type {number} */ layer) {
    const reference = OWN in methods ? OWN : "mean";
    this.#reference = reference;
    const before = new Map(this.#found).get(reference);
    const alike = before && n > 2 ? this.#found.map(([method, of]) => ({ method, ...agreement(before, of, n) })) : [];
    this.#alike = new Map(alike.map((one) => [one.method, one]));
    const others = alike.filter(({ method }) => method !== reference);
    this.#say(TOLD);
    if (others.length) this.tell(answer(others, reference, afterBlocks(layer)));
  }

  // Also when light turns to dark.
  draw(/** @type {SetDescription} */ set) {
    if (!this.#found.length) return;
    this.scale.replaceChildren(...signedBar("−1", "1", "cosine"));
    this.cards.replaceChildren(...this.#found.map(([method, values]) => this.#card(set, method, values)));
    this.node.dataset.painted = this.#drawn;
    this.mark(this.chosen);
  }

  mark(/** @type {string} */ method) {
    this.chosen = method;
    for (const card of this.cards.querySelectorAll("button"))
      card.setAttribute("aria-pressed", String(card.dataset.method === method));
  }

  /** @type {(set: SetDescription, method: string, values: Float32Array) => HTMLElement} */
  #card({ labels, names: { length: n } }, method, values) {
    const shown = inOrder(values, ordered(labels, n).order);
    const alike = this.#alike.get(method);
    const said = [`mean cosine ${fixed(meanCosine(values, n), 2)}`];
    if (alike && method !== this.#reference) {
      const tied = alike.tied ? `, ${alike.tied} equally near` : "";
      said.push(`${alike.same} of ${alike.of} nearest neighbors the same${tied}`);
    }
    if (alike && method === this.#reference) said.push("the others are compared with it");
    return el(
      "button",
      { type: "button", class: "viz-side-card", "data-method": method, onclick: () => this.choose(method) },
      ...[signedPicture(shown, n), el("b", {}, called(method))],
      ...said.map((text) => el("span", {}, text)),
    );
  }

  #say(/** @type {string} */ sentence) {
    this.said.textContent = sentence;
  }
}
