// One run on the server: fetches its numbers as raw bytes, and remembers the latest answers.

import { fetchBytes } from "./bytes.js";

const REMEMBERED = 48;

// What the address of a part of a map says of renormalized rows and merged words.
const switches = ({ renorm, words }) => `${renorm ? "&renorm=true" : ""}${words ? "&words=true" : ""}`;

// Sub-words as one word, without the marks of its continuations.
const wordOf = ([first, ...more]) => first + more.map((name) => name.replace(/^##/, "")).join("");

export class Run {
  #answers = new Map();
  #shown = new Map();
  #thumbnails = new Map();
  #largest = new Map();

  constructor(description) {
    Object.assign(this, description);
    this.n = this.tokens.length;
  }

  url(name) {
    return new URL(`viz/run/${this.key}/${name}`, document.baseURI).href;
  }

  thumbnails(layer) {
    const answer = this.#array(`thumbnails?layer=${layer}`);
    answer.then(
      (found) => this.#thumbnails.set(layer, found),
      () => {},
    );
    return answer;
  }

  // One head's thumbnail if it is here already, of all tokens as they are.
  thumbnail({ layer, head, kept }) {
    const found = this.#thumbnails.get(layer);
    if (!found || typeof head !== "number" || kept !== "all") return null;
    const [, height, width] = found.shape;
    return {
      shape: [height, width],
      values: found.values.subarray(head * height * width, (head + 1) * height * width),
    };
  }

  statistics(layer) {
    return this.#once(`statistics?layer=${layer}`, async (response) => {
      const known = await response.json();
      this.#largest.set(layer, Math.max(0, ...known.largest));
      return known;
    });
  }

  // The largest weight of a layer's heads, or of all heads; null until the server has swept them.
  largest(scale, layer) {
    const layers = scale === "all" ? Array.from({ length: this.nLayers }, (_, at) => at) : [layer];
    const known = layers.map((each) => this.#largest.get(each) ?? null);
    return known.includes(null) ? null : Math.max(...known);
  }

  // A part of a map, in places among the shown tokens; its total weight comes with it.
  map(selection, rows, keys, more = "") {
    const { layer, head, hide } = selection;
    const range = `rows=${rows[0]}:${rows[1]}&keys=${keys[0]}:${keys[1]}`;
    return this.#array(`map?layer=${layer}&head=${head}&hide=${hide}${switches(selection)}&${range}${more}`);
  }

  // One query's weights over all tokens, as they ran.
  row({ layer, head, query }) {
    return this.#array(`row?layer=${layer}&head=${head}&query=${query}`);
  }

  // The same as it is shown: a weight for each entry of shown(selection).
  shownRow(selection) {
    const { layer, head, query, hide } = selection;
    return this.#array(`row?layer=${layer}&head=${head}&query=${query}&hide=${hide}${switches(selection)}`);
  }

  // Who looks at one key, as it is shown; the signal stops the server where another is wanted instead.
  shownColumn(selection, signal) {
    const { layer, head, key, hide } = selection;
    return this.#array(`column?layer=${layer}&head=${head}&key=${key}&hide=${hide}${switches(selection)}`, signal);
  }

  // One query's weights by every head of a layer.
  rows(layer, query) {
    return this.#array(`rows?layer=${layer}&query=${query}`);
  }

  // One query's row of another measure, a number a token, and of which answer it is.
  measured(measure, { layer, head, query }, signal) {
    return this.#array(`measured?measure=${measure}&layer=${layer}&head=${head}&query=${query}`, signal);
  }

  predictions(task, layer) {
    return this.#once(`predictions?task=${task}${layer === "" ? "" : `&layer=${layer}`}`, (response) =>
      response.json(),
    );
  }

  proof() {
    return this.#once("proof", (response) => response.json());
  }

  // A Plotly figure of a view, with the options that the address names.
  figure(path) {
    return this.#once(`figure/${path}`, (response) => response.json());
  }

  // Any other answer in JSON.
  json(path) {
    return this.#once(path, (response) => response.json());
  }

  // The tokens that are shown, by their numbers.
  visible(hide) {
    const all = this.tokens.map((_, index) => index);
    return hide ? all.filter((index) => !this.special[index]) : all;
  }

  // What stands along a map's sides: {name, tokens} each, a token or the sub-words of one word;
  // `places` says which entry a token is in, -1 where it is hidden.
  shown({ hide, words }) {
    const key = `${hide}:${words}`;
    if (!this.#shown.has(key)) this.#shown.set(key, this.#list(hide, words));
    return this.#shown.get(key);
  }

  // Whether any word of the run has several sub-words.
  get mergeable() {
    return this.shown({ hide: false, words: true }).length < this.n;
  }

  #list(hide, words) {
    const shown = [];
    let before = null;
    for (let at = 0; at < this.n; at++) {
      const known = words && !this.special[at] && this.words[at] != null;
      const word = known ? `${this.segments[at] ?? 0}:${this.words[at]}` : null;
      if (word !== null && word === before) shown.at(-1).tokens.push(at);
      else if (!hide || !this.special[at]) shown.push({ tokens: [at] });
      before = word;
    }
    shown.places = new Int32Array(this.n).fill(-1);
    shown.forEach((entry, place) => {
      entry.name = wordOf(entry.tokens.map((token) => this.tokens[token]));
      for (const token of entry.tokens) shown.places[token] = place;
    });
    return shown;
  }

  #array(path, signal) {
    return this.#once(
      path,
      async (response) => {
        const { headers } = response;
        const shape = headers.get("x-shape").split(",").map(Number);
        const numbers = new Float32Array(await response.arrayBuffer());
        const cells = shape.reduce((product, side) => product * side, 1);
        return {
          shape,
          step: (headers.get("x-step") || "1,1").split(",").map(Number),
          values: numbers.subarray(0, cells),
          tops: numbers.length > cells ? numbers.subarray(cells) : null,
          total: Number(headers.get("x-total") ?? NaN),
          empty: Number(headers.get("x-empty") ?? 0),
          answer: decodeURIComponent(headers.get("x-answer") ?? ""),
        };
      },
      (url) => fetchBytes(url, signal),
    );
  }

  #once(path, read, ask = (url) => fetch(url)) {
    let answer = this.#answers.get(path);
    if (!answer) {
      answer = this.#ask(path, read, ask);
      answer.catch(() => this.#answers.delete(path));
    }
    this.#answers.delete(path);
    this.#answers.set(path, answer);
    if (this.#answers.size > REMEMBERED) this.#answers.delete(this.#answers.keys().next().value);
    return answer;
  }

  async #ask(path, read, ask) {
    let response;
    try {
      response = await ask(this.url(path));
    } catch {
      throw new Error("The server does not answer; is it still running?");
    }
    if (!response.ok) {
      const fault = await response.json().catch(() => ({}));
      throw new Error(fault.message || `The server answered ${response.status}; press Run again.`);
    }
    return read(response);
  }
}
