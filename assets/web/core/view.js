// A view: what it draws in one element, the views within it, and what it hears until it is disposed of.

import { Emitter } from "./emitter.js";
import { Latest } from "./latest.js";

/** Tests and other views wait for this: the attribute is there as long as what it names is on the screen.
 * @type {(node: HTMLElement, what: string) => void} */
export function markPainted(node, what) {
  node.dataset.painted = what;
}

/**
 * It shows something by `show`, whose arguments are its own.
 * @template {unknown[]} [Told=[]] what its listeners get
 * @extends {Emitter<Told>}
 */
export class View extends Emitter {
  /** @type {HTMLElement} */
  node = /** @type {any} */ (null);
  /** @type {Run | null} */
  run = null; // of which it shows something, where it is of a run
  /** @type {View<any>[]} */
  views = []; // within it: they are cleared, drawn and disposed of with it
  /** @type {HTMLElement[]} */
  paled = []; // what waits for an answer with it, where that is not its element alone
  #life = new AbortController();

  /** @param {PageSelection} [selection] of the page, where it follows that */
  constructor(selection) {
    super();
    this.selection = /** @type {PageSelection} */ (selection);
  }

  // Of what it listens to.
  get signal() {
    return this.#life.signal;
  }

  /** What it asks for, one after the other, until it is disposed of. @param {(sentence: string) => unknown} [fail] */
  latest(fail) {
    return new Latest(fail, this.signal);
  }

  painted(what = "") {
    this.behind(false);
    markPainted(this.node, what);
  }

  // Whether what is on the screen waits for an answer; it is paler so long.
  behind(is = true) {
    for (const node of this.paled.length ? this.paled : [this.node]) {
      node.classList.toggle("viz-behind", is);
      node.setAttribute("aria-busy", String(is));
    }
  }

  // What is on the screen is of something else by now.
  stale() {
    delete this.node.dataset.painted;
  }

  // Something else is on its way to the page.
  clear() {
    this.stale();
    for (const view of this.views) view.clear();
  }

  // Again, in other colors or another size.
  draw() {
    for (const view of this.views) view.draw();
  }

  dispose() {
    this.#life.abort();
    for (const view of this.views) view.dispose();
  }
}

/** Let scripts and tests ask a view by its name; the one that had it ends.
 * @template {View<any>} Kind @param {`viz${string}`} name @param {Kind} view */
export function known(name, view) {
  const before = window[name];
  window[name] = view;
  if (before instanceof View && before !== view) before.dispose();
  return view;
}
