// The change against the reference as signed maps: whether it is shown, and one scale for all of them.

import { Emitter } from "../core/emitter.js";
import { Latest, sentenceOf } from "../core/latest.js";
import { viewed } from "../core/run.js";

/** @import { AttentionMap, HeadStatistics, MapView, Numbers, Range, Run, Selection } from "./types.d.ts" */
/** @typedef {{ rows?: number[], keys?: number[] }} Alone the places of a part that the reference has not */

/** A part of the signed map, this run − the reference; pooled where it is large.
 * @type {(run: Run, reference: Run, view: MapView, rows: Range, keys: Range) => Promise<Numbers<Alone>>} */
export const changePart = (run, reference, view, rows, keys) =>
  run.numbers(`compared_map?reference=${reference.key}&${viewed(view)}&rows=${rows.join(":")}&keys=${keys.join(":")}`);

/** The largest amount of numbers with a sign, but NaN. @type {(values: Float32Array) => number} */
export function largestAmount(values) {
  let found = 0;
  for (let at = 0; at < values.length; at++) if (Math.abs(values[at]) > found) found = Math.abs(values[at]);
  return found;
}

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

  /** @param {Selection} selection @param {HeadStatistics} measures */
  constructor(selection, measures) {
    super();
    this.selection = selection;
    this.measures = measures;
    selection.on(() => this.#turn());
    measures.on(() => this.#turn());
  }

  // Show it on the big map.
  lead(/** @type {AttentionMap} */ map) {
    map.changes = this;
    let before = this.against;
    this.on(() => {
      const other = before !== this.against;
      before = this.against;
      if (map.run && other) map.load().catch((fault) => map.say(sentenceOf(fault)));
      else if (before) map.draw(); // the scale's end is known
    });
  }

  // The run that is subtracted; null while the maps are shown as they are.
  get against() {
    const { reference, comparable } = this.measures;
    return this.selection.change && reference && comparable.maps ? reference.run : null;
  }

  /** The largest change of all heads, at which the scale ends; null until all are known. @returns {number | null} */
  get most() {
    return this.layers.length === this.measures.run?.nLayers ? this.largest : null;
  }

  /** The small signed map of a head, if it is here. @type {(layer: number, head: number) => { values: Float32Array,
   * height: number, width: number } | null} */
  of(layer, head) {
    const found = this.layers[layer];
    if (!found || head >= found.shape[0]) return null;
    const [, height, width] = found.shape;
    return { values: found.values.subarray(head * height * width, (head + 1) * height * width), height, width };
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
