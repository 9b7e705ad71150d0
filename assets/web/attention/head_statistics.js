// What is known of every head of the shown run: its statistics, and their change against a reference.

import { amount } from "../core/dom.js";

export const STATISTICS = {
  entropy: { title: "Entropy", unit: "nats", meaning: "how evenly each query spreads its weight" },
  distance: { title: "Mean distance", unit: "tokens", meaning: "how far away the keys are, weighted" },
  previous: {
    title: "Weight on the previous token",
    unit: "share",
    meaning: "heads that look at the previous token",
    edge: "The first query has none and counts 0.",
  },
  next: {
    title: "Weight on the next token",
    unit: "share",
    meaning: "heads that look at the next token",
    edge: "The last query has none and counts 0.",
  },
  diagonal: { title: "Weight on the query itself", unit: "share", meaning: "heads that look at the same token" },
  first: { title: "Weight on the first token", unit: "share", meaning: "heads that look at the first token" },
  special: { title: "Weight on special tokens", unit: "share", meaning: "heads that look at special tokens" },
  largest: { title: "Largest single weight", unit: "share", meaning: "heads with one weight that stands out" },
};
export const MAP_CHANGE = "change"; // of the maps themselves; "change:entropy" is that of a statistic
const OF = `${MAP_CHANGE}:`;

// The title, unit and meaning of a statistic or of its change.
export function measure(name) {
  if (name === MAP_CHANGE) {
    return {
      title: "Change of the map",
      unit: "share moved",
      meaning: "½ Σ |a − b| of a query's weights and the reference's; 0 = the same, 1 = no key in common",
    };
  }
  if (!name.startsWith(OF)) return STATISTICS[name];
  const { title, unit, edge } = STATISTICS[name.slice(OF.length)];
  return {
    title: `Change: ${title.toLowerCase()}`,
    unit,
    meaning: "how far it is from the reference's, up or down",
    edge,
  };
}

// Whether a run can be compared with a reference, its maps and its statistics, and why not.
export function comparable(reference, run) {
  if (!reference || !run) return { maps: false, statistics: false, why: "" };
  if (reference.run === run)
    return { maps: false, statistics: false, why: "It is the run that is shown; run another to compare." };
  const size = ({ nLayers, nHeads }) => `${nLayers} layers × ${nHeads} heads`;
  if (size(reference.run) !== size(run)) {
    const why = `It has ${size(reference.run)}, this run ${size(run)}: heads cannot be compared one by one.`;
    return { maps: false, statistics: false, why };
  }
  if (reference.run.n !== run.n) {
    const why = `It has ${reference.run.n} tokens, this run ${run.n}: there is no change of maps, only statistics compared head by head.`;
    return { maps: false, statistics: true, why };
  }
  return { maps: true, statistics: true, why: "" };
}

export class Measures {
  #listeners = new Set();
  #comparing = null;

  constructor() {
    Object.assign(this, { run: null, layers: [], reference: null, changes: [], fault: "" });
  }

  on(listener) {
    this.#listeners.add(listener);
  }

  // A new run, of which nothing is known yet.
  enter(run) {
    Object.assign(this, { run, layers: [], changes: [], fault: "" });
    this.#tell();
  }

  // The statistics of the next layer.
  add(statistics) {
    this.layers.push(statistics);
    this.#tell();
  }

  // Keep the shown run, once it is complete, as what later runs are compared with; null forgets it.
  keep(run) {
    this.reference = run && { run, layers: this.layers };
    Object.assign(this, { changes: [], fault: "" });
    this.#tell();
  }

  get comparable() {
    return comparable(this.reference, this.run);
  }

  // The statistics that can be asked for now.
  names() {
    const { maps, statistics } = this.comparable;
    const changes = statistics ? Object.keys(STATISTICS).map((name) => OF + name) : [];
    return [...Object.keys(STATISTICS), ...(maps ? [MAP_CHANGE] : []), ...changes];
  }

  // How many layers of it are known.
  known(name) {
    return name === MAP_CHANGE ? this.changes.length : this.layers.length;
  }

  complete(name) {
    return this.run !== null && this.known(name) === this.run.nLayers;
  }

  // A head's value; null where there is none, undefined where it is not known yet.
  value(name, layer, head) {
    if (name === MAP_CHANGE) return this.changes[layer]?.[head];
    if (!name.startsWith(OF)) return this.layers[layer]?.[name][head];
    const [now, then] = [this.layers, this.reference.layers].map(
      (layers) => layers[layer]?.[name.slice(OF.length)][head],
    );
    if (now === undefined || then === undefined) return undefined;
    return now === null || then === null ? null : Math.abs(now - then);
  }

  // Every head with its value, by layer and head.
  heads(name) {
    const { nLayers, nHeads } = this.run;
    return Array.from({ length: nLayers * nHeads }, (_, at) => {
      const [layer, head] = [Math.floor(at / nHeads), at % nHeads];
      return { layer, head, name: `${layer}.${head}`, value: this.value(name, layer, head) };
    });
  }

  // Have the maps compared, layer by layer: the server computes it only when it is asked for.
  async compare() {
    const { run, reference } = this;
    const stale = () => this.run !== run || this.reference !== reference;
    const pair = `${run.key}:${reference.run.key}`;
    if (this.#comparing === pair || this.complete(MAP_CHANGE)) return;
    this.#comparing = pair;
    Object.assign(this, { changes: [], fault: "" });
    try {
      for (let layer = 0; layer < run.nLayers; layer++) {
        const heads = await run.json(`change?reference=${reference.run.key}&layer=${layer}`);
        if (stale()) return;
        this.changes.push(heads);
        this.#tell();
      }
    } catch (fault) {
      if (stale()) return;
      this.fault = fault.message;
      this.#tell();
    } finally {
      if (this.#comparing === pair) this.#comparing = null;
    }
  }

  // A head and its statistics in a few words.
  sentence(name) {
    const [layer, head] = name.split(".").map(Number);
    const known = this.layers[layer];
    if (!known) return `Layer ${layer}, head ${head}`;
    const said = (statistic, digits = 2) => amount(known[statistic][head], digits);
    const changed = this.changes[layer] ? ` · changed by ${amount(this.changes[layer][head], 3)}` : "";
    return (
      `Layer ${layer}, head ${head}: entropy ${said("entropy")} nats · distance ${said("distance", 1)} tokens · ` +
      `largest weight ${said("largest", 4)} · on the previous token ${said("previous")}, next ${said("next")}, ` +
      `itself ${said("diagonal")}, first ${said("first")}, special ${said("special")}${changed}`
    );
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }
}
