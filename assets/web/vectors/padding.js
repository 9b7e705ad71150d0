// Effect of padding: how far each method moves in a padded batch.

import { button, caption, control, controls, counted, el, fillTable, status, tableRow } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { afterBlocks } from "../core/states.js";
import { View } from "../core/view.js";
import { oneStop } from "../views/one_stop.js";
import { called, small, spoken } from "./results.js";

/** @typedef {PaddingDrift["rows"][number]} Drift */

const PAUSE = 250; // ms without another choice before the model is run
const MOST = 64;
/** @type {Record<string, string>} */
const TITLES = {
  masked: "Mask in both",
  zeroed: "Padding zeroed",
  unmasked: "Mask in encoder only",
  attended: "Mask in pooling only",
  neither: "No mask",
};
const DRIFT =
  "How far the vector moves: length of the difference ÷ length of the vector of the text alone. " +
  "1e-7 is float32 rounding. Choose a cell to read why.";

const of = (/** @type {Drift} */ { method, case: name }) => `${method}:${name}`;

export class Padding extends View {
  layer = -1;
  slider = inLink(
    "pool.padding",
    el("input", { type: "range", id: "viz-pool-padding", min: 1, max: MOST, step: 1, value: 16 }),
    this.signal,
  );
  count = el("output");
  controls = controls(control("Padding tokens added", this.slider, this.count));
  said = status();
  table = oneStop(el("table", { class: "viz-pool-table viz-pool-drift" }));
  why = el("p", { class: "viz-readout", role: "status" });
  lead = el("h2", { class: "viz-lead" });
  result = el(
    "div",
    { hidden: true },
    this.lead,
    el("div", { class: "viz-pool-scroll" }, this.table),
    caption(DRIFT),
    this.why,
  );
  node = el(
    "section",
    { class: "viz-pool-padding viz-of-padding", "aria-label": "What padding changes" },
    caption("The same text alone, and again with padding after it, as if batched with a longer text."),
    this.controls,
    this.said,
    this.result,
  );
  #asked = this.latest((sentence) => this.#none(sentence));

  constructor() {
    super();
    this.slider.addEventListener("input", () => this.run && this.#load(this.run, PAUSE));
  }

  show(/** @type {Run} */ run, /** @type {Pooled} */ { layer, room, noRoom }) {
    const same = this.run === run && this.layer === layer;
    Object.assign(this, { run, layer });
    this.slider.max = String(Math.max(1, Math.min(MOST, room)));
    this.controls.hidden = room < 1;
    if (!noRoom) return same || this.#load(run);
    this.#asked.stop();
    this.#none(noRoom);
    this.painted(`${run.key}:${layer}:0`);
  }

  #none(/** @type {string} */ sentence) {
    this.said.textContent = sentence;
    this.result.hidden = true;
  }

  async #load(/** @type {Run} */ run, pause = 0) {
    const [{ layer }, padding] = [this, this.slider.value];
    this.count.textContent = padding;
    await this.#asked.run(
      async (fresh) => {
        this.said.textContent = "Running it with padding …";
        /** @type {PaddingDrift} */
        const found = await fresh(run.json(`padding?padding=${padding}&layer=${layer}`));
        this.#draw(found);
        this.painted(`${run.key}:${found.layer}:${found.padding}`);
      },
      { pause },
    );
  }

  #draw(/** @type {PaddingDrift} */ { tokens, padding, layer, rows, cases, worst }) {
    const byCell = new Map(rows.map((row) => [of(row), row]));
    this.result.hidden = false;
    this.said.textContent = `${counted(tokens, "token")} and ${counted(padding, "padding token")}, ${afterBlocks(layer)}.`;
    const heads = Object.entries(cases).map(([name, title]) => el("th", { scope: "col", title }, TITLES[name] ?? name));
    const most = byCell.get((worst ?? ["mean", "masked"]).join(":"));
    const lines = [...new Set(rows.map(({ method }) => method))].map((method) => {
      const drifts = Object.keys(cases).flatMap((name) => byCell.get(`${method}:${name}`) ?? []);
      const cells = drifts.map((row) => this.#cell(row, worst && most));
      return tableRow(called(method), ...cells);
    });
    fillTable(this.table, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Method"), ...heads)), lines);
    const safe = most && byCell.get(`${most.method}:masked`);
    this.lead.textContent = safe
      ? `${TITLES[most.case]}: ${spoken(most.method)} moves by ${small(most.relative)} of its length; with the mask in encoder and pooling, by ${small(safe.relative)}.`
      : "Padding moves no vector.";
    if (most) this.#choose(most);
  }

  /** @type {(row: Drift, worst?: Drift | null) => HTMLElement} */
  #cell(row, worst) {
    const name = row === worst ? "viz-pool-worst" : Number(row.relative) > 1e-4 ? "viz-pool-moved" : "";
    const drift = button(small(row.relative), () => this.#choose(row));
    if (row === worst) drift.append(el("strong", {}, " worst"));
    return el("td", { "data-cell": of(row), class: name }, drift);
  }

  #choose(/** @type {Drift} */ row) {
    for (const cell of this.table.querySelectorAll("td")) {
      cell.firstElementChild?.setAttribute("aria-pressed", String(cell.dataset.cell === of(row)));
    }
    const size = `Largest difference in a dimension ${small(row.largest)}; 1 − cosine ${small(row.cosine)}.`;
    this.why.textContent = `${called(row.method)}, ${(TITLES[row.case] ?? row.case).toLowerCase()}: ${row.why} ${size}`;
  }
}
