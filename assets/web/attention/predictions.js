// What the model's heads say of the run: of its output, and after each layer.

import { el, number } from "../core/dom.js";

const TITLES = {
  masked: "Which token stands at [MASK]",
  classify: "Which label the input has",
  tokens: "Which label each token has",
  replaced: "How likely each token was replaced",
};
const MOST_TOKENS = 200;

export class Predictions {
  constructor(selection) {
    this.selection = selection;
    this.title = el("h3", {});
    this.layer = el("select", { "aria-label": "Read off which layer", onchange: () => this.#load() });
    this.task = el("select", { "aria-label": "Which head", onchange: () => this.#load() });
    this.body = el("div", { class: "viz-guesses" });
    this.fault = el("p", { class: "viz-caption", role: "status" });
    this.node = el(
      "section",
      { class: "viz-predictions", hidden: true, "aria-label": "Predictions" },
      this.title,
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "Read off", this.layer), this.task),
      this.fault,
      this.body,
    );
  }

  async show(run) {
    this.run = run;
    this.node.hidden = !run.tasks.length;
    if (!run.tasks.length) return;
    const option = (value, text) => el("option", { value }, text);
    this.layer.replaceChildren(
      option("", "the output"),
      ...Array.from({ length: run.nLayers + 1 }, (_, i) => option(i, layerName(i))).reverse(),
    );
    this.task.replaceChildren(...run.tasks.map((task) => option(task, TITLES[task])));
    this.task.hidden = run.tasks.length < 2;
    await this.#load();
  }

  async #load() {
    const { run } = this;
    const [task, layer] = [this.task.value, this.layer.value];
    const asked = (this.asked = `${run.key}:${task}:${layer}`);
    this.title.textContent = TITLES[task];
    try {
      const guesses = await run.predictions(task, layer);
      if (this.asked !== asked) return;
      this.fault.textContent = guesses.length
        ? ""
        : "Write [MASK] in the text where the model should guess (some tokenizers spell it <mask>).";
      this.body.replaceChildren(
        ...(task === "tokens" || task === "replaced"
          ? [this.#table(guesses)]
          : guesses.map((guess) => this.#card(guess))),
      );
      this.node.dataset.painted = asked;
      if (task === "masked" || task === "classify") await this.#depth(task, guesses, asked);
    } catch (fault) {
      if (this.asked === asked) this.fault.textContent = fault.message;
    }
  }

  // The ten likeliest labels with their bars.
  #card(guess) {
    const rows = guess.labels.map((label, i) => this.#bar(label, guess.shares[i], guess.unit));
    return el("div", { class: "viz-guess" }, this.#place(guess), el("ol", {}, ...rows));
  }

  #bar(label, share, unit) {
    const width = unit === "probability" ? Math.max(0, Math.min(1, share)) * 100 : 0;
    return el(
      "li",
      {},
      el("span", { class: "viz-guess-bar", style: `width:${width.toFixed(2)}%` }),
      el("bdi", {}, label),
      el("span", { class: "viz-guess-share" }, unit === "probability" ? number(share) : share.toFixed(4)),
    );
  }

  #place(guess) {
    if (guess.token === null)
      return el("p", { class: "viz-caption" }, `${guess.unit === "score" ? "Score" : "Probability"} of each label`);
    return el(
      "button",
      {
        type: "button",
        class: "viz-small",
        title: "Choose this token as the query",
        onclick: () => this.selection.set({ query: guess.token }),
      },
      `${guess.token} “${this.run.tokens[guess.token]}”`,
    );
  }

  // The likeliest label after each layer, so that one sees where the answer forms.
  async #depth(task, guesses, asked) {
    if (!guesses.length) return;
    const { run } = this;
    const layers = Array.from({ length: run.nLayers + 1 }, (_, i) => i);
    const each = await Promise.all(layers.map((layer) => run.predictions(task, layer)));
    if (this.asked !== asked) return;
    const head = el(
      "tr",
      {},
      el("th", {}, "Read off"),
      ...guesses.map((guess) =>
        el("th", {}, guess.token === null ? "label" : `${guess.token} “${run.tokens[guess.token]}”`),
      ),
    );
    const rows = layers.map((layer) =>
      el("tr", {}, el("th", {}, layerName(layer)), ...each[layer].map((guess) => this.#cell(guess))),
    );
    this.body.append(
      el(
        "div",
        { class: "viz-depth" },
        el(
          "p",
          { class: "viz-caption" },
          "Likeliest after each layer. The head was trained on the output alone; earlier layers show how near they are to its answer.",
        ),
        el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)),
      ),
    );
  }

  #cell(guess) {
    return el("td", {}, el("bdi", {}, guess.labels[0]), ` ${number(guess.shares[0])}`);
  }

  #table(guesses) {
    const shown = guesses.slice(0, MOST_TOKENS);
    const rows = shown.map((guess) =>
      el(
        "tr",
        {},
        el("th", {}, this.#place(guess)),
        ...guess.labels
          .slice(0, 3)
          .map((label, i) => el("td", {}, el("bdi", {}, label), ` ${number(guess.shares[i])}`)),
      ),
    );
    const more =
      guesses.length > shown.length
        ? [el("p", { class: "viz-caption" }, `The first ${MOST_TOKENS} of ${guesses.length} tokens.`)]
        : [];
    return el("div", { class: "viz-depth" }, el("table", {}, el("tbody", {}, ...rows)), ...more);
  }
}

const layerName = (layer) => (layer ? `after block ${layer - 1}` : "embeddings");
