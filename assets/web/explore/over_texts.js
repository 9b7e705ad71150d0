// The mean effect of removing each head over many texts, and its spread.

import { dataset, HEADED, WHERE_KEPT } from "../core/dataset.js";
import { button, el } from "../core/dom.js";
import { View } from "../core/view.js";
import { csvFile } from "../views/canvas_png.js";
import { saveRow } from "../views/save_row.js";
import { Work } from "../views/work.js";
import { headSaid, shareGrid, written } from "./measured_heads.js";

const FEWEST = 2;
const ABOUT =
  "One text per line; 10 to 50 are enough. Mean over the texts ± standard deviation: ± as large as the mean says that " +
  "the effect varies by text. Each text has its own answer, or else its sentence vector.";

/** The texts of lines that hold any, each by its line, counted from 1. @type {(typed: string) => [line: number, text: string][]} */
export const textsOf = (typed) =>
  typed
    .split("\n")
    .map((line, at) => /** @type {[number, string]} */ ([at + 1, line.trim()]))
    .filter(([, text]) => text);

/** A line a head, below the names of its cells. @type {(found: TextEffects) => (string | number)[][]} */
export function linesOf({ mean, spread, measure, n }) {
  const lines = mean.flatMap((heads, layer) =>
    heads.map((value, head) => [layer, head, value ?? "", spread[layer][head] ?? "", n, measure]),
  );
  return [["layer", "head", "effect", "spread", "texts", "measure"], ...lines];
}

export class OverTexts extends View {
  /** @type {TextEffects | null} */ #found = null;
  #offered = ""; // the text that stands there at first
  #work = new Work(this.signal);
  typed = el("textarea", { id: "viz-over-texts", rows: 8, oninput: () => this.#typed() });
  start = button("", () => this.#begin(), { class: "viz-small" });
  sentence = el("p", { class: "viz-caption", role: "status" });

  constructor(/** @type {PageSelection} */ selection) {
    super();
    const say = (/** @type {string} */ said) => this.sentence.replaceChildren(said);
    this.grid = shareGrid((place) => selection.set(place), say);
    dataset.on(() => this.#take(), this.signal);
    const label = el("label", { class: "viz-caption", for: this.typed.id }, `${ABOUT} ${WHERE_KEPT}`);
    const save = saveRow("Save the mean effects", [["CSV", "One row per head, with its spread", () => this.#table()]]);
    this.result = el("div", { hidden: true }, this.grid.node, this.sentence, save);
    this.node = el(
      "details",
      { class: "viz-folded viz-over-texts" },
      el("summary", {}, "Effect of removing each head, over many texts"),
      ...[label, this.typed, el("div", { class: "viz-controls" }, this.start, this.#work.node), this.result],
    );
  }

  show(/** @type {Run} */ run) {
    const own = this.typed.value.trim() !== this.#offered.trim(); // somebody typed it
    if (!own) this.typed.value = this.#offered = run.link.a ? `${run.link.a}\n` : "";
    this.#take();
    this.#work.stop();
    [this.run, this.#found] = [run, null];
    this.result.hidden = true;
    this.node.hidden = Boolean(run.grid || run.unsplit);
    this.#count();
  }

  #typed() {
    dataset.set(this.typed.value);
    this.#count();
  }

  // The texts that were typed in any tab, unless they are a table with labels.
  #take() {
    const { text } = dataset;
    if (!text || HEADED.test(text) || text === this.typed.value) return;
    this.typed.value = text;
    this.#count();
  }

  async #begin() {
    const run = this.run;
    const texts = textsOf(this.typed.value);
    if (!run) return;
    this.stale();
    const body = JSON.stringify({ texts: texts.map(([, text]) => text), lines: texts.map(([line]) => line) });
    const words = `Removing every head in ${texts.length} texts`;
    const found = /** @type {TextEffects | null} */ (await this.#work.run(words, run.url("whatif/texts"), body));
    if (!found) return;
    this.#found = found;
    this.result.hidden = false;
    this.sentence.textContent = found.sentence;
    this.draw();
    this.painted(String(found.n));
  }

  draw() {
    if (!this.#found) return;
    const { mean, spread, measure } = this.#found;
    this.grid.show({
      ...{ values: mean, signed: true, write: written((value) => value.toPrecision(2), mean) },
      said: headSaid(
        (value, { layer, head }) =>
          `removed changes ${measure} by ${value.toPrecision(3)} ± ${Number(spread[layer][head]).toPrecision(2)} on average`,
      ),
    });
  }

  #table() {
    return this.#found && csvFile(`${this.run?.model ?? "run"}-effects`, linesOf(this.#found));
  }

  #count() {
    const { length } = textsOf(this.typed.value);
    this.start.disabled = length < FEWEST;
    this.start.textContent = length < FEWEST ? "Measure over texts (at least two)" : `Measure over ${length} texts`;
  }
}
