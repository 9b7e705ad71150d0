// Predictions of the model's head without and with the mask, side by side.

import { control, controls, el, number, options, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { numbered } from "../core/token_names.js";
import { section, table } from "../views/headed.js";

const TOP = 5;
const MOST = 12; // tokens with guesses of their own

export class Guesses {
  /** @type {{ plain: Run, masked: Run } | null} */
  runs = null;
  task = el("select", { id: "viz-mask-task", onchange: () => this.#load() });
  tasks = controls(control("Prediction head", this.task));
  said = status();
  body = el("div", { class: "viz-mask-guesses" });
  node = section(
    ...["viz-mask-result-part", "Predictions without and with the mask", "Predictions without the mask and with it"],
    ...[this.tasks, this.said, this.body],
  );
  #asked = new Latest((sentence) => {
    this.said.textContent = sentence;
  });

  /** @type {(plain: Run, masked: Run) => Promise<unknown> | undefined} */
  show(plain, masked) {
    const { tasks } = masked;
    if (this.runs?.masked !== masked) this.task.replaceChildren(...options(tasks.map((task) => [task, task])));
    this.runs = { plain, masked };
    this.node.hidden = !tasks.length;
    this.tasks.hidden = tasks.length < 2;
    return tasks.length ? this.#load() : undefined;
  }

  #load() {
    return this.#asked.run(async (fresh) => {
      if (!this.runs) return;
      const { plain, masked } = this.runs;
      const task = this.task.value;
      const asked = [plain, masked].map((run) => run.predictions(task, ""));
      const [before, after] = await fresh(Promise.all(asked));
      const many = before.length > MOST ? `The first ${MOST} of ${before.length} tokens.` : "";
      this.said.textContent = before.length ? many : "Write [MASK] in the text where the model should guess.";
      this.body.replaceChildren(...before.slice(0, MOST).map((guess, at) => tableOf(guess, after[at], plain.tokens)));
      this.node.dataset.painted = `${masked.key}:${task}`;
    });
  }
}

/** @type {(before: Prediction, after: Prediction, tokens: string[]) => HTMLElement} */
function tableOf(before, after, tokens) {
  const labels = new Set([before, after].flatMap((guess) => guess.labels.slice(0, TOP)));
  const share = (/** @type {Prediction} */ guess, /** @type {string} */ label) => {
    const at = guess.labels.indexOf(label);
    return el("td", {}, at < 0 ? "not in the top ten" : number(guess.shares[at]));
  };
  const rows = Array.from(labels, (label) => {
    const name = el("th", { scope: "row" }, el("bdi", {}, label));
    return el("tr", { "data-label": label }, name, share(before, label), share(after, label));
  });
  const place = before.token === null ? "Label" : `At ${numbered(before.token, tokens[before.token])}`;
  return table("viz-mask-table", [place, `${before.unit} without`, `${before.unit} with`], rows);
}
