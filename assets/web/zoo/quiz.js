// What is wrong here? A specimen without its name, four answers, and then the truth.

import { button, controls, el } from "../core/dom.js";
import { section } from "../views/headed.js";

/** @import { AuditPicture, Specimen } from "../core/payloads.d.ts" */
/** @import { ZooTab } from "./tab.js" */

const CHOICES = 4;

export class Quiz {
  answered = false;
  asked = 0;
  right = 0;
  words = el("p");
  hint = el("p", { class: "viz-zoo-hint", hidden: true });
  ask = button("Show the symptom", () => this.#hint());
  answers = el("div", { class: "viz-zoo-answers", role: "group", "aria-label": "Answers" });
  truth = el("p", { class: "viz-zoo-truth", role: "status" });
  score = el("span", { class: "viz-caption" });

  constructor(/** @type {ZooTab} */ tab) {
    this.tab = tab;
    this.specimens = tab.specimens.filter(({ missed }) => !missed);
    this.specimen = this.specimens[0];
    this.next = button("Another one", () => tab.surprise(), { hidden: true });
    this.node = section(
      ...["viz-zoo-box viz-zoo-quiz", "Quiz", "What is wrong here?"],
      ...[this.words, this.answers, controls(this.ask, this.next, this.score), this.hint, this.truth],
    );
    this.node.hidden = true;
  }

  // One at random, never the one that was just shown.
  draw(/** @type {Specimen} */ last) {
    const others = this.specimens.filter((each) => each !== last);
    this.specimen = others[Math.floor(Math.random() * others.length)];
    this.node.hidden = false;
    this.answered = false;
    this.words.textContent = "Its three panels appear below; then choose.";
    this.answers.replaceChildren();
    for (const node of [this.hint, this.ask, this.next]) node.hidden = true;
    this.truth.replaceChildren();
    return this.specimen;
  }

  // Its picture is there.
  begin(/** @type {AuditPicture} */ { leaks, lost }) {
    const silent = ![...leaks, ...lost].flat().some(Boolean);
    const { identifier, title } = this.specimen;
    const different = this.specimens.filter((each) => each.identifier[0] !== identifier[0] && each.title !== title);
    const choices = shuffled([this.specimen, ...shuffled(different).slice(0, CHOICES - 1)]);
    this.words.textContent = silent
      ? "The panels below show no leak; judge by the symptom as well."
      : "Compare the three panels below, then choose.";
    this.answers.replaceChildren(...choices.map((each) => this.#choice(each)));
    this.ask.hidden = false;
    if (silent) this.#hint();
  }

  #choice(/** @type {Specimen} */ each) {
    const choice = button(each.title, () => this.#answer(each, choice), { class: "viz-small viz-zoo-answer" });
    return choice;
  }

  close() {
    this.node.hidden = true;
  }

  #hint() {
    this.hint.textContent = `Symptom. ${this.specimen.symptom}`;
    this.hint.hidden = false;
    this.ask.hidden = true;
  }

  /** @type {(chosen: Specimen, answer: HTMLButtonElement) => void} */
  #answer(chosen, answer) {
    if (this.answered) return;
    this.answered = true;
    const right = chosen === this.specimen;
    const { identifier, title } = this.specimen;
    this.asked += 1;
    this.right += Number(right);
    for (const each of this.answers.querySelectorAll("button")) each.disabled = true;
    answer.textContent = `${right ? "✓" : "✗"} ${chosen.title}`;
    this.truth.replaceChildren(
      el("strong", {}, right ? "Right. " : "Not this one. "),
      `It is ${identifier}: ${title}. Several bugs can leave the same picture; the checks and the code tell them apart.`,
    );
    this.score.textContent = `${this.right} of ${this.asked} right`;
    this.ask.hidden = this.hint.hidden = true;
    this.next.hidden = false;
    this.tab.reveal();
  }
}

/** @template T @param {T[]} list */
function shuffled(list) {
  const left = [...list];
  return list.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0]);
}
