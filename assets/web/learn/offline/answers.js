// Computes the server's responses to the lesson's steps in the browser.

import { cosine } from "../arithmetic.js";
import { knockOut, withoutHeads } from "./knock_out.js";
import { predictions } from "./prediction.js";
import { carried } from "./shares.js";
import { positions, tokenNumbers } from "./token_numbers.js";
import { weightCounts } from "./weight_counts.js";
import { wordOrder } from "./word_order.js";

/** @import { Questions } from "./questions.js" */
/** @import { Twins } from "./shares.js" */
/** @import { Held, Runs } from "./runs.js" */
/** @typedef {Uint8Array | string | null} Body */
/** @typedef {{ held: Held, asked: URLSearchParams, body: Body }} Asked */

const OF_A_RUN = /^viz\/run\/([^/]+)\/(.+)$/;
const NOT_HERE = "This file cannot compute that; the page of viz-encoder can.";

export class Answers {
  /** @param {Runs} runs @param {Questions} questions @param {Twins} twins */
  constructor(runs, questions, twins) {
    this.twins = twins;
    this.runs = runs;
    this.questions = questions;
  }

  /** The answer to a request; for one with raw numbers, as core/server.js gives them.
   * @param {string} path @param {Body} [body] @returns {unknown} */
  answer(path, body = null) {
    const [place, query] = path.split("?");
    const asked = new URLSearchParams(query);
    if (place === "viz/learn/build" && body === null) return weightCounts(Object.fromEntries(asked));
    if (place === "viz/learn/seat") return this.questions.seat(Number(asked.get("seed")));
    const [, key, what] = OF_A_RUN.exec(place) ?? [];
    const route = Object.hasOwn(this.#routes, what) ? this.#routes[what] : null;
    if (!route) throw new Error(NOT_HERE);
    return route({ held: this.runs.held(key), asked, body });
  }

  /** @type {Record<string, (asked: Asked) => unknown>} */
  #routes = {
    "learn/token": ({ held, asked }) => tokenNumbers(this.runs.model, held.ran, placeOf(asked)),
    "learn/outputs": ({ held }) => numbersOf(held.ran.last.map(({ out }) => out)), // after the final norm
    "learn/positions": ({ held }) => numbersOf(positions(this.runs.model, held.ran)),
    "learn/order": ({ held, asked }) => {
      const { query, key } = placeOf(asked);
      return wordOrder(this.runs.model, held.read, query, key);
    },
    "learn/turned": ({ held, asked }) => {
      const [{ query, key }, { ran, codes, text }] = [placeOf(asked), held];
      if (codes.length) return { message: NOT_HERE };
      const { ran: without } = this.runs.of(text, [`t${key}`]);
      return { turned: ran.states.map((state, at) => 1 - cosine(state[query], without.states[at][query])) };
    },
    "learn/exercises": ({ held, asked }) => ({ exercises: this.#exercises(held, asked) }),
    predictions: ({ held, asked }) => predictions(this.runs.model, held.ran, blocksOf(asked)),
    "whatif/offered": () => ({ missing: "" }),
    "learn/carried": ({ held, asked }) =>
      held.codes.length ? {} : carried(this.runs.model, held.ran, placeOf(asked).query, this.twins),
    "whatif/heads": ({ held }) => withoutHeads(this.runs.model, this.runs.of(held.text).ran),
    "whatif/tokens": ({ held }) => knockOut(this.runs.model, this.runs.of(held.text).ran),
    "whatif/changed": ({ held, body }) => this.#changed(held, JSON.parse(String(body)).changes),
    "mask/run": ({ held, body }) => {
      const mask = unpacked(/** @type {Uint8Array} */ (body), held.ran.ids.length);
      return { run: this.runs.described(this.runs.of(held.text, held.codes, mask)) };
    },
  };

  // They are about runs in which nothing is changed.
  #exercises(/** @type {Held} */ { text, codes }, /** @type {URLSearchParams} */ asked) {
    const [seat, step] = [Number(asked.get("seed")), Number(asked.get("step"))];
    return codes.length ? [] : this.questions.about(text, seat, step, asked.get("language") ?? "");
  }

  #changed(/** @type {Held} */ { text }, /** @type {string[]} */ codes) {
    const both = { run: this.runs.of(text, codes), plain: this.runs.of(text) };
    return Object.fromEntries(Object.entries(both).map(([name, held]) => [name, this.runs.described(held)]));
  }
}

const placeOf = (/** @type {URLSearchParams} */ asked) => {
  const at = (/** @type {string} */ name) => Number(asked.get(name));
  return { layer: at("layer"), head: at("head"), query: at("query"), key: at("key"), dim: at("dim") };
};

const blocksOf = (/** @type {URLSearchParams} */ asked) =>
  asked.has("layer") ? Number(asked.get("layer")) : undefined;

/** Vectors as the server sends them. @type {(rows: number[][]) => Numbers} */
function numbersOf(rows) {
  const shape = [rows.length, rows[0].length];
  const nothing = { tops: null, total: Number.NaN, empty: 0, answer: "", about: null };
  return { shape, values: Float32Array.from(rows.flat()), step: [1, 1], ...nothing };
}

/** A mask as bits, row by row, the first cell in the highest bit. @type {(bits: Uint8Array, n: number) => boolean[][]} */
function unpacked(bits, n) {
  const cell = (/** @type {number} */ at) => Boolean(bits[at >> 3] & (128 >> (at & 7)));
  return Array.from({ length: n }, (_, row) => Array.from({ length: n }, (_, col) => cell(row * n + col)));
}
