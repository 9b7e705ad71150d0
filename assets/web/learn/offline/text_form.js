// Form over the lesson: the text, the seat, and the words the model knows.

import { current } from "../../core/app_state.js";
import { button, el } from "../../core/dom.js";
import { Run } from "../../core/run.js";
import { quoted } from "../printed.js";

/** @import { Texts } from "../types.d.ts" */
/** @import { Questions } from "./questions.js" */
/** @import { Runs } from "./runs.js" */

const NAMED = 6; // unknown words in a note

export class TextForm {
  text = el("input", { type: "text", spellcheck: false, autocomplete: "off" });
  textName = el("span");
  run = button("", () => this.#typed(), { class: "viz-small viz-learn-check" });
  seat = el("input", { type: "number", min: 1, step: 1 });
  seatName = el("span");
  open = button("", () => this.#sit());
  note = el("p", { class: "viz-caption", role: "status" });
  words = el("summary");
  known = el("p", { class: "viz-lesson-words" });
  node = el(
    "form",
    { class: "viz-lesson-form" },
    el("label", { class: "viz-lesson-text" }, this.textName, this.text),
    this.run,
    el("label", {}, this.seatName, this.seat),
    ...[this.open, this.note],
    el("details", {}, this.words, this.known),
  );

  /** @param {Runs} runs @param {Questions} questions @param {Texts} texts */
  constructor(runs, questions, texts) {
    this.runs = runs;
    this.questions = questions;
    this.texts = texts;
    this.node.addEventListener("submit", (event) => event.preventDefault());
    this.#onEnter(this.text, () => this.#typed());
    this.#onEnter(this.seat, () => this.#sit());
    this.seat.max = String(Math.max(...questions.numbers, 1));
    this.known.textContent = runs.vocabulary.ordinary.join("  ");
    current.on((run) => run && this.#entered(run));
    this.speak(texts);
  }

  speak(/** @type {Texts} */ texts) {
    this.texts = texts;
    const words = texts.file;
    this.textName.textContent = words.text;
    this.run.textContent = words.run;
    this.seatName.textContent = words.seat;
    this.open.textContent = words.open;
    this.words.textContent = words.words(this.runs.vocabulary.ordinary.length);
    if (current.run) this.#entered(current.run);
  }

  /** Why a seat's sentence is not the one that is shown. @param {number} seat */
  noSeat(seat) {
    const { numbers } = this.questions;
    const all = numbers.length > 1 ? `${numbers[0]}–${numbers.at(-1)}` : numbers.join("");
    this.note.textContent = this.texts.file.noSeat(seat, all);
  }

  #entered(/** @type {Run} */ run) {
    const { text, read } = this.runs.held(run.key);
    const words = this.texts.file;
    this.text.value = text;
    this.seat.value = current.selection.noted("learn.seed");
    const unknown = [...new Set(read.unknown)].slice(0, NAMED).map(quoted).join(", ");
    const cut = read.cut && words.cut(read.cut, this.runs.vocabulary.most);
    const notes = [unknown && words.unknown(unknown), cut, read.padding.length && words.padding];
    this.note.textContent = notes.filter(Boolean).join(" ");
  }

  // The typed text, opened on its [MASK].
  #typed() {
    const text = this.text.value.trim();
    if (this.runs.vocabulary.isPadding(text)) {
      this.note.textContent = this.texts.file.empty;
      return;
    }
    const held = this.runs.of(text);
    if (held.key === current.run?.key) return;
    current.enter(new Run(this.runs.described(held)), this.runs.place(held.ran));
  }

  // A seat has a link of its own.
  #sit() {
    const seat = Number(this.seat.value);
    if (!this.questions.numbers.includes(seat)) return this.noSeat(seat);
    const step = current.selection.noted("learn.step") || "1";
    const language = current.selection.noted("learn.lang");
    location.search = String(
      new URLSearchParams({ learn: step, seed: String(seat), ...(language ? { "learn.lang": language } : {}) }),
    );
  }

  /** @param {HTMLInputElement} field @param {() => unknown} act */
  #onEnter(field, act) {
    field.addEventListener("keydown", (event) => event.key === "Enter" && act());
  }
}
