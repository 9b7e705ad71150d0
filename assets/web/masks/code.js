// The right mask for a call, as lines of Python that run as they are.

import { el } from "../core/dom.js";
import { text } from "./requests.js";

const PAUSE = 200; // ms without another mask before the server is asked

export class Code {
  constructor() {
    this.choice = el("select", { id: "viz-mask-target", onchange: () => this.#ask() });
    this.code = el("pre", { class: "viz-mask-code", id: "viz-mask-code", tabindex: "0", "aria-label": "Python code" });
    this.copy = el("button", { type: "button", class: "viz-small", onclick: () => this.#copy() }, "Copy");
    this.said = el("span", { class: "viz-caption", role: "status" });
    this.node = el(
      "section",
      { class: "viz-mask-box", "aria-label": "Code" },
      el("h3", {}, "This mask in your code"),
      el(
        "div",
        { class: "viz-controls" },
        el("label", { class: "viz-control" }, "For", this.choice),
        this.copy,
        this.said,
      ),
      this.code,
    );
  }

  offer(targets) {
    const chosen = this.choice.value;
    this.choice.replaceChildren(...targets.map((name) => el("option", { value: name }, name)));
    this.choice.value = chosen || targets[0];
  }

  // `by` names the preset that made the mask; null where it was painted.
  show(run, mask, by) {
    Object.assign(this, { run, mask, by });
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#ask(), PAUSE);
  }

  async #ask() {
    const { run, mask, by } = this;
    const kind = this.choice.value;
    const asked = (this.asked = {});
    const options = new URLSearchParams({ kind, ...(by && { made: JSON.stringify(by) }) });
    try {
      const code = await text(run, `snippet?${options}`, { body: mask.pack() });
      if (this.asked !== asked) return;
      this.code.textContent = code;
      this.said.textContent = "";
      this.copy.disabled = false;
      this.node.dataset.painted = kind;
    } catch (fault) {
      if (this.asked !== asked) return;
      this.code.textContent = "";
      this.copy.disabled = true;
      this.said.textContent = fault.message;
    }
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(this.code.textContent);
      this.said.textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(this.code);
      this.said.textContent = "Selected; press Ctrl+C.";
    }
  }
}
