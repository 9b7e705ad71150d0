// Predictions of the model's heads for the run.

import { button, caption, el, number, options, status } from "../core/dom.js";
import { quoted } from "../core/token_names.js";
import { View } from "../core/view.js";

/** @type {Record<string, string>} */ const TITLES = {
  masked: "Predicted token at [MASK]",
  classify: "Predicted label",
  tokens: "Predicted label of each token",
  replaced: "Probability that each token was replaced",
};
const MOST_TOKENS = 200;
const WRITE_MASK = "Write [MASK] in the text where the model should guess (some tokenizers spell it <mask>).";

export class Predictions extends View {
  #latest = this.latest((sentence) => this.fault.replaceChildren(sentence));
  answer = ""; // the likeliest label of the whole input, or at [MASK]; as shown among the facts
  title = el("summary");
  task = el("select", { "aria-label": "Prediction head", onchange: () => this.#load() });
  body = el("div", { class: "viz-guesses" });
  fault = status();
  node = el(
    "details",
    { class: "viz-predictions viz-folded", hidden: true, "aria-label": "Predictions" },
    ...[this.title, this.task, this.fault, this.body],
  );

  clear() {
    super.clear();
    this.answer = "";
  }

  async show(/** @type {Run} */ run) {
    this.run = run;
    this.node.hidden = !run.tasks.length;
    if (this.node.hidden) return;
    this.task.replaceChildren(...options(run.tasks.map((task) => [task, TITLES[task]])));
    this.task.hidden = run.tasks.length < 2;
    await this.#load();
  }

  async #load() {
    const run = this.run;
    const task = this.task.value;
    if (!run?.tasks.length) return;
    await this.#latest.run(async (fresh) => {
      const guesses = await fresh(run.predictions(task, ""));
      const each = task === "tokens" || task === "replaced";
      if (!each && guesses.length) this.answer = answered(run, guesses[0]);
      const said = each || !guesses.length ? "" : `: ${likeliest(guesses[0])}`;
      this.title.textContent = `${TITLES[task]}${said}`;
      this.fault.textContent = guesses.length ? "" : WRITE_MASK;
      this.body.replaceChildren(...(each ? this.#table(run, guesses) : guesses.map((guess) => this.#card(run, guess))));
      this.painted(`${run.key}:${task}`);
    });
  }

  /** The ten likeliest labels with their bars. @type {(run: Run, guess: Prediction) => HTMLElement} */
  #card(run, guess) {
    const rows = guess.labels.map((label, at) => bar(label, Number(guess.shares[at]), guess.unit));
    const knows = guess.knows ? [caption(guess.knows)] : [];
    return el("div", { class: "viz-guess" }, this.#place(run, guess), el("ol", {}, ...rows), ...knows);
  }

  #place(/** @type {Run} */ run, /** @type {Prediction} */ { token, unit }) {
    if (token === null) return caption(`${unit === "score" ? "Score" : "Probability"} of each label`);
    const choose = () => this.selection.ask(token);
    return button(run.named(token), choose, { title: "Choose this token as the query" });
  }

  /** @type {(run: Run, guesses: Prediction[]) => HTMLElement[]} */
  #table(run, guesses) {
    const rows = guesses.slice(0, MOST_TOKENS).map((guess) => {
      const cells = guess.labels.slice(0, 3).map((_, at) => cell(guess, at));
      return el("tr", {}, el("th", {}, this.#place(run, guess)), ...cells);
    });
    const cut = guesses.length > rows.length ? [`The first ${MOST_TOKENS} of ${guesses.length} tokens.`] : [];
    return [
      el("div", { class: "viz-depth" }, el("table", {}, el("tbody", {}, ...rows)), ...cut.map((said) => caption(said))),
    ];
  }
}

/** @type {(run: Run, guess: Prediction) => string} */
function answered(run, guess) {
  const { token, unit } = guess;
  const what = token === null ? (unit === "probability" ? "Predicted label" : "Highest score") : run.named(token);
  return `${what}: ${likeliest(guess)}`;
}

const likeliest = (/** @type {Prediction} */ { labels, shares }) =>
  `${quoted(labels[0])} (${number(Number(shares[0]))})`;

function bar(/** @type {string} */ label, /** @type {number} */ share, /** @type {string} */ unit) {
  const sure = unit === "probability";
  const width = sure ? Math.max(0, Math.min(1, share)) * 100 : 0;
  return el(
    "li",
    { class: "viz-barred" },
    el("span", { class: "viz-bar", style: `width:${width.toFixed(2)}%` }),
    el("bdi", {}, label),
    el("span", { class: "viz-guess-share" }, sure ? number(share) : share.toFixed(4)),
  );
}

/** @type {(guess: Prediction, at: number) => HTMLElement} */
const cell = ({ labels, shares }, at) => el("td", {}, el("bdi", {}, labels[at]), ` ${number(shares[at])}`);
