// Statistics of every head of the shown run, and how far its maps are from a reference's.

import { amount } from "../core/dom.js";
import { Emitter } from "../core/emitter.js";
import { Latest } from "../core/latest.js";
import { AS_IT_RAN, isChanged, sizeSaid, switched } from "../core/run.js";

/** @typedef {{ layer: number, head: number, name: string, value: Maybe | undefined }} HeadValue */
/** @typedef {Pick<Run, "nLayers" | "nHeads" | "n"> & { key?: string }} Sized */

export const MAP_CHANGE = "change"; // a statistic of two runs

const OF_MAPS = {
  title: "Change in the map",
  unit: "share moved",
  edge: "",
  over: "Mean over the real queries.",
  most: 1,
  meaning: "½ Σ |a − b| of a query's weights and the reference's; 0 = the same, 1 = no key in common",
};

/** A head by its name, such as "3.5". @type {(name: string) => { layer: number, head: number }} */
export function headNamed(name) {
  const [layer, head] = name.split(".").map(Number);
  return { layer, head };
}

/** Sort by value, unknown ones last, ties by layer and head.
 * @template {{ value?: number | null }} Kind @param {Kind[]} heads @param {boolean} lowest */
export function rank(heads, lowest) {
  const key = (/** @type {Kind} */ { value }) => (value == null ? Infinity : lowest ? value : -value);
  return heads.toSorted((a, b) => (key(a) === key(b) ? 0 : key(a) - key(b)));
}

/** Whether a run's maps can be compared with a reference's, and why not.
 * @type {(reference: Sized | null, run: Sized | null) => { maps: boolean, why: string }} */
export function comparable(reference, run) {
  const none = (why = "") => ({ maps: false, why });
  if (!reference || !run) return none();
  if (reference === run || (reference.key && reference.key === run.key))
    return none("This run is the reference; run another input to compare.");
  const [before, now] = [sizeSaid(reference), sizeSaid(run)];
  if (before !== now) {
    return none(`The reference has ${before}, this run ${now}: their heads cannot be compared.`);
  }
  const lengths = `The reference has ${reference.n} tokens, this run ${run.n}`;
  const why = reference.n === run.n ? "" : `${lengths}: maps are compared on the tokens that both have.`;
  return { maps: true, why };
}

/** @typedef {{ layers: Maybe[][], queries: number }} Known of how many queries the shares are means */

/** A role is named "role:punctuation", or "role:offset:-2". */
export const isRole = (/** @type {string} */ name) => name.startsWith("role:");

// Share of every head's attention by kind of token, such as punctuation, fetched on demand.
class HeadRoles {
  #latest = new Latest((sentence) => {
    [this.fault, this.#asking] = [sentence, ""];
    this.tell();
  });
  /** @type {Map<string, Known>} */ #known = new Map();
  #asking = "";
  /** @type {Run | null} */ run = null;
  fault = "";

  constructor(/** @type {() => unknown} */ tell) {
    this.tell = tell;
  }

  enter(/** @type {Run} */ run) {
    this.#latest.stop();
    this.#known.clear();
    [this.run, this.fault, this.#asking] = [run, "", ""];
  }

  /** @type {(name: string) => Known} */
  of(name) {
    const known = this.#known.get(name) ?? { layers: [], queries: -1 };
    this.#known.set(name, known);
    return known;
  }

  // Request a kind, layer by layer; the latest request goes first.
  ask(/** @type {string} */ name) {
    const [{ run }, known] = [this, this.of(name)];
    if (!run || this.#asking === name || known.layers.length === run.nLayers) return;
    [this.#asking, this.fault] = [name, ""];
    const [, role, offset = "0"] = name.split(":");
    this.#latest.run(async (fresh) => {
      while (known.layers.length < run.nLayers) {
        const asked = `role?role=${role}&offset=${offset}&layer=${known.layers.length}`;
        const { shares, queries } = /** @type {RoleShares} */ (await fresh(run.json(asked)));
        known.layers.push(shares);
        known.queries = queries;
        if (known.layers.length === run.nLayers) this.#asking = "";
        this.tell();
      }
    });
  }
}

/** @extends {Emitter<[]>} */
export class HeadStatistics extends Emitter {
  #comparing = new Latest((sentence) => {
    [this.fault, this.#pair] = [sentence, ""];
    this.tell();
  });
  #pair = ""; // which runs are compared, or have been
  /** @type {Run | null} */ run = null;
  /** @type {LayerStatistics[]} */ layers = [];
  kept = AS_IT_RAN; // over what they are
  /** @type {Record<string, StatisticText> | null} */ #said = null;
  /** @type {Run | null} */ reference = null;
  /** @type {HeadChanges[]} */ changes = [];
  fault = "";
  roles = new HeadRoles(() => this.tell());

  // A new run, of which nothing is known yet.
  enter(/** @type {Run} */ run) {
    [this.run, this.layers, this.#said] = [run, [], null];
    this.roles.enter(run);
    this.#forget();
  }

  // Statistics over what is kept are about to come; what is known with other switches goes.
  begin(/** @type {Switches} */ kept, /** @type {Record<string, StatisticText>} */ said) {
    [this.kept, this.#said, this.layers] = [kept, said, []];
    this.#forget();
  }

  // The statistics of the next layer.
  add(/** @type {LayerStatistics} */ statistics) {
    this.layers.push(statistics);
    this.tell();
  }

  // Keep a run as what the shown one and later ones are compared with; null forgets it.
  keep(/** @type {Run | null} */ run) {
    this.reference = run;
    this.#forget();
  }

  #forget() {
    this.#comparing.stop();
    [this.changes, this.fault, this.#pair] = [[], "", ""];
    this.tell();
  }

  /** The run that the shown one is compared with: not itself, which may have been made anew. @returns {Run | null} */
  get other() {
    const { reference, run } = this;
    return reference && reference.key !== run?.key ? reference : null;
  }

  get comparable() {
    return comparable(this.reference, this.run);
  }

  // Statistics of a run by itself.
  get own() {
    return this.#said ?? this.run?.vocabulary.statistics ?? {};
  }

  // The statistics that can be asked for now.
  names() {
    return [...Object.keys(this.own), ...(this.comparable.maps ? [MAP_CHANGE] : [])];
  }

  /** A statistic in words.
   * @type {(name: string) => Pick<StatisticText, "title" | "unit" | "meaning" | "edge" | "over" | "most">} */
  text(name) {
    return this.own[name] ?? OF_MAPS;
  }

  // Number of layers for which it is known.
  known(/** @type {string} */ name) {
    if (isRole(name)) return this.roles.of(name).layers.length;
    return name === MAP_CHANGE ? this.changes.length : this.layers.length;
  }

  complete(/** @type {string} */ name) {
    return this.run !== null && this.known(name) === this.run.nLayers;
  }

  /** A head's value; null where there is none, undefined where it is not known yet.
   * @type {(name: string, layer: number, head: number) => Maybe | undefined} */
  value(name, layer, head) {
    if (name === MAP_CHANGE) return this.changes[layer]?.[head];
    if (isRole(name)) return this.roles.of(name).layers[layer]?.[head];
    return this.layers[layer]?.[name]?.[head];
  }

  /** Every head with its value, by layer and head. @type {(name: string) => HeadValue[]} */
  heads(name) {
    const { nLayers, nHeads } = this.run ?? { nLayers: 0, nHeads: 0 };
    return Array.from({ length: nLayers * nHeads }, (_, at) => {
      const [layer, head] = [Math.floor(at / nHeads), at % nHeads];
      return { layer, head, name: `${layer}.${head}`, value: this.value(name, layer, head) };
    });
  }

  // Have the maps compared, layer by layer: the server computes this only on demand.
  compare() {
    const { run, reference } = this;
    const pair = `${run?.key}:${reference?.key}`;
    if (!run || !reference || this.#pair === pair) return;
    [this.changes, this.fault, this.#pair] = [[], "", pair];
    const kept = isChanged(this.kept) ? `&${switched(this.kept)}` : "";
    this.#comparing.run(async (fresh) => {
      for (let layer = 0; layer < run.nLayers; layer++) {
        this.changes.push(await fresh(run.json(`change?reference=${reference.key}&layer=${layer}${kept}`)));
        this.tell();
      }
    });
  }

  // A head and its statistics in a few words.
  sentence(/** @type {string} */ name) {
    const { layer, head } = headNamed(name);
    const known = this.layers[layer];
    if (!known) return `Layer ${layer}, head ${head}`;
    const said = (/** @type {string} */ statistic, digits = 2) => amount(known[statistic][head], digits);
    const limit = amount(this.text("entropy").most, 2);
    const changed = this.changes[layer] ? ` · changed by ${amount(this.changes[layer][head], 3)}` : "";
    return (
      `Layer ${layer}, head ${head}: entropy ${said("entropy")} of at most ${limit} nats · distance ${said("distance", 1)} tokens · ` +
      `largest weight ${said("largest", 4)} · on the previous token ${said("previous")}, next ${said("next")}, ` +
      `itself ${said("same")}, first ${said("first")}${this.kept.hide ? "" : `, special ${said("special")}`}${changed}${this.#over}`
    );
  }

  // What they are over, if not all of the maps as they ran.
  get #over() {
    const { hide, renorm } = this.kept;
    return hide || renorm
      ? ` · ${[hide && "special tokens hidden", renorm && "rows renormalized"].filter(Boolean).join(", ")}`
      : "";
  }
}
