// Quiz: a specimen without its name. Asks for the cell, the cause and the line, then shows the
// truth.

import { button, controls, el } from "../core/dom.js";
import { section } from "../views/headed.js";
import { othersOf, questionsOf } from "./quiz_questions.js";

/** @import { Question } from "./quiz_questions.js" */

export class Quiz {
  asked = 0;
  right = 0;
  easyAt = -1; // which of the beginners' ten is shown; −1 in the free quiz
  /** @type {Question[]} */
  questions = [];
  at = 0;
  words = el("p");
  hint = el("p", { class: "viz-zoo-hint viz-warning", hidden: true });
  ask = button("Show the symptom", () => this.#hint());
  answers = el("div", { class: "viz-zoo-answers", role: "group", "aria-label": "Answers" });
  truth = el("p", { class: "viz-zoo-truth", role: "status" });
  score = el("span", { class: "viz-caption" });

  /** @param {ZooTab} tab @param {Zoo} zoo */
  constructor(tab, { sections, easy }) {
    this.tab = tab;
    this.sections = sections;
    this.easy = easy;
    this.specimens = tab.specimens.filter(({ missed }) => !missed);
    this.specimen = this.specimens[0];
    this.next = button("", () => this.#next(), { hidden: true });
    const kinds = controls(
      button("Ten for beginners", () => tab.surprise(true), { id: "viz-zoo-beginners" }),
      button("Any of them, at random", () => tab.surprise(), { id: "viz-zoo-surprise" }),
    );
    this.node = section(
      ...["viz-zoo-box viz-zoo-quiz", "Quiz", "What is wrong here?"],
      ...[kinds, this.words, this.answers, this.truth, controls(this.ask, this.next, this.score), this.hint],
    );
    this.node.hidden = true;
  }

  // The next of the beginners' ten, or one at random, never the one that was just shown.
  draw(/** @type {Specimen} */ last, beginners = false) {
    if (beginners && (this.easyAt < 0 || this.easyAt + 1 >= this.easy.length)) this.right = this.asked = 0;
    this.easyAt = beginners ? (this.easyAt + 1) % this.easy.length : -1;
    const others = this.specimens.filter((each) => each !== last);
    const drawn = others[Math.floor(Math.random() * others.length)];
    const named = this.easy[this.easyAt]?.identifier;
    this.specimen = this.specimens.find(({ identifier }) => identifier === named) ?? drawn;
    this.node.hidden = false;
    this.words.textContent = "Its three panels appear below; then choose.";
    this.questions = [];
    this.answers.replaceChildren();
    this.answers.hidden = false;
    for (const node of [this.hint, this.ask, this.next]) node.hidden = true;
    this.truth.replaceChildren();
    return this.specimen;
  }

  // Its picture is there.
  begin(/** @type {AuditPicture} */ picture) {
    const others = othersOf(this.specimen, this.sections, this.easy);
    this.questions = questionsOf(this.specimen, others, picture);
    this.at = 0;
    this.ask.hidden = false;
    this.#pose();
    this.tab.audit.panels.outline(this.questions.length < 3); // the first of three asks for the cell
    if (this.questions.length < 3) this.#hint(); // no leak is seen; judge by the symptom
  }

  close() {
    this.node.hidden = true;
    this.tab.audit.panels.outline(true);
  }

  #pose() {
    const { ask, choices, code } = this.questions[this.at];
    const which = this.easyAt < 0 ? "" : `Bug ${this.easyAt + 1} of ${this.easy.length}, `;
    const number = `question ${this.at + 1} of ${this.questions.length}`;
    this.next.hidden = true;
    this.truth.replaceChildren();
    this.words.replaceChildren(el("strong", {}, ask), ` (${which}${number})`);
    this.answers.replaceChildren(
      ...choices.map((choice, at) => {
        const answer = button(choice, () => this.#answer(at), { class: "viz-small viz-zoo-answer" });
        if (code) answer.replaceChildren(el("code", {}, choice));
        return answer;
      }),
    );
  }

  #hint() {
    this.hint.textContent = `Symptom. ${this.specimen.symptom}`;
    this.hint.hidden = false;
    this.ask.hidden = true;
  }

  // What is right stays until the person goes on.
  #answer(/** @type {number} */ chosen) {
    const { right, because } = this.questions[this.at];
    for (const [at, answer] of [...this.answers.querySelectorAll("button")].entries()) {
      answer.disabled = true;
      answer.classList.toggle("viz-zoo-right", at === right);
      answer.classList.toggle("viz-zoo-missed", at === chosen && at !== right);
    }
    this.tab.audit.panels.outline(true);
    this.asked += 1;
    this.right += Number(chosen === right);
    const verdict = el("strong", {}, chosen === right ? "✓ Right. " : "✗ Not this one. ");
    this.truth.replaceChildren(verdict, ...because.map((part, i) => (i % 2 ? el("code", {}, part) : part)));
    this.score.textContent = `${this.right} of ${this.asked} right`;
    this.at += 1;
    if (this.at === this.questions.length) this.#end();
    else this.next.textContent = "Next question";
    this.next.hidden = false;
    this.next.focus({ preventScroll: true }); // where the keyboard was
  }

  #next() {
    if (this.at >= this.questions.length) return this.tab.surprise(this.easyAt >= 0);
    this.#pose();
    this.answers.querySelector("button")?.focus({ preventScroll: true });
  }

  #end() {
    const last = this.easyAt === this.easy.length - 1;
    this.words.textContent = last ? "That was the last of the ten bugs." : "The whole bug is shown below.";
    this.ask.hidden = this.hint.hidden = true;
    this.next.textContent = last ? "Start again" : "Another one";
    this.tab.reveal();
  }
}
