// One run on the server: fetches its numbers as raw bytes, and remembers the latest answers.

const REMEMBERED = 48;

export class Run {
  #answers = new Map();

  constructor(description) {
    Object.assign(this, description);
    this.n = this.tokens.length;
  }

  url(name) {
    return new URL(`viz/run/${this.key}/${name}`, document.baseURI).href;
  }

  thumbnails(layer) {
    return this.#array(`thumbnails?layer=${layer}`);
  }

  statistics(layer) {
    return this.#once(`statistics?layer=${layer}`, (response) => response.json());
  }

  map({ layer, head, hide }, rows, keys) {
    const range = `rows=${rows[0]}:${rows[1]}&keys=${keys[0]}:${keys[1]}`;
    return this.#array(`map?layer=${layer}&head=${head}&hide=${hide}&${range}`);
  }

  row({ layer, head, query }) {
    return this.#array(`row?layer=${layer}&head=${head}&query=${query}`);
  }

  predictions(task, layer) {
    return this.#once(`predictions?task=${task}${layer === "" ? "" : `&layer=${layer}`}`, (response) => response.json());
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

  #array(path) {
    return this.#once(path, async (response) => ({
      shape: response.headers.get("x-shape").split(",").map(Number),
      step: (response.headers.get("x-step") || "1,1").split(",").map(Number),
      values: new Float32Array(await response.arrayBuffer()),
    }));
  }

  #once(path, read) {
    let answer = this.#answers.get(path);
    if (!answer) {
      answer = this.#ask(path, read);
      answer.catch(() => this.#answers.delete(path));
    }
    this.#answers.delete(path);
    this.#answers.set(path, answer);
    if (this.#answers.size > REMEMBERED) this.#answers.delete(this.#answers.keys().next().value);
    return answer;
  }

  async #ask(path, read) {
    let response;
    try {
      response = await fetch(this.url(path));
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
