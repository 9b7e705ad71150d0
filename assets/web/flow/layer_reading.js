// The input shaded by one layer's row of a measure over depth; its layers slide or play.

import { button, control, controls, el } from "../core/dom.js";
import { Latest, rest } from "../core/latest.js";
import { afterBlocks, blocksPassed } from "../core/states.js";
import { FlowSource } from "../views/shaded_input.js";

/** @import { ViewPlace } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { Heatmap } from "../views/figure_numbers.js" */
/** @typedef {{ run: Run, query: number, table: Heatmap, place: ViewPlace, hide: boolean }} Rows `query` is -1 where the
 *   head reads; `hide` says whether special tokens are left out of the table */

const STEP = 800; // ms a layer is shown while it plays

export class LayerReading {
  #playing = new Latest();
  #begins = ""; // whose rows these are
  /** @type {Rows | null} */
  shown = null;
  layer = el("input", {
    type: "range",
    min: 0,
    max: 0,
    step: 1,
    "aria-label": "Layer whose row shades the input",
    oninput: (event) => this.choose(Number(event.currentTarget.value)),
  });
  layerName = el("output");
  toggle = button("▶ Play", () => this.play(this.toggle.getAttribute("aria-pressed") === "false"), {
    "aria-pressed": "false",
  });
  heading = el("h3");
  node = el("section", {
    class: "viz-flow-reading",
    hidden: true,
    "aria-label": "The input, shaded by one layer's row",
  });

  constructor(/** @type {(token: number) => unknown} */ choose) {
    this.source = new FlowSource(choose);
    this.node.append(
      this.heading,
      controls(control("Layer", this.layer, this.layerName), this.toggle),
      this.source.node,
    );
  }

  // Other rows begin at the last one; shares of an answer at the first, that of the input.
  show(/** @type {Rows | null} */ rows) {
    const begins = rows && `${rows.run.key} ${rows.place.slot}`;
    if (rows && begins !== this.#begins) {
      this.layer.max = String(rows.table.rows - 1);
      this.layer.value = rows.place.slot === "answer" ? "0" : this.layer.max;
    }
    if (begins) this.#begins = begins;
    this.shown = rows;
    this.node.hidden = !rows;
    this.shade();
  }

  // Show the row of a layer that was chosen by hand.
  choose(/** @type {number} */ layer) {
    this.play(false);
    this.layer.value = String(layer);
    this.shade();
  }

  shade() {
    if (!this.shown) return;
    const { run, query, table, place, hide } = this.shown;
    const signed = place.slot === "answer";
    const layer = Number(this.layer.value);
    const row = table.values.slice(layer * table.cols, (layer + 1) * table.cols);
    const passed = Number(table.y[layer]);
    const said = place.row.includes("{after}") ? blocksPassed(passed, run.nLayers) : `layer ${layer}`;
    this.layerName.textContent = said;
    this.layer.setAttribute("aria-valuetext", said);
    this.heading.textContent = rowSaid(place.row, query < 0 ? "" : run.named(query), layer, passed);
    const step = Math.ceil(run.visible(hide).length / table.cols);
    this.source.show(run, query, row, step, table.unit.toLowerCase(), place.own_part, hide, signed);
  }

  // Play once from the first layer to the last.
  play(/** @type {boolean} */ on) {
    this.toggle.setAttribute("aria-pressed", String(on));
    this.toggle.textContent = on ? "■ Stop" : "▶ Play";
    this.#playing.run(async (fresh) => {
      if (!on || !this.shown) return;
      for (let layer = 0; layer <= Number(this.layer.max); layer++) {
        if (layer) await fresh(rest(STEP));
        this.layer.value = String(layer);
        this.shade();
      }
      this.play(false);
    });
  }
}

/**
 * Describe a layer's row; text in [ ] is only for a query.
 * @type {(template: string, query: string, layer: number, passed: number) => string}
 */
export function rowSaid(template, query, layer, passed) {
  /** @type {Record<string, string>} */
  const known = { query, layer: String(layer), after: afterBlocks(passed) };
  return template.replace(/\[(.*?)\]/g, query && "$1").replace(/\{(\w+)\}/g, (_, name) => known[name]);
}
