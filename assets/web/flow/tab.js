// The Flow tab: where one token's information comes from, layer by layer, by one of several measures.

import { current } from "../core/app_state.js";
import { caption, controls, el } from "../core/dom.js";
import { Latest, rest } from "../core/latest.js";
import { TabShell } from "../core/tab_shell.js";
import { DisplayOptions } from "../views/display_options.js";
import { captionOf, heatmapOf } from "../views/figure_numbers.js";
import { Figure } from "../views/plotly_figure.js";
import { Answer } from "./answer.js";
import { AnyView } from "./any_view.js";
import { KnockedOut } from "./knocked_out.js";
import { LayerReading } from "./layer_reading.js";
import { TokenList } from "./token_list.js";
import { ViewControls } from "./view_controls.js";

/** @import { Fresh } from "../core/latest.js" */
/** @import { ViewControl, ViewDescription, ViewPlace } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { Heatmap } from "../views/figure_numbers.js" */
/** @typedef {ViewDescription & { place: ViewPlace }} Measure a view that says it stands here: of the chosen query,
 *   or of an answer of the model's */

const MASKS = ["[MASK]", "<mask>"]; // as families write it
const SHOWN = " Shown: "; // where a caption says what is left out
/** @type {Record<string, "hide" | "renorm" | "words">} */
const SWITCHES = { hide_special: "hide", renormalize: "renorm", words: "words" }; // of a view by those of the page
const PAUSE = 140; // ms without another choice before the server is asked
/** @type {Record<string, string>} */
const CHOICES = { max: "largest", min: "smallest", sum: "sum over heads" };

// Called by the page once; the run and the selection are those of all tabs.
export function mount(/** @type {HTMLElement} */ root) {
  new FlowTab(root);
}

class FlowTab extends TabShell {
  #asked = new Latest((sentence) => {
    this.#drop();
    this.figure.fail(sentence);
  });
  selection = current.selection;
  /** @type {Run | null} of which the measures are */
  offered = null;
  /** @type {Measure | null} */
  measure = null;
  picked = current.selection.noted("flow.measure"); // the measure that the person, or the link, chose
  #linked = Object.fromEntries(new URLSearchParams(current.selection.noted("flow.options")));
  measures = el("div", { class: "viz-flow-measures", role: "radiogroup", "aria-label": "Measure" });
  missing = caption();
  controls = new ViewControls(() => this.#controlled(), { id: "viz-flow", say: called });
  answer = new Answer(() => this.refresh());
  says = el("div", { class: "viz-flow-says" });
  display = new DisplayOptions(this.selection, { prefix: "viz-flow", names: ["hide", "renorm"], always: true });
  shown = caption();
  tokensTitle = el("h3");
  tokens = new TokenList("Query", (query) => this.#query(query));
  figure = new Figure("Layers by keys, for one query", { caption: false });
  reading = new LayerReading((query) => this.#query(query));
  knockedOut = new KnockedOut();
  any = new AnyView(this.selection);

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-flow");
    this.figure.onpoint = ({ pointNumber }) => this.reading.choose(pointNumber[0]);
    const tokens = el("section", { "aria-label": "Query" }, this.tokensTitle, this.tokens.node);
    const result = el("div", { class: "viz-flow-result" }, this.figure.node, this.reading.node, this.knockedOut.node);
    this.body.append(
      el("div", {}, this.measures, this.missing),
      controls(this.controls.node, this.answer.node, this.display.node),
      this.says,
      this.shown,
      el("div", { class: "viz-flow-columns" }, tokens, result),
      this.any.node,
    );
    this.selection.on((changed) => ["query", "hide", "renorm"].some((name) => changed.has(name)) && this.refresh());
    this.open();
  }

  get ofAnswer() {
    return this.measure?.place.slot === "answer";
  }

  #controlled() {
    this.selection.note({ "flow.options": String(new URLSearchParams(this.controls.values())) });
    this.refresh();
  }

  // Choosing a token asks what its final state is made of.
  #query(/** @type {number} */ query) {
    if (this.ofAnswer && this.answer.askOfToken()) this.refresh();
    this.selection.set({ query });
    if (this.ofAnswer && this.run) this.#list(this.run, query);
  }

  /** @override @param {Run | null} run */
  entered(run) {
    if (run) this.answer.enter(run);
    this.#dim(true);
  }

  /** Ask for the figure of what is chosen, once choosing pauses; the last choice wins. @override @param {Run} run */
  show(run) {
    if (!this.ofAnswer || this.tokens.run !== run) this.#list(run, this.selection.query);
    this.display.show(run);
    this.#dim(true);
    const noted = this.selection.noted("flow.measure");
    if (noted && noted !== this.picked) [this.picked, this.offered] = [noted, null]; // by a link of another tab
    this.#asked.run(async (fresh) => {
      if (this.offered !== run) await this.#offer(run, fresh);
      await fresh(rest(PAUSE));
      if (this.measure && this.root.clientWidth) await this.#draw(run, this.measure, fresh);
    });
  }

  /** @override */
  leave() {
    this.reading.play(false);
  }

  /** @override */
  redraw() {
    this.reading.shade();
  }

  /** @type {(run: Run, fresh: Fresh) => Promise<void>} */
  async #offer(run, fresh) {
    const [measures, views] = await fresh(Promise.all([run.viewsAt("flow"), run.views()]));
    this.offered = run;
    const there = measures.filter(({ missing }) => !missing);
    this.measures.replaceChildren(...measures.map((measure) => this.#choice(run, measure)));
    this.missing.textContent = [...new Set(measures.map(({ missing }) => missing))].join(" ").trim();
    this.any.show(run, views);
    this.#choose(run, there.find(({ name }) => name === this.picked) ?? this.#first(run, there));
  }

  /** First measure of a run: with a masked word, what reaches its position, where the query goes
   * unless one was chosen.
   * @type {(run: Run, there: Measure[]) => Measure} */
  #first(run, there) {
    const mask = run.tokens.findIndex((token) => MASKS.includes(token));
    const measure = mask < 0 ? undefined : there.find(({ place }) => place.of_mask);
    if (measure && !this.selection.query) this.selection.set({ query: mask });
    return measure ?? there[0];
  }

  /** @type {(run: Run, measure: Measure) => HTMLElement} */
  #choice(run, measure) {
    const { name, title, missing, place } = measure;
    const onchange = () => {
      this.picked = name;
      this.selection.note({ "flow.measure": name });
      this.#choose(run, measure);
      this.refresh();
    };
    const attributes = { type: "radio", name: "viz-flow-measure", value: name, disabled: Boolean(missing), onchange };
    return el("label", { class: "viz-flow-choice", title: missing }, el("input", attributes), place.label || title);
  }

  /** @type {(run: Run, measure: Measure) => void} */
  #choose(run, measure) {
    const before = this.controls.values();
    this.measure = measure;
    for (const radio of this.measures.querySelectorAll("input")) radio.checked = radio.value === measure.name;
    const offered = this.ofAnswer ? [] : measure.controls.filter(({ name }) => name !== "query" && !(name in SWITCHES));
    const linked = this.#linked;
    this.#linked = {};
    const start = (/** @type {ViewControl} */ { name, choices, words, most, default: usual }) => {
      const asked = linked[name] ?? "";
      if (words.includes(asked) || (most !== null && /^\d+$/.test(asked) && Number(asked) <= most)) return asked;
      return [before[name], asked].find((value) => choices.includes(value)) ?? usual ?? "";
    };
    this.controls.show(run, offered, start);
    this.controls.node.hidden = this.ofAnswer;
    this.answer.node.hidden = !this.ofAnswer;
    this.display.offer(measure.controls.map(({ name }) => SWITCHES[name] ?? ""));
    this.#say(measure);
  }

  #say(/** @type {Measure} */ { look, measured, notMeasured, source }) {
    const [paper, number] = source.split(", arXiv:");
    const attributes = { class: "viz-link", target: "_blank", rel: "noopener noreferrer" };
    const link = el("a", { ...attributes, href: `https://arxiv.org/abs/${number}` }, `arXiv:${number}`);
    this.says.hidden = !measured;
    this.says.replaceChildren(
      el("p", {}, look),
      el("p", {}, el("strong", {}, "It measures "), measured),
      el("p", {}, el("strong", {}, "It does not measure "), notMeasured),
      caption(source && `Source: ${paper}`, ...(number ? [", ", link] : [])),
    );
  }

  /** @type {(run: Run, measure: Measure, fresh: Fresh) => Promise<void>} */
  async #draw(run, measure, fresh) {
    const { name, place } = measure;
    const { query } = this.selection;
    if (this.ofAnswer) await this.answer.show(run, query, fresh);
    const chosen = this.ofAnswer ? this.answer.options() : { query, ...this.controls.values() };
    if (!chosen) return;
    const takes = measure.controls.map((control) => control.name);
    const on = Object.entries(SWITCHES).filter(([name, own]) => this.selection[own] && takes.includes(name));
    const options = { ...chosen, ...Object.fromEntries(on.map(([name]) => [name, "yes"])) };
    const whose = Number(chosen.query ?? ("token" in chosen ? chosen.token : -1)); // -1: the whole input
    this.#list(run, whose);
    const path = `${name}?${new URLSearchParams(options)}`;
    const figure = await fresh(this.figure.show(run, path));
    if (!figure) return this.#drop();
    const table = heatmapOf(figure);
    this.#dim(false);
    const said = captionOf(figure);
    this.shown.textContent = said.includes(SHOWN) ? said.slice(said.indexOf(SHOWN) + SHOWN.length) : "";
    this.reading.show(table && { run, query: whose, table, place, hide: this.selection.hide });
    this.#knockOut(run, chosen, table);
    this.body.dataset.painted = `${run.key}:${path}`;
  }

  /** Beside shares, where each cell of the input's row is one token: what hiding that token does.
   * @type {(run: Run, options: object, table: Heatmap | null) => void} */
  #knockOut(run, options, table) {
    const tokens = run.visible(this.selection.hide);
    if (!this.ofAnswer || !table || table.cols !== tokens.length) return this.knockedOut.show(null);
    const shares = new Map(tokens.map((token, at) => [token, Number(table.values[at])]));
    this.knockedOut.show({ run, options: /** @type {Record<string, string>} */ (options), shares });
  }

  // Dim the old result until the new one arrives.
  #dim(/** @type {boolean} */ on) {
    for (const { node } of [this.figure, this.reading]) node.classList.toggle("viz-busy", on);
  }

  /** The token whose row is shown, or that the question is about; -1 of a question about the whole input.
   * @type {(run: Run, whose: number) => void} */
  #list(run, whose) {
    this.tokensTitle.textContent = !this.ofAnswer
      ? "Query token"
      : whose < 0
        ? "Choose a token to ask what it is made of"
        : "Token that the question is about";
    this.tokens.show(run, whose, this.selection.hide);
  }

  #drop() {
    this.reading.show(null);
    this.knockedOut.show(null);
    delete this.body.dataset.painted;
  }
}

/** @type {(value: string | number, control: ViewControl) => string} */
const called = (value, { counts }) =>
  typeof value === "string" ? (CHOICES[value] ?? value) : counts === "head" ? `head ${value}` : String(value);
