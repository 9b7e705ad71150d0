// Which answer relevance is asked about: the head, where it stands, the label, whose row is read.

import { el, number } from "../core/dom.js";

const HEADS = {
  masked: "the masked-token head",
  classify: "the classifier",
  tokens: "the label of each token",
  replaced: "the replaced-token head",
};
const OTHER = "other";

export class Answer {
  constructor(changed) {
    this.changed = changed;
    const choice = (id, label, onchange) => {
      const select = el("select", { id: `viz-flow-${id}`, onchange });
      return [select, el("label", { class: "viz-control" }, label, select)];
    };
    [this.task, this.taskNode] = choice("task", "Head", () => this.#reload());
    [this.place, this.placeNode] = choice("place", "Answer at", () => {
      this.#fillLabels();
      changed();
    });
    [this.label, this.labelNode] = choice("label", "Answer", () => {
      this.#reveal();
      if (this.label.value !== OTHER) changed();
      else this.typed.focus();
    });
    [this.read, this.readNode] = choice("read", "Read at", () => changed());
    this.typed = el("input", {
      type: "text",
      id: "viz-flow-typed",
      class: "viz-flow-typed",
      "aria-label": "Another label or word",
      placeholder: "label or word",
      onchange: () => changed(),
    });
    this.labelNode.append(this.typed);
    this.read.append(
      el("option", { value: "answer" }, "where the answer is read"),
      el("option", { value: "query" }, "the chosen query"),
    );
    this.node = el("span", { class: "viz-flow-answer" }, this.taskNode, this.placeNode, this.labelNode, this.readNode);
  }

  async show(run, query) {
    this.query = query;
    if (this.run === run) return this.#followQuery();
    this.run = run;
    this.task.replaceChildren(...run.tasks.map((task) => el("option", { value: task }, HEADS[task] ?? task)));
    this.taskNode.hidden = run.tasks.length < 2;
    await this.#load();
  }

  // The view's options; null while a label is still to be typed.
  options() {
    const { label, task, place, read } = this;
    const chosen = label.value === OTHER ? this.typed.value.trim() : label.value;
    if (label.value === OTHER && !chosen) return null;
    const token = place.value === "query" ? this.query : place.value;
    return {
      task: task.value,
      ...(chosen && { label: chosen }),
      ...(this.ofTokens && { token }),
      ...(read.value === "query" && { query: this.query }),
    };
  }

  // Read the relevance at the chosen query from now on; whether that is something else.
  readAtQuery() {
    const other = this.read.value !== "query";
    this.read.value = "query";
    return other;
  }

  async #reload() {
    await this.#load();
    this.changed();
  }

  async #load() {
    const { run } = this;
    const task = this.task.value;
    const guesses = await run.predictions(task, "");
    if (this.run !== run || this.task.value !== task) return;
    this.guesses = guesses;
    this.ofTokens = task !== "classify";
    const masks = task === "masked" ? guesses : [];
    this.place.replaceChildren(
      ...masks.map(({ token }) => el("option", { value: token }, named(run, token))),
      el("option", { value: "query" }, ""),
    );
    this.placeNode.hidden = !this.ofTokens;
    this.#followQuery();
    this.#fillLabels();
  }

  #followQuery() {
    this.place.lastChild.textContent = `the chosen query, ${named(this.run, this.query)}`;
    if (this.place.value === "query" && this.labelsOf !== this.#guess()?.token) this.#fillLabels();
  }

  #guess() {
    const token = this.place.value === "query" ? this.query : Number(this.place.value);
    return this.ofTokens ? this.guesses.find((each) => each.token === token) : this.guesses[0];
  }

  #fillLabels() {
    const guess = this.#guess();
    this.labelsOf = guess?.token;
    const likely =
      guess?.labels.map((label, i) =>
        el(
          "option",
          { value: label },
          `${label}  (${guess.unit === "score" ? "score " : ""}${number(guess.shares[i])})`,
        ),
      ) ?? [];
    this.label.replaceChildren(
      ...(likely.length ? likely : [el("option", { value: "" }, "the likeliest")]),
      el("option", { value: OTHER }, "another …"),
    );
    this.#reveal();
  }

  #reveal() {
    this.typed.hidden = this.label.value !== OTHER;
  }
}

const named = (run, token) => `${token} “${run.tokens[token]}”`;
