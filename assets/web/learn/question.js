// Asks one question at a time, answered by a number or a choice; recognizes known mistakes.

import { button, el } from "../core/dom.js";
import { oneStop } from "../views/one_stop.js";
import { countText, fixed, quoted } from "./printed.js";
import { encodeResult } from "./result_code.js";
import { TEXTS } from "./texts.js";

/** @import { Exercise } from "./requests.js" */
/** @import { Texts } from "./types.d.ts" */
/** @typedef {boolean | "shown"} Became of an exercise: whether it was right, or its answer shown */

const THOUSANDS = /^-?\d{1,3}([.,])\d{3}(\1\d{3})*$/;
const MILLIONS = /^-?\d{1,3}([.,])\d{3}(\1\d{3})+$/;
const KEPT = "viz-lesson-"; // what became of each exercise, by the seat; in this window alone
const SHOWN = "shown"; // an answer that was given away counts as not right from then on

/** Judge an answer, a number or the index of a choice, after what had become of the exercise before: a mistake that
 * is not known gets the hint first, and then the answer, which counts as shown.
 * @type {(exercise: Exercise, given: number, before?: Became) => { became: Became, says: string }} */
export function judged({ answer, also, tolerance, mistakes, right, wrong, hint }, given, before) {
  const near = (/** @type {number} */ value, /** @type {number} */ within) => Math.abs(value - given) <= within + 1e-9;
  if (near(answer, tolerance) || also.includes(given)) return { became: true, says: right };
  const known = mistakes.find((mistake) => near(mistake.value, mistake.tolerance));
  if (known) return { became: false, says: known.says };
  return before === undefined ? { became: false, says: hint } : { became: SHOWN, says: wrong };
}

/** A number as people type it; of a count, "1,800" and "1.800" are thousands.
 * @type {(text: string, count?: boolean) => number | null} */
export function typedNumber(text, count = false) {
  const typed = text.trim().replaceAll("\u2212", "-");
  const plain = (count ? THOUSANDS : MILLIONS).test(typed) ? typed.replace(/[.,]/g, "") : typed.replace(",", ".");
  return plain !== "" && Number.isFinite(Number(plain)) ? Number(plain) : null;
}

export class Question {
  title = el("h4");
  text = el("p");
  field = el("div", { class: "viz-learn-field" });
  said = el("p", { class: "viz-learn-said", role: "status" });
  buttons = el("div", { class: "viz-controls" });
  score = el("p", { class: "viz-caption" });
  node = el(
    "section",
    { class: "viz-learn-question" },
    this.title,
    this.text,
    this.field,
    this.said,
    this.buttons,
    this.score,
  );
  /** @type {Exercise[]} */
  exercises = [];
  at = 0;
  /** @type {Texts} */
  texts = TEXTS.en;
  seat = 0;
  /** @type {Record<string, Became>} by step and level, such as "4.1", whether it was right */
  answered = {};

  /** `changed` is told when other exercises are open. @param {() => unknown} changed */
  constructor(changed) {
    this.changed = changed;
    for (const node of [this.field, this.buttons]) oneStop(node);
  }

  /** The one that is asked. @returns {Exercise | undefined} */
  get now() {
    return this.exercises[this.at];
  }

  /** The exercises whose answers are neither found nor shown. */
  get open() {
    return this.exercises.filter((each) => {
      const became = this.answered[placeOf(each)];
      return became !== true && became !== SHOWN;
    });
  }

  /** @type {(exercises: Exercise[], texts: Texts, seat?: number) => void} */
  show(exercises, texts, seat = this.seat) {
    this.node.style.visibility = "";
    const as = (/** @type {unknown[]} */ ...all) => JSON.stringify(all);
    const again = exercises.length > 0 && texts === this.texts;
    if (again && as(exercises, seat) === as(this.exercises, this.seat)) return void this.changed(); // keep the input
    const same = this.exercises[this.at]?.id;
    const kept = exercises.findIndex(({ id }) => id === same);
    Object.assign(this, { exercises, texts, seat, at: Math.max(0, kept) });
    this.answered = JSON.parse(sessionStorage.getItem(KEPT + seat) ?? "{}");
    this.#draw();
    this.changed();
  }

  #draw() {
    const { exercises, at, texts } = this;
    const exercise = exercises[at];
    const words = texts.exercise;
    this.said.textContent = "";
    this.said.className = "viz-learn-said";
    this.title.textContent = exercise ? `${words.title} · ${words.level(placeOf(exercise))}` : words.title;
    this.text.textContent = exercise ? exercise.question : words.none;
    this.field.replaceChildren();
    this.buttons.replaceChildren();
    this.#count();
    if (!exercise) return;
    if (exercise.kind === "choice") this.#choices(exercise);
    else this.#number(exercise);
    const next = exercises.length > 1 ? [button(words.next, () => this.#next())] : [];
    const [answer, plain] = answerTexts(exercise); // where the reason begins with it, it is said once
    const said = [answer, plain].some((text) => exercise.right.startsWith(text));
    const say = said ? exercise.right : words.is(answer) + exercise.right;
    this.buttons.replaceChildren(
      button(words.hint, () => this.#say(exercise.hint, null)),
      button(words.give, () => {
        this.#say(say, false);
        if (this.answered[placeOf(exercise)] !== true) this.#keep(exercise, SHOWN);
      }),
      ...next,
    );
  }

  #number(/** @type {Exercise} */ exercise) {
    const words = this.texts.exercise;
    const input = el("input", { type: "text", inputmode: "decimal", autocomplete: "off", "aria-label": words.answer });
    const check = () => {
      const given = typedNumber(input.value, !exercise.decimals && Number.isInteger(exercise.answer));
      if (given === null) this.#say(words.number, false);
      else this.#judge(exercise, given);
    };
    input.addEventListener("keydown", (event) => event.key === "Enter" && check());
    const go = button(words.check, check, { class: "viz-small viz-learn-check" });
    this.field.replaceChildren(input, ...(exercise.unit ? [el("span", {}, exercise.unit)] : []), go);
  }

  #choices(/** @type {Exercise} */ exercise) {
    const choice = (/** @type {string} */ each, /** @type {number} */ at) =>
      button(each, () => this.#judge(exercise, at), { dir: "auto" });
    this.field.replaceChildren(...(exercise.choices ?? []).map(choice));
  }

  #judge(/** @type {Exercise} */ exercise, /** @type {number} */ given) {
    const before = this.answered[placeOf(exercise)];
    const { became, says } = judged(exercise, given, before);
    const words = this.texts.exercise;
    const lead = became === true ? words.right : says === exercise.hint ? words.not : "";
    this.#say(lead + says, became === true);
    if (!before) this.#keep(exercise, became);
  }

  #keep(/** @type {Exercise} */ exercise, /** @type {Became} */ became) {
    this.answered[placeOf(exercise)] = became;
    sessionStorage.setItem(KEPT + this.seat, JSON.stringify(this.answered));
    this.#count();
    this.changed();
  }

  /** @type {(sentence: string, right: boolean | null) => void} null of what judges nothing */
  #say(sentence, right) {
    this.said.className = `viz-learn-said viz-learn-${right === null ? "hint" : right ? "right" : "wrong"}`;
    this.said.textContent = sentence;
  }

  #count() {
    const all = Object.values(this.answered);
    const words = this.texts.exercise;
    const right = Object.keys(this.answered).filter((place) => this.answered[place] === true);
    const wrong = Object.keys(this.answered).filter((place) => this.answered[place] !== true);
    const code = encodeResult({ seat: this.seat, right, wrong });
    this.score.textContent = all.length ? `${words.score(right.length, all.length)} · ${words.code(code)}` : "";
  }

  #next() {
    this.at = (this.at + 1) % this.exercises.length;
    this.#draw();
    this.changed();
    /** @type {HTMLElement | null} */ (this.field.querySelector("input, button"))?.focus(); // the pressed button is gone
  }
}

const placeOf = (/** @type {Exercise} */ { step, level }) => `${step}.${level}`;

// In a sentence, and by itself.
function answerTexts(/** @type {Exercise} */ { answer, choices, decimals }) {
  const plain = choices ? choices[answer] : decimals ? fixed(answer, decimals) : countText(answer);
  return [choices ? quoted(plain) : plain, plain];
}
