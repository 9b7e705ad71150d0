// Many texts: the mean effect of removing each head, and its spread.

import { el, button } from "../core/dom.js";
import { saveRow } from "../views/save_row.js";
import { EffectColors } from "./effect_colors.js";
import { tableFile, overTexts as tableOf } from "./effects_table.js";
import { HeadGrid } from "./head_grid.js";
import { overTexts } from "./requests.js";
import { Work } from "../views/work.js";

/** @import { TextEffects } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { Way } from "./requests.js" */

const FEWEST = 2;
const ABOUT =
  "One text per line; 10 to 50 are enough. Mean over the texts ± standard deviation: " +
  "a head whose spread is as large as its mean depends on the text.";

/** The texts of lines that hold any, each by its line, counted from 1. @type {(typed: string) => [line: number, text: string][]} */
export const textsOf = (typed) =>
  typed
    .split("\n")
    .map((line, at) => /** @type {[number, string]} */ ([at + 1, line.trim()]))
    .filter(([, text]) => text);

export class Texts {
  /** @type {Run | null} */
  run = null;
  /** @type {Way} */
  way = { measure: "", how: "zero" };
  /** @type {TextEffects | null} */
  found = null;
  #offered = ""; // the text that stands there at first
  answer = ""; // of the run, which says what a color means
  typed = el("textarea", { id: "viz-whatif-texts", rows: 8, oninput: () => this.#count() });
  start = button("", () => this.begin(), { class: "viz-small viz-whatif-go", id: "viz-whatif-over" });
  work = new Work();
  sentence = el("p", { class: "viz-whatif-said", role: "status" });
  legend = el("div");

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    this.grid = new HeadGrid({ label: "Mean effect over the texts", choose });
    const label = el("label", { class: "viz-caption", for: this.typed.id }, ABOUT);
    const left = el("div", {}, label, this.typed, el("div", { class: "viz-controls" }, this.start, this.work.node));
    const take = saveRow("Save the mean effects", [
      ["CSV", "The effects as shown: one row per head, with spread, unit, mode and measure", () => this.#table()],
    ]);
    this.result = el("div", { hidden: true }, this.sentence, this.grid.node, this.legend, take);
    this.node = el(
      "section",
      { class: "viz-whatif-many", "aria-label": "Over many texts" },
      el("h3", {}, "Over many texts"),
      el("div", { class: "viz-whatif-many-two" }, left, this.result),
    );
  }

  /** @type {(run: Run, text: string, way: Way) => void} */
  enter(run, text, way) {
    const own = this.typed.value.trim() !== this.#offered.trim(); // somebody typed it
    if (this.run !== run && !own) this.typed.value = this.#offered = text ? `${text}\n` : "";
    this.work.stop();
    Object.assign(this, { run, way, found: null });
    this.result.hidden = true;
    this.node.hidden = Boolean(run.grid);
    this.#count();
  }

  async begin() {
    const { run, way } = this;
    const texts = textsOf(this.typed.value);
    if (!run || texts.length < FEWEST) return;
    delete this.node.dataset.painted;
    const found = await this.work.run(`Removing every head in ${texts.length} texts`, (tell, signal) =>
      overTexts(run, texts, way, tell, signal),
    );
    if (!found) return;
    this.found = found;
    this.result.hidden = false;
    this.grid.enter(run.nLayers, run.nHeads);
    this.draw();
    this.node.dataset.painted = String(found.n);
  }

  mark(/** @type {HeadPlace[]} */ chosen) {
    this.grid.mark(chosen, new Set());
  }

  draw() {
    if (!this.found) return;
    const { sentence, n, measure, mean, spread } = this.found;
    this.sentence.textContent = sentence;
    const colors = new EffectColors(mean.flat(), this.answer && "the answer");
    this.grid.draw({ values: mean, colors, spread });
    this.legend.replaceChildren(colors.legend(`mean of ${n} texts, change in ${measure}`));
  }

  #table() {
    const { found, run, way } = this;
    return found && run && tableFile(tableOf(found, way.how, way.measure), run.model);
  }

  #count() {
    const { length } = textsOf(this.typed.value);
    this.start.disabled = length < FEWEST;
    this.start.textContent = length < FEWEST ? "Measure over texts (at least two)" : `Measure over ${length} texts`;
  }
}
