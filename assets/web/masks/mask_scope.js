// The layers and heads where a mask applies: as typed, as a short code, and in words.

/** @typedef {Pick<Run, "nLayers" | "nHeads">} Model */

const RANGE = /^\d{1,4}(-\d{1,4})?$/;

export class MaskScope {
  /** Ascending numbers, counted from 0. @param {Model} model */
  constructor(model, layers = upTo(model.nLayers), heads = upTo(model.nHeads)) {
    this.layers = layers;
    this.heads = heads;
    this.everyLayer = layers.length === model.nLayers;
    this.everyHead = heads.length === model.nHeads;
    this.many = layers.length * heads.length;
    this.of = model.nLayers * model.nHeads;
  }

  /** Parse a code such as "3-5:1,4". @type {(code: string, model: Model) => MaskScope} */
  static from(code, model) {
    const [layers = "", heads = ""] = code.split(":");
    return MaskScope.typed(layers, heads, model);
  }

  /**
   * Parse typed text; throws an Error that says what is wrong.
   * @type {(layers: string, heads: string, model: Model) => MaskScope}
   */
  static typed(layers, heads, model) {
    return new MaskScope(model, numbersIn(layers, "layer", model.nLayers), numbersIn(heads, "head", model.nHeads));
  }

  get whole() {
    return this.everyLayer && this.everyHead;
  }

  // Code for the server and the link; "" for all layers and heads.
  get code() {
    const layers = this.everyLayer ? "" : ranges(this.layers, "-").join(",");
    return this.everyHead ? layers : `${layers}:${ranges(this.heads, "-").join(",")}`;
  }

  // Text for the fields; "" for all.
  get written() {
    return {
      layers: this.everyLayer ? "" : ranges(this.layers, "–").join(", "),
      heads: this.everyHead ? "" : ranges(this.heads, "–").join(", "),
    };
  }

  get words() {
    if (this.whole) return "all layers and heads";
    const heads = this.everyHead ? "all heads" : `${plural("head", this.heads)} ${listed(this.heads)}`;
    return this.everyLayer
      ? `${heads} of all layers`
      : `${plural("layer", this.layers)} ${listed(this.layers)}, ${heads}`;
  }

  /** @type {(layer: number, head: number) => boolean} */
  has(layer, head) {
    return this.layers.includes(layer) && this.heads.includes(head);
  }
}

const upTo = (/** @type {number} */ count) => Array.from({ length: count }, (_, at) => at);
const plural = (/** @type {string} */ what, /** @type {number[]} */ { length }) => (length === 1 ? what : `${what}s`);

/** The numbers of "3-5, 7"; all where nothing, or "all", is typed. @type {(typed: string, what: string, count: number) => number[]} */
export function numbersIn(typed, what, count) {
  const written = typed
    .trim()
    .toLowerCase()
    .replace(/\s*[-–—−]\s*/g, "-");
  if (!written || written === "all") return upTo(count);
  const found = new Set();
  if (/^[,;]|[,;]\s*[,;]/.test(written)) throw new Error(noList(typed, what)); // after the last one more is typed
  for (const part of written.split(/[\s,;]+|and/).filter(Boolean)) {
    if (!RANGE.test(part)) throw new Error(noList(part, what));
    const [first, last = first] = part.split("-").map(Number);
    if (first > last) throw new Error(`${part} counts down; write ${last}-${first}`);
    if (last >= count) {
      const from = Math.max(first, count); // the first that is not there
      const named = from === last ? `is no ${what} ${last}` : `are no ${what}s ${from}–${last}`;
      const has = count === 1 ? `1 ${what}, 0` : `${count} ${what}s, 0 to ${count - 1}`;
      throw new Error(`There ${named}: this model has ${has}`);
    }
    for (let number = first; number <= last; number++) found.add(number);
  }
  if (!found.size) throw new Error(noList(written, what));
  return [...found].sort((a, b) => a - b);
}

const noList = (/** @type {string} */ typed, /** @type {string} */ what) =>
  `“${typed.trim()}” is not a list of ${what}s; write numbers, such as 3-5 or 1, 4`;

// Three or more in a row as a range.
function ranges(/** @type {number[]} */ numbers, /** @type {string} */ to) {
  /** @type {number[][]} */
  const runs = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run && run[run.length - 1] === number - 1) run.push(number);
    else runs.push([number]);
  }
  return runs.flatMap((run) => (run.length > 2 ? [`${run[0]}${to}${run[run.length - 1]}`] : run.map(String)));
}

function listed(/** @type {number[]} */ numbers) {
  const parts = ranges(numbers, "–");
  const last = parts.pop();
  return parts.length ? `${parts.join(", ")} and ${last}` : last;
}
