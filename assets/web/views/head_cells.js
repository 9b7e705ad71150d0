// A cell for each head, a row a layer: Tab leads to one of them, arrows walk, and a click chooses.

import { el, onWidth } from "../core/dom.js";
import { headName, walked } from "./cells.js";

/** @typedef {{ kind: string, sizes: [roomy: number, narrow: number], parts: (keyof HTMLElementTagNameMap)[],
 *   numbered?: boolean, walks?: boolean, choose: (place: HeadPlace, event: Event) => unknown, tell?: (place: HeadPlace | null) => unknown,
 *   aim?: (place: HeadPlace | null) => unknown }} Options
 *   `kind` begins the names of its classes; `sizes` in pixels of a cell: from here on its parts have room, in two
 *   sizes; `parts` of a cell below its name; `numbered`: heads have their numbers above them; `walks`: arrows choose as they move; `tell` of the head under the pointer or the focus; `aim` of one
 *   that the next click may choose, null where it was left */

const REST = 50; // milliseconds on a head, after which it is aimed at: not while the pointer sweeps over others

export class HeadCells {
  /** @type {HTMLButtonElement[][]} */
  cells = [];
  /** @type {HTMLButtonElement[]} */
  #standing = []; // as they stand, row by row
  #ranked = false;
  #at = { layer: 0, head: 0 }; // the cell that Tab leads to

  /** @param {HTMLElement} node @param {Options} options */
  constructor(node, options) {
    this.node = node;
    this.options = options;
    const { choose, tell = () => {}, aim } = options;
    node.classList.add("viz-heads");
    node.addEventListener("click", (event) => {
      const place = placeOf(event.target);
      if (place) choose(place, event);
    });
    if (aim) aims(node, aim);
    for (const event of ["pointerover", "focusin"]) node.addEventListener(event, (e) => tell(placeOf(e.target)));
    for (const event of ["pointerleave", "focusout"]) node.addEventListener(event, () => tell(null));
    node.addEventListener("keydown", (event) => this.#key(event));
    onWidth(node, () => requestAnimationFrame(() => this.#fit()));
  }

  // New cells, of a model with so many heads.
  enter(/** @type {number} */ nLayers, /** @type {number} */ nHeads) {
    const { kind, numbered = false } = this.options;
    this.cells = Array.from({ length: nLayers }, (_, layer) =>
      Array.from({ length: nHeads }, (_, head) => this.#cell(headName({ layer, head }))),
    );
    [this.#standing, this.#ranked] = [this.cells.flat(), false];
    this.node.style.setProperty("--heads", String(nHeads));
    const number = (/** @type {number | string} */ at) => el("span", { "aria-hidden": "true" }, String(at));
    const line = (/** @type {Node[]} */ ...nodes) => el("div", { class: `viz-heads-layer ${kind}-layer` }, ...nodes);
    const heads = line(number(""), ...Array.from({ length: nHeads }, (_, head) => number(head)));
    heads.classList.add("viz-heads-numbers");
    this.node.replaceChildren(
      ...(numbered ? [heads] : []),
      ...this.cells.map((row, layer) => line(number(layer), ...row)),
    );
    this.goTo({ layer: 0, head: 0 });
    this.#fit();
  }

  /** Put the cells in another order; `ranked`: their rows begin with a rank, and arrows go on in the next row.
   * @type {(places: HeadPlace[], ranked: boolean) => void} */
  stand(places, ranked) {
    const { activeElement } = document;
    const across = this.cells[0].length;
    [this.#standing, this.#ranked] = [places.map((place) => this.cells[place.layer][place.head]), ranked];
    for (const [row, line] of [...this.node.children].slice(-this.cells.length).entries()) {
      line.children[0].textContent = String(ranked ? row * across + 1 : row);
      line.append(...this.#standing.slice(row * across, (row + 1) * across));
    }
    if (activeElement instanceof HTMLElement && this.node.contains(activeElement))
      activeElement.focus({ preventScroll: true });
  }

  /** Mark pressed cells; the first is the tab stop, unless the focus is inside.
   * @param {HeadPlace[]} chosen */
  mark(chosen) {
    const names = new Set(chosen.map(headName));
    for (const cell of this.cells.flat()) {
      const pressed = String(names.has(cell.dataset.head ?? ""));
      if (cell.ariaPressed !== pressed) cell.ariaPressed = pressed;
    }
    const [first] = chosen;
    if (first && !this.node.contains(document.activeElement)) this.goTo(first);
  }

  goTo(/** @type {HeadPlace} */ place) {
    this.#of(this.#at)?.setAttribute("tabindex", "-1");
    this.#at = place;
    this.#of(place)?.setAttribute("tabindex", "0");
  }

  #of(/** @type {HeadPlace} */ { layer, head }) {
    return this.cells[layer]?.[head];
  }

  #cell(/** @type {string} */ name) {
    const { kind, parts } = this.options;
    const named = { class: `viz-heads-cell ${kind}-cell`, tabindex: "-1", "data-head": name };
    return el("button", { type: "button", ...named }, el("b", {}, name), ...parts.map((part) => el(part)));
  }

  #fit() {
    const { clientWidth } = this.node;
    if (!clientWidth || !this.cells.length) return;
    const each = (clientWidth - 18) / this.cells[0].length;
    const [roomy, narrow] = this.options.sizes;
    this.node.dataset.size = each >= roomy ? "roomy" : each >= narrow ? "narrow" : "tiny";
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const place = placeOf(event.target);
    if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
    const cell = this.#next(event.key, place);
    if (!cell) return;
    event.preventDefault();
    const to = placeOf(cell);
    if (!to || cell.hidden) return;
    if (this.options.walks) this.options.choose(to, event);
    this.goTo(to);
    cell.focus({ preventScroll: this.options.walks });
  }

  /** The cell that a key leads to; undefined of any other key. @type {(key: string, from: HeadPlace) => HTMLButtonElement | undefined} */
  #next(key, from) {
    const across = this.cells[0].length;
    const at = this.#standing.indexOf(this.cells[from.layer][from.head]);
    const along = { ArrowLeft: at - 1, ArrowRight: at + 1 }[key];
    if (this.#ranked && along !== undefined) return this.#standing[along] ?? this.#standing[at];
    const to = walked(key, [Math.floor(at / across), at % across], this.cells.length, across);
    return to ? this.#standing[to[0] * across + to[1]] : undefined;
  }
}

/** Tell of the head that the pointer or the focus rests on, or that is pressed: a click may choose it next; null once
 * it is left. @type {(node: HTMLElement, aim: (place: HeadPlace | null) => unknown) => void} */
function aims(node, aim) {
  let [timer, at] = [0, ""];
  const rest = (/** @type {Event & { pointerType?: string, relatedTarget?: unknown }} */ event) => {
    const { type, target, pointerType, relatedTarget } = event;
    if (type === "focusout" && placeOf(relatedTarget)) return; // it goes on to another cell
    const there = pointerType !== "touch" && !["pointerleave", "focusout"].includes(type); // a finger may be about to scroll
    const place = there ? placeOf(target) : null;
    const name = place ? headName(place) : "";
    if (name === at && type !== "pointerdown") return;
    clearTimeout(timer);
    if (at && name !== at) aim(null);
    at = name;
    if (place && type === "pointerdown") aim(place);
    else if (place) timer = setTimeout(aim, REST, place);
  };
  for (const event of ["pointerover", "focusin", "pointerdown", "pointerleave", "focusout"])
    node.addEventListener(event, rest);
}

/** The head of the cell that something is in. @type {(target: unknown) => HeadPlace | null} */
export function placeOf(target) {
  const cell = target instanceof Element && target.closest("[data-head]");
  if (!(cell instanceof HTMLElement)) return null;
  const [layer, head] = String(cell.dataset.head).split(".").map(Number);
  return { layer, head };
}
