// What the model's head says without the mask and with it, side by side.

import { el, number } from "../core/dom.js";

const TOP = 5;
const MOST = 12; // tokens with guesses of their own

export class Guesses {
  constructor() {
    this.task = el("select", { id: "viz-mask-task", onchange: () => this.#load() });
    this.taskNode = el(
      "div",
      { class: "viz-controls", hidden: true },
      el("label", { class: "viz-control" }, "Head", this.task),
    );
    this.body = el("div", { class: "viz-mask-guesses" });
    this.said = el("p", { class: "viz-caption", role: "status" });
    this.node = el(
      "section",
      { class: "viz-mask-result-part", hidden: true, "aria-label": "Predictions without and with the mask" },
      el("h3", {}, "Predictions, without the mask and with it"),
      this.taskNode,
      this.said,
      this.body,
    );
  }

  async show(plain, masked) {
    Object.assign(this, { plain, masked });
    this.node.hidden = !masked.tasks.length;
    if (this.node.hidden) return;
    if (this.task.dataset.of !== masked.key) {
      this.task.replaceChildren(...masked.tasks.map((task) => el("option", { value: task }, task)));
      this.task.dataset.of = masked.key;
    }
    this.taskNode.hidden = masked.tasks.length < 2;
    await this.#load();
  }

  async #load() {
    const { plain, masked } = this;
    const task = this.task.value;
    const asked = (this.asked = `${masked.key}:${task}`);
    try {
      const [before, after] = await Promise.all([plain.predictions(task, ""), masked.predictions(task, "")]);
      if (this.asked !== asked) return;
      this.said.textContent = before.length
        ? before.length > MOST
          ? `The first ${MOST} of ${before.length} tokens.`
          : ""
        : "Write [MASK] in the text where the model should guess.";
      this.body.replaceChildren(...before.slice(0, MOST).map((guess, at) => this.#table(guess, after[at])));
      this.node.dataset.painted = asked;
    } catch (fault) {
      if (this.asked === asked) this.said.textContent = fault.message;
    }
  }

  #table(before, after) {
    const labels = [...new Set([...before.labels.slice(0, TOP), ...after.labels.slice(0, TOP)])];
    const share = (guess, label) => {
      const at = guess.labels.indexOf(label);
      return at < 0 ? "below its first ten" : number(guess.shares[at]);
    };
    const head = before.token === null ? "Label" : `At ${before.token} “${this.plain.tokens[before.token]}”`;
    return el(
      "table",
      { class: "viz-mask-table" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          ...[head, `${before.unit} without`, `${before.unit} with`].map((name) => el("th", { scope: "col" }, name)),
        ),
      ),
      el(
        "tbody",
        {},
        ...labels.map((label) =>
          el(
            "tr",
            { "data-label": label },
            el("th", { scope: "row" }, el("bdi", {}, label)),
            el("td", {}, share(before, label)),
            el("td", {}, share(after, label)),
          ),
        ),
      ),
    );
  }
}
