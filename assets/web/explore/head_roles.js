// Share of every head's attention by kind of token, such as punctuation, fetched on demand.

import { Latest } from "../core/latest.js";

/** @typedef {{ layers: Maybe[][], queries: number }} Known of how many queries the shares are means */

/** A role is named "role:punctuation", or "role:offset:-2". */
export const isRole = (/** @type {string} */ name) => name.startsWith("role:");

export class HeadRoles {
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
