// The exercises that were computed with the file: of the lesson's own sentence and of each seat's.

/** @import { Exercise } from "../requests.js" */
/** @typedef {(string | number | null | number[] | number[][])[]} Line an exercise, its texts by their numbers in `texts` */
/** @typedef {{ layer: number, head: number, query: number, key: number }} First where a seat looks first */
/** @typedef {{ text: string, place: First, exercises: Record<string, Line[]> }} SeatLines by the language */
/** @typedef {{ texts: string[], seats: Record<string, SeatLines> }} Kept seat 0 has the lesson's own sentence */

export class Questions {
  /** @param {Kept} kept as viz_encoder/export/lesson_file.py writes them */
  constructor({ texts, seats }) {
    this.texts = texts;
    this.seats = seats;
  }

  /** The seats that have a sentence here. */
  get numbers() {
    return Object.keys(this.seats).map(Number).filter(Boolean);
  }

  /** The sentence of a seat; the lesson's own for 0 and for a seat that is not here. @param {number} seat */
  sentence(seat) {
    return (this.seats[seat] ?? this.seats[0]).text;
  }

  /** A seat's sentence, and where it looks first. @param {number} seat */
  seat(seat) {
    const { text, place } = this.seats[seat] ?? this.seats[0];
    return { text, place };
  }

  /** A step's exercises for a text; none if the text is not the seat's.
   * @param {string} text @param {number} seat @param {number} step @param {string} language
   *   @returns {Exercise[]} */
  about(text, seat, step, language) {
    const found = this.seats[seat];
    if (found?.text !== text) return [];
    return (found.exercises[language] ?? []).map((line) => this.#exercise(line)).filter((each) => each.step === step);
  }

  /** @returns {Exercise} */
  #exercise(
    /** @type {any[]} */ [id, step, level, question, kind, unit, decimals, answer, tolerance, choices, ...rest],
  ) {
    const [also, mistakes, cell, right, wrong, hint] = rest;
    const text = (/** @type {number} */ at) => this.texts[at];
    const mistake = (/** @type {[number, number, number]} */ [value, within, says]) => ({
      ...{ value, tolerance: within, says: text(says) },
    });
    return {
      ...{ id: text(id), step, level, question: text(question), kind, unit: text(unit), decimals, answer, tolerance },
      ...{ choices: choices?.map(text) ?? null, also, cell, mistakes: mistakes.map(mistake) },
      ...{ right: text(right), wrong: text(wrong), hint: text(hint) },
    };
  }
}
