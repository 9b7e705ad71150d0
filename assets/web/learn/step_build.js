// Step 12: an encoder of any sizes: what its parts weigh, what attention and FFN cost, and a run of it untrained.

import { button, caption, controls, el, fillTable, options, svg, css, tableHead, tableRow } from "../core/dom.js";
import { oneStop } from "../views/one_stop.js";
import { asksFor } from "./cover.js";
import { countText, scrolled } from "./printed.js";
import { Latest } from "../core/latest.js";
import { spoken, woven } from "./sentences.js";
import { StepView } from "./step_view.js";
import { address, json } from "../core/server.js";
import { current } from "../core/app_state.js";
import { Run } from "../core/run.js";

/** @import { Texts } from "./types.d.ts" */
/** @typedef {Record<string, string>} Sizes */
/** @typedef {{ message?: string, parts: { name: string, formula: string, count: number }[], total: number,
 *   scores_cost: number, ffn_cost: number, projections_cost: number, equal_at: number,
 *   T: number, runs: boolean, most: number, asked: Record<string, string | number | boolean>, presets: Record<string, Sizes> }} Built */

/** @type {Record<string, string[]>} */
const CHOICES = {
  reads: ["text", "image"],
  positions: ["sinusoidal", "learned", "rotary", "relative", "none"],
  norm: ["post", "pre"],
  activation: ["gelu", "relu", "silu"],
};
/** @type {Record<string, string[]>} */
const OF_OTHERS = { text: ["image", "patch", "registers"], image: ["V", "T"] }; // axes that one of a kind does not have
const FIRST = ["d_model", "n_layers", "T"]; // the others are folded
const [WIDTH, HEIGHT] = [440, 180];
/** @type {Record<string, number>} */
const LEAST = { registers: 0 };
const NEIGHBORS = 3; // that a convolution reads at once

export class BuildStep extends StepView {
  #asked = new Latest((sentence) => this.#refuse(sentence));
  #running = new Latest((sentence) => this.#refuse(sentence));
  /** @type {Sizes} */
  sizes = {};
  fields = el("div", { class: "viz-learn-fields" });
  presets = oneStop(controls());
  summary = el("summary");
  table = el("table", { class: "viz-learn-plain viz-learn-parts" });
  curve = el("div", { class: "viz-learn-curve" });
  others = el("section");
  said = el("p", { class: "viz-caption viz-learn-refusal", role: "status" });
  start = button("", () => this.#run());
  save = el("a", { class: "viz-caption", download: "encoder.zip" });
  counts = el("div", { class: "viz-learn-two" }, scrolled(this.table), this.curve);
  go = controls(this.start);
  folded = el("div", { class: "viz-learn-fields" });
  more = el("details", { class: "viz-folded" }, this.summary, this.presets, this.folded, this.save);
  node = el("div", {}, ...[this.fields, this.more, this.said, this.counts, this.go, this.note, this.others]);
  /** @type {Built | null} */
  found = null;
  language = "";
  made = ""; // the run that its button asked for, until it is seen

  headline() {
    const { found, shown } = this;
    const { texts } = shown;
    if (this.counts.hidden) return [texts.steps.build];
    return found ? woven(texts.build.headline("\u0000"), totalOf(found.total)) : "";
  }

  draw() {
    const { shown } = this;
    const first = this.language !== shown.texts.language;
    this.language = shown.texts.language;
    this.sizes.reads ??= shown.run.grid ? "image" : "text";
    if (first) this.#lay(shown.texts);
    this.#draw(); // in the language of now, before the server answers
    if (first || !this.found) this.#ask();
    if (shown.run.key !== this.made) return;
    this.made = "";
    document.querySelector(".viz-learn .viz-masked")?.scrollIntoView({ block: "center" });
  }

  #lay(/** @type {Texts} */ { build: words }) {
    const choices = /** @type {Record<string, string>} */ (words.choices);
    const picture = this.sizes.reads === "image";
    this.start.textContent = picture ? words.runPicture : words.run;
    this.note.textContent = picture ? words.registers : "";
    this.save.textContent = words.save;
    this.summary.textContent = words.more;
    const preset = (/** @type {string} */ name) => {
      this.#take(this.found?.presets[name] ?? {});
      this.#ask();
    };
    this.presets.replaceChildren(
      ...Object.entries(words.presets).map(([name, label]) => button(label, () => preset(name))),
    );
    const field = ([name, label] = ["", ""]) => {
      const set = (/** @type {string} */ value) => {
        this.sizes[name] = value;
        if (name === "reads") this.#lay(this.shown.texts);
        this.#ask();
      };
      const onchange = (/** @type {{ currentTarget: { value: string } }} */ event) => set(event.currentTarget.value);
      const named = CHOICES[name];
      const input = named
        ? el("select", { onchange }, ...options(named.map((each) => [each, choices[each] ?? each])))
        : el("input", { type: "number", min: LEAST[name] ?? 1, step: 1, onchange });
      input.value = this.sizes[name] ?? "";
      return el("label", {}, label, input);
    };
    const alone = !document.getElementById("viz-tabs"); // a lesson in a file reads texts
    const own = Object.entries(words.fields).filter(
      ([name]) => !OF_OTHERS[this.sizes.reads].includes(name) && !(alone && name === "reads"),
    );
    const [first, rest] = [true, false].map((is) => own.filter(([name]) => FIRST.includes(name) === is));
    this.fields.replaceChildren(...first.map(field));
    this.folded.replaceChildren(...rest.map(field));
  }

  // The axes that the server has, as the form shows them.
  #take(/** @type {Record<string, string | number | boolean>} */ axes) {
    for (const [name, value] of Object.entries(axes)) this.sizes[name] = String(value);
    this.#lay(this.shown.texts);
  }

  #saved() {
    const text = this.shown.run.link.a;
    return new URLSearchParams({ ...this.sizes, ...(text ? { a: text } : {}) });
  }

  async #ask() {
    const query = new URLSearchParams(this.sizes);
    await this.#asked.run(async (fresh) => {
      /** @type {Built & { message?: string }} */
      const found = await fresh(json(`viz/learn/build?${query}`));
      const refused = Boolean(found.message); // sizes that cannot be are answered in a sentence
      this.#refuse(found.message ?? "");
      for (const part of [this.counts, this.go, this.save, this.note, this.others]) part.hidden = refused;
      if (refused) return this.acts.layoutChanged();
      if (!this.found) this.#take({ ...found.asked, reads: this.sizes.reads });
      this.found = found;
      this.start.disabled = !found.runs;
      if (!found.runs) this.#refuse(this.shown.texts.build.large(countText(found.most)));
      this.save.href = address(`viz/learn/build/encoder.zip?${this.#saved()}`);
      this.#draw();
      this.acts.layoutChanged();
    });
  }

  #draw() {
    const { found, shown } = this;
    if (!found) return;
    const words = shown.texts.build;
    const named = /** @type {Record<string, string>} */ (words.parts);
    const parts = found.parts.map(({ name, formula, count: n }) =>
      tableRow(named[name] ?? name, formula.replace("channels", words.channels), countText(n)),
    );
    const foot = el("tfoot", {}, tableRow(words.total, "", totalOf(found.total)));
    fillTable(this.table, tableHead(words.part, words.formula, words.count), parts, foot);
    const { T } = found;
    this.curve.replaceChildren(
      el("h4", {}, words.curve),
      curves(T, found, words),
      caption(words.meet(countText(found.equal_at), countText(T), Math.sign(T - found.equal_at))),
    );
    this.others.replaceChildren(...besideOthers(T, Number(this.sizes.d_model), words));
  }

  async #run() {
    const { run } = current;
    const body = JSON.stringify({ ...this.sizes, run: run?.key });
    const [said, { running }] = [this.start.textContent, this.shown.texts.build];
    Object.assign(this.start, { disabled: true, ariaBusy: "true", textContent: running });
    await this.#running.run(async (fresh) => {
      /** @type {RunDescription & { message?: string }} */
      const made = await fresh(json("viz/learn/build", { body, signal: fresh.signal }));
      this.#refuse(made.message ?? "");
      if (made.message || run !== current.run) return; // refused, or another was run meanwhile
      this.made = made.key;
      current.enter(new Run(made));
      current.selection.flush(); // the form takes it over from the link
      current.fillForm();
    });
    Object.assign(this.start, { disabled: !this.found?.runs, ariaBusy: "false" });
    if (this.start.textContent === running) this.start.textContent = said;
  }

  #refuse(/** @type {string} */ sentence) {
    this.said.textContent = spoken(this.shown.texts, sentence);
    this.said.hidden = !sentence;
  }
}

// Covered where it is what an exercise asks for.
const totalOf = (/** @type {number} */ total) =>
  el("span", asksFor("total-weights", { value: total }), countText(total));

/** What attention, a convolution and a recurrent layer cost, what waits in them, and how far their first and last
 * token are apart (Vaswani et al., 2017, arXiv:1706.03762, table 1).
 * @type {(T: number, D: number, words: Texts["build"]) => HTMLElement[]} */
export function besideOthers(T, D, words) {
  const layers = words.besideLayers;
  /** @type {[string, number, number, number][]} */
  const rows = [
    [layers.attention, T * T * D, 1, 1],
    [layers.convolution, NEIGHBORS * T * D * D, 1, Math.ceil(T / NEIGHBORS)],
    [layers.recurrent, T * D * D, T, T],
  ];
  const head = tableHead(words.besideColumns[0], ...words.besideColumns.slice(1));
  const body = el("tbody", {}, ...rows.map(([name, ...all]) => tableRow(name, ...all.map(countText))));
  return [
    el("h4", {}, words.beside),
    scrolled(el("table", { class: "viz-learn-plain viz-learn-beside" }, head, body)),
    caption(words.besideNote),
  ];
}

/** The costs over T, two straight lines and a parabola, with the chosen T.
 * @type {(T: number, found: Built, words: Texts["build"]) => SVGElement} */
function curves(T, { scores_cost: scores, ffn_cost: ffn, projections_cost: projections, equal_at: equal }, words) {
  const far = Math.max(T, equal) * 1.3;
  const top = Math.max(scores * (far / T) ** 2, ffn * (far / T), projections * (far / T));
  const x = (/** @type {number} */ t) => 10 + (t / far) * (WIDTH - 20);
  const y = (/** @type {number} */ cost) => HEIGHT - 22 - (cost / top) * (HEIGHT - 36);
  const steps = Array.from({ length: 41 }, (_, at) => (at / 40) * far);
  const line = (/** @type {(t: number) => number} */ cost) =>
    steps.map((t) => `${x(t).toFixed(1)},${y(cost(t)).toFixed(1)}`).join(" ");
  const [accent, mark, faint] = [css("--color-accent"), "var(--viz-mark)", "var(--body-text-color-subdued)"];
  const label = (/** @type {number} */ at, /** @type {string} */ text, /** @type {string} */ fill) =>
    svg("text", { x: 16, y: at, fill, style: `fill:${fill}` }, text);
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": words.curve },
    svg("polyline", { points: line((t) => scores * (t / T) ** 2), fill: "none", stroke: accent, "stroke-width": 2 }),
    svg("polyline", { points: line((t) => ffn * (t / T)), fill: "none", stroke: mark, "stroke-width": 2 }),
    svg("line", { x1: x(T), x2: x(T), y1: 60, y2: HEIGHT - 20, stroke: "currentColor", "stroke-dasharray": "3 3" }),
    svg("text", { x: x(T), y: HEIGHT - 6, "text-anchor": "middle" }, `T = ${countText(T)}`),
    label(20, words.scores, accent),
    label(36, words.ffn, mark),
    svg("polyline", { points: line((t) => projections * (t / T)), fill: "none", stroke: faint, "stroke-width": 2 }),
    label(52, words.projections, faint),
  );
}
