// The change against the reference as signed maps: whether it is shown, and one scale for all of them.

import { largestAmount } from "../core/colors.js";
import { Emitter } from "../core/emitter.js";
import { rounded } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { partOf, viewed } from "../core/run.js";
import { signedText } from "./legend.js";
import { inputNamed, named } from "./reference_words.js";

/** The small map of a head, of those of its layer that came. @type {(layer: Numbers | undefined, head: number) =>
 *   { values: Float32Array, height: number, width: number } | null} */
export function mapOf(layer, head) {
  if (!layer || head >= layer.shape[0]) return null;
  const [, height, width] = layer.shape;
  return { values: layer.values.subarray(head * height * width, (head + 1) * height * width), height, width };
}

const SAID =
  "Change of the weight, now − before, in shares of a query’s total: red = more than in the reference, blue = less; all heads on one square-root scale, so that small changes show";

/** Emits when another change is shown, or more of it is known. @extends {Emitter<[]>} */
export class MapChanges extends Emitter {
  #latest = new Latest((sentence) => {
    this.fault = sentence;
    this.tell();
  });
  #of = "";
  fault = "";
  /** @type {Numbers[]} */ layers = []; // all heads of each layer, small
  largest = 0; // change of a head so far
  words = { noun: "change", none: "nothing to compare", empty: "masked in a run", alone: "token in one run only" };
  legend = SAID;

  /** @param {PageSelection} selection @param {HeadStatistics} measures @param {AbortSignal} signal */
  constructor(selection, measures, signal) {
    super();
    this.selection = selection;
    this.measures = measures;
    selection.on(() => this.#turn(), signal);
    measures.on(() => this.#turn());
  }

  // The run that is subtracted; null while the maps are shown as they are.
  get against() {
    const { reference, comparable } = this.measures;
    const shown = this.selection.change && this.selection.measure === "attention";
    return shown && comparable.maps ? reference : null;
  }

  /** The largest change of all heads, at which the scale ends; 0 until all are known. */
  get most() {
    return this.layers.length === this.measures.run?.nLayers ? this.largest : 0;
  }

  get run() {
    return this.measures.run;
  }

  get shows() {
    return this.against ? `change:${this.against.key}` : "";
  }

  /** This run − the reference; pooled where it is large.
   * @type {(run: Run, view: MapView, rows: Span, keys: Span) => Promise<Numbers<Alone>>} */
  part(run, view, rows, keys) {
    const of = `compared_map?reference=${this.against?.key}&${viewed(view)}`;
    return run.numbers(`${of}&${partOf(rows, keys)}`);
  }

  /** Of a file the reference's name, too. @type {(map: string, run?: Run) => string} */
  titled(map, run) {
    const { against } = this;
    if (!run || !against) return `Change from the reference: l${map}`;
    return `Change of l${map} from ${against.model === run.model ? inputNamed(against) : named(against)}`;
  }

  /** @type {(cell: SignedCell) => string} */
  cell({ value, now, query, key, alone }) {
    const weight = Number.isNaN(now) ? "masked" : rounded(now);
    const names = [alone.query && `query ${query}`, alone.key && `key ${key}`].filter(Boolean);
    const are = names.length > 1 ? "are" : "is";
    if (names.length) return `${weight} now; ${names.join(" and ")} ${are} not in the reference`;
    if (Number.isNaN(value)) return Number.isNaN(now) ? "masked in this run" : `${weight} now, masked in the reference`;
    return `${weight} (was ${rounded(Math.max(0, now - value))}, ${signedText(value)})`;
  }

  file(/** @type {string} */ format) {
    return `compared_map/${format}?reference=${this.against?.key}&${viewed(this.selection)}`;
  }

  // The heads are asked for once the run's own are all here.
  #turn() {
    const { against, selection } = this;
    const { run, layers } = this.measures;
    const of = run && against ? `${run.key}:${against.key}:${selection.kept}` : "";
    const wanted = of && run && layers.length === run.nLayers ? `${of}:all` : of;
    if (wanted === this.#of) return;
    [this.#of, this.fault, this.layers, this.largest] = [wanted, "", [], 0];
    this.#latest.stop();
    this.tell();
    if (run && against && wanted !== of) this.#load(run, against);
  }

  #load(/** @type {Run} */ run, /** @type {Run} */ against) {
    return this.#latest.run(async (fresh) => {
      for (let layer = 0; layer < run.nLayers; layer++) {
        const path = `compared_maps?reference=${against.key}&${viewed({ ...this.selection, layer, head: 0 })}`;
        const found = await fresh(run.numbers(path));
        this.layers.push(found);
        this.largest = Math.max(this.largest, largestAmount(found.values));
        this.tell();
      }
    });
  }
}
