// What is wrong here? A specimen without its name, four answers, and then the truth.

import { el } from "../core/dom.js";

const CHOICES = 4;

export class Quiz {
  // `reveal` shows all there is of the specimen; `another` draws the next one.
  constructor(specimens, reveal, another) {
    Object.assign(this, { reveal, asked: 0, right: 0 });
    this.specimens = specimens.filter(({ missed }) => !missed);
    this.title = el("h3", {}, "What is wrong here?");
    this.words = el("p", {});
    this.hint = el("p", { class: "viz-zoo-hint", hidden: true });
    this.ask = el("button", { type: "button", class: "viz-small", onclick: () => this.#hint() }, "Show the symptom");
    this.answers = el("div", { class: "viz-zoo-answers", role: "group", "aria-label": "Answers" });
    this.truth = el("p", { class: "viz-zoo-truth", role: "status" });
    this.score = el("span", { class: "viz-caption" });
    this.next = el("button", { type: "button", class: "viz-small", hidden: true, onclick: another }, "Another one");
    this.node = el(
      "section",
      { class: "viz-zoo-box viz-zoo-quiz", hidden: true, "aria-label": "Quiz" },
      this.title,
      this.words,
      this.answers,
      el("div", { class: "viz-controls" }, this.ask, this.next, this.score),
      this.hint,
      this.truth,
    );
  }

  // One at random, never the one that was just shown.
  draw(last) {
    const open = this.specimens.filter((each) => each !== last);
    this.specimen = pick(open);
    this.node.hidden = false;
    this.answered = false;
    this.words.textContent = "Its three panels appear below; then choose.";
    this.answers.replaceChildren();
    for (const node of [this.hint, this.ask, this.next]) node.hidden = true;
    this.truth.replaceChildren();
    return this.specimen;
  }

  // Its picture is there.
  begin(picture) {
    const silent = !picture.leaks.flat().some(Boolean) && !picture.lost.flat().some(Boolean);
    this.words.textContent = silent
      ? "The panels below show no leak; judge by the symptom as well."
      : "Compare the three panels below, then choose.";
    const wrong = shuffled(
      this.specimens.filter(
        ({ identifier, title }) => identifier[0] !== this.specimen.identifier[0] && title !== this.specimen.title,
      ),
    ).slice(0, CHOICES - 1);
    this.answers.replaceChildren(
      ...shuffled([this.specimen, ...wrong]).map((each) =>
        el(
          "button",
          {
            type: "button",
            class: "viz-small viz-zoo-answer",
            onclick: (event) => this.#answer(each, event.currentTarget),
          },
          each.title,
        ),
      ),
    );
    this.ask.hidden = false;
    if (silent) this.#hint();
  }

  close() {
    this.node.hidden = true;
  }

  #hint() {
    this.hint.textContent = `Symptom. ${this.specimen.symptom}`;
    this.hint.hidden = false;
    this.ask.hidden = true;
  }

  #answer(chosen, button) {
    if (this.answered) return;
    this.answered = true;
    const right = chosen === this.specimen;
    this.asked += 1;
    this.right += right;
    for (const each of this.answers.children) each.disabled = true;
    button.textContent = `${right ? "✓" : "✗"} ${chosen.title}`;
    this.truth.replaceChildren(
      el("strong", {}, right ? "Right. " : "Not this one. "),
      `It is ${this.specimen.identifier}: ${this.specimen.title}. Several bugs can leave the same picture; the checks and the code tell them apart.`,
    );
    this.score.textContent = `${this.right} of ${this.asked} right`;
    this.ask.hidden = this.hint.hidden = true;
    this.next.hidden = false;
    this.reveal();
  }
}

const pick = (list) => list[Math.floor(Math.random() * list.length)];

function shuffled(list) {
  const left = [...list];
  return list.map(() => left.splice(Math.floor(Math.random() * left.length), 1)[0]);
}
