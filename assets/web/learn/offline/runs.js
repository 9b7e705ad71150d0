// The runs of this page by their keys: a text, what is changed in it, and all numbers of its forward pass.

import { forward } from "./forward.js";
import { masked } from "./prediction.js";

/** @import { Changes, HeadPlace, Model, Ran } from "./forward.js" */
/** @import { Read, Vocabulary } from "./vocabulary.js" */
/** @typedef {{ key: string, text: string, codes: string[], read: Read, ran: Ran }} Held */

export const PLACE = { layer: 2, head: 0 }; // where the lesson looks
const HEAD = /^h(\d+)\.(\d+)$/;
const TOKEN = /^t(\d+)$/;
const SWITCHES = /** @type {Record<string, Changes>} */ ({ c: { causal: true }, p: { positions: false } });

export class Runs {
  /** @type {Map<string, Held>} */
  #held = new Map();
  /** @type {Map<string, string>} */
  #keys = new Map();

  /** @param {Model} model @param {Vocabulary} vocabulary @param {string} name of the model */
  constructor(model, vocabulary, name) {
    this.model = model;
    this.vocabulary = vocabulary;
    this.name = name;
  }

  /** The run of a text; changes are codes, such as "c", "p", "h2.0" or "t2"; of a mask, a row is a query.
   * @param {string} text @param {string[]} [codes] @param {boolean[][] | null} [mask] @returns {Held} */
  of(text, codes = [], mask = null) {
    const what = JSON.stringify([text, codes, mask]);
    const key = this.#keys.get(what) ?? `run${this.#keys.size}`;
    if (!this.#keys.has(what)) {
      const read = this.vocabulary.read(text);
      const ran = forward(this.model, read.ids, { ...changesOf(codes), padding: read.padding, mask });
      this.#held.set(key, { key, text, codes, read, ran });
      this.#keys.set(what, key);
    }
    return this.held(key);
  }

  /** @param {string} key @returns {Held} */
  held(key) {
    const found = this.#held.get(key);
    if (!found) throw new Error("This page does not have that run.");
    return found;
  }

  /** Describe a run for the page. @param {Held} held @returns {RunDescription} */
  described({ key, text, codes, read, ran }) {
    const own = read.tokens.map((_, at) => (read.special[at] ? null : at - 1));
    const changes = codes.map((code) => ({ code, words: code }));
    return {
      ...{ key, kind: "text", model: this.name, device: "", dtype: "", kernel: "", revision: "", weights: "" },
      link: { a: text, ...(codes.length ? { cut: codes.join(",") } : {}) },
      ...{ hasModel: true, tasks: ["masked"], unsplit: "", masked: "" },
      changed: codes.length ? { plain: this.of(text).key, changes, notes: [], unknown: "" } : null,
      ...{ nLayers: this.model.config.n_layers, nHeads: this.model.config.n_heads },
      ...{ tokens: read.tokens, special: read.special, valid: read.tokens.map((_, at) => !read.padding.includes(at)) },
      ...{ segments: read.tokens.map(() => 0), words: own, grid: null, notes: [], swap: null, example: false },
      opening: { ...PLACE, ...this.place(ran) },
      vocabulary: { statistics: {}, scales: {} },
    };
  }

  /** The token that is asked for, else the first word, and the key that it attends to most.
   * @param {Ran} ran */
  place(ran) {
    const query = masked(this.model, ran)[0] ?? Math.min(1, ran.ids.length - 1);
    const weights = ran.blocks[PLACE.layer].heads[PLACE.head].weights[query];
    return { query, key: weights.indexOf(Math.max(...weights)) };
  }
}

/** @type {(codes: string[]) => Changes} */
function changesOf(codes) {
  const heads = codes.flatMap((code) => {
    const found = HEAD.exec(code);
    return found ? [/** @type {HeadPlace} */ ([Number(found[1]), Number(found[2])])] : [];
  });
  const hidden = codes.flatMap((code) => hiddenBy(code) ?? []);
  return Object.assign({ removed: heads, hidden }, ...codes.map((code) => SWITCHES[code] ?? {}));
}

/** The token that a change hides from all; null where it is another change. @type {(code: string) => number | null} */
export function hiddenBy(code) {
  const found = TOKEN.exec(code);
  return found && Number(found[1]);
}

/** Codes in a link that this page can apply to a text of that many tokens.
 * @type {(listed: string, model: Model, nTokens: number) => string[]} */
export function knownCodes(listed, { config }, nTokens) {
  const known = (/** @type {string} */ code) => {
    const [, layer, head] = HEAD.exec(code) ?? [];
    if (Object.hasOwn(SWITCHES, code) || (hiddenBy(code) ?? nTokens) < nTokens) return true;
    return Number(layer) < config.n_layers && Number(head) < config.n_heads;
  };
  return [...new Set(listed.split(",").filter(known))];
}
