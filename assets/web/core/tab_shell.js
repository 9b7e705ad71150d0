// A tab: what it says without a run and of a fault, its body, and when it is brought up to date.

import { current } from "./app_state.js";
import { alertLine, el, onTheme, onWidth } from "./dom.js";
import { View } from "./view.js";

const withoutRun = () => (current.coming ? "Loading …" : "Type a text or drop a picture, and press Run.");

export class TabShell extends View {
  seen = false;
  always = false; // brought up to date out of sight too
  empty = el("p", { class: "viz-empty" }, withoutRun());
  fault = alertLine();

  /** @param {HTMLElement} root @param {string} name the class of its body */
  constructor(root, name) {
    super();
    this.root = root;
    this.node = this.body = el("div", { class: name, hidden: true });
    root.replaceChildren(this.empty, this.fault, this.body);
  }

  // Once it is laid out.
  open() {
    current.on((run) => {
      this.run = run;
      this.entered(run);
      this.refresh();
    }, this.signal);
    this.seen = this.root.clientWidth > 0; // and is up to date by now
    onTheme(() => this.run && this.draw(), this.signal);
    onWidth(this.root, () => {
      const seen = this.root.clientWidth > 0;
      if (seen && !this.seen) requestAnimationFrame(() => this.refresh());
      if (!seen && this.seen) this.leave();
      this.seen = seen;
    });
  }

  // A hidden tab asks for nothing; it is brought up to date when it is seen.
  refresh() {
    const { run } = this;
    this.empty.hidden = Boolean(run);
    this.empty.textContent = withoutRun();
    if (!run) this.fail("");
    if (!run || !(this.always || this.root.clientWidth)) return;
    this.body.hidden = false;
    this.fault.textContent = "";
    this.show(run);
  }

  // Say why nothing is shown.
  fail(/** @type {string} */ sentence) {
    this.body.hidden = true;
    this.fault.textContent = sentence;
  }

  // Hooks of a tab: a new run, even if hidden; show a run, possibly again; hide.
  entered(/** @type {Run | null} */ _run) {}
  show(/** @type {Run} */ _run) {}
  leave() {}
}

/** Show a description whenever the page has a new one: `read` gives it, `watch` tells when it changes.
 * @template Description
 * @param {() => string} read @param {Watch} watch @param {(description: Description) => unknown} show
 */
export function follow(read, watch, show) {
  const refresh = () => read() && show(JSON.parse(read()));
  watch("value", refresh);
  refresh();
}

/** @typedef {(name: "value", changed: () => unknown) => void} Watch */
/** @typedef {(event: string, data?: unknown) => void} Trigger fires one of Gradio's events */
