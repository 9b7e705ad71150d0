// The Flow tab: where one token's information comes from, layer by layer, by one of three measures.

import { el, onTheme } from "../core/dom.js";
import { AnyView } from "./any_view.js";
import { current } from "../core/app_state.js";
import { Figure } from "../views/plotly_figure.js";
import { heatmapOf } from "../views/figure_numbers.js";
import { Answer } from "./answer.js";
import { FlowSource } from "../views/shaded_input.js";
import { TokenList } from "./token_list.js";

const MEASURES = {
  rollout: "Rollout",
  value_weighted_depth: "What each key adds",
  relevance: "Relevance to the answer",
};
const PAUSE = 140; // ms without another choice before the server is asked
const STEP = 800; // ms a layer is shown while it plays

// Called by the page once; the run and the selection are those of all tabs.
export function mount(root) {
  new FlowTab(root);
}

class FlowTab {
  constructor(root) {
    this.root = root;
    this.selection = current.selection;
    this.figure = new Figure("Layers by keys, for one query", { caption: false });
    this.figure.onpoint = ({ pointNumber }) => this.#setLayer(pointNumber[0]);
    this.tokensTitle = el("h3", {});
    this.tokens = new TokenList("Query", (query) => this.#query(query));
    this.source = new FlowSource((query) => this.#query(query));
    this.answer = new Answer(() => this.#ask());
    this.any = new AnyView(this.selection);
    this.empty = el("p", { class: "viz-empty" }, "Type a text or drop a picture, and press Run.");
    this.body = el(
      "div",
      { class: "viz-flow", hidden: true },
      this.#measures(),
      this.#options(),
      this.#says(),
      el(
        "div",
        { class: "viz-flow-columns" },
        el("section", { "aria-label": "Query" }, this.tokensTitle, this.tokens.node),
        el("div", { class: "viz-flow-result" }, this.figure.node, this.#reading()),
      ),
      this.any.node,
    );
    root.replaceChildren(this.empty, this.body);
    current.on((run) => {
      this.run = run;
      this.#dim(true);
      this.#refresh();
    });
    this.selection.on((changed) => changed.has("query") && this.#refresh());
    onTheme(() => this.shaded && this.#shade());
    new ResizeObserver(() => this.#seen()).observe(root);
  }

  // Who chooses a query wants its row: relevance is then read there.
  #query(query) {
    if (this.measure === "relevance" && this.answer.readAtQuery()) this.#ask();
    this.selection.set({ query });
    if (this.measure === "relevance") this.#list(query);
  }

  // A hidden tab asks for nothing; it is brought up to date when it is seen.
  #seen() {
    const seen = this.root.clientWidth > 0;
    if (seen && !this.visible) requestAnimationFrame(() => this.#refresh());
    if (!seen) this.#play(false);
    this.visible = seen;
  }

  async #refresh() {
    const { run } = this;
    this.empty.hidden = Boolean(run);
    this.body.hidden = !run;
    if (!run || !this.root.clientWidth) return;
    if (this.measure !== "relevance" || this.tokens.run !== run) this.#list(this.selection.query);
    if (this.entered !== run) await this.#enter(run);
    if (this.run === run) this.#ask();
  }

  async #enter(run) {
    try {
      const views = await run.json("views");
      if (this.run !== run || this.entered === run) return;
      this.entered = run;
      this.views = views;
      this.layer.max = run.nLayers - 1;
      this.layer.value = run.nLayers - 1;
      this.head.replaceChildren(
        el("option", { value: "sum" }, "sum over heads"),
        ...Array.from({ length: run.nHeads }, (_, head) => el("option", { value: head }, `head ${head}`)),
      );
      for (const [name, radio] of Object.entries(this.radios)) {
        radio.disabled = Boolean(views[name].missing);
        radio.parentNode.title = views[name].missing;
      }
      if (this.radios[this.measure].disabled) this.#choose("rollout");
      const missing = Object.keys(MEASURES).map((name) => views[name].missing);
      this.missing.textContent = [...new Set(missing)].join(" ").trim();
      this.any.show(run, views);
    } catch (fault) {
      if (this.run !== run) return;
      this.figure.fail(fault.message);
      this.#drop();
    }
  }

  #measures() {
    this.measure = "rollout";
    this.radios = {};
    const choice = (name, title) => {
      this.radios[name] = el("input", {
        type: "radio",
        name: "viz-flow-measure",
        value: name,
        onchange: () => {
          this.#choose(name);
          this.#ask();
        },
      });
      return el("label", { class: "viz-flow-choice" }, this.radios[name], title);
    };
    this.missing = el("p", { class: "viz-caption" });
    const group = el(
      "div",
      { class: "viz-flow-measures", role: "radiogroup", "aria-label": "Measure" },
      ...Object.entries(MEASURES).map((each) => choice(...each)),
    );
    this.radios.rollout.checked = true;
    return el("div", {}, group, this.missing);
  }

  #options() {
    const option = (value) =>
      el("option", { value }, value === "mean" ? "mean" : value === "max" ? "largest" : "smallest");
    this.fuse = el(
      "select",
      { id: "viz-flow-fuse", onchange: () => this.#ask() },
      ...["mean", "max", "min"].map(option),
    );
    this.head = el("select", { id: "viz-flow-head", onchange: () => this.#ask() });
    this.optionNodes = {
      rollout: el("label", { class: "viz-control" }, "Heads fused by", this.fuse),
      value_weighted_depth: el("label", { class: "viz-control", hidden: true }, "Heads", this.head),
      relevance: this.answer.node,
    };
    this.answer.node.hidden = true;
    return el("div", { class: "viz-controls" }, ...Object.values(this.optionNodes));
  }

  #says() {
    this.measured = el("p", {});
    this.notMeasured = el("p", {});
    this.cited = el("p", { class: "viz-caption" });
    return el("div", { class: "viz-flow-says" }, this.measured, this.notMeasured, this.cited);
  }

  #reading() {
    this.layer = el("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      "aria-label": "Layer whose row shades the input",
      oninput: () => {
        this.#play(false);
        this.#shade();
      },
    });
    this.layerName = el("output", {});
    this.playing = el(
      "button",
      { type: "button", class: "viz-small", "aria-pressed": "false", onclick: () => this.#play(!this.timer) },
      "▶ Play",
    );
    this.reading = el("h3", {});
    this.readingNode = el(
      "section",
      { class: "viz-flow-reading", hidden: true, "aria-label": "The input, shaded by one layer's row" },
      this.reading,
      el(
        "div",
        { class: "viz-controls" },
        el("label", { class: "viz-control" }, "Layer", this.layer, this.layerName),
        this.playing,
      ),
      this.source.node,
    );
    return this.readingNode;
  }

  #choose(name) {
    this.measure = name;
    this.radios[name].checked = true;
    for (const [each, node] of Object.entries(this.optionNodes)) node.hidden = each !== name;
  }

  // Ask for the figure of what is chosen, once choosing pauses; the last choice wins.
  #ask() {
    if (!this.views || this.entered !== this.run) return;
    this.#say();
    this.#dim(true);
    this.choice = {};
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.#draw(), PAUSE);
  }

  #say() {
    const { measured, notMeasured, source } = this.views[this.measure];
    this.measured.replaceChildren(el("strong", {}, "It measures "), measured);
    this.notMeasured.replaceChildren(el("strong", {}, "It does not measure "), notMeasured);
    const [paper, number] = source.split(", arXiv:");
    this.cited.replaceChildren(
      `Source: ${paper}, `,
      el(
        "a",
        { class: "viz-link", href: `https://arxiv.org/abs/${number}`, target: "_blank", rel: "noopener noreferrer" },
        `arXiv:${number}`,
      ),
    );
  }

  async #draw() {
    const { run, measure, choice } = this;
    const { query } = this.selection;
    if (!run || !this.root.clientWidth) return;
    try {
      if (measure === "relevance") await this.answer.show(run, query);
    } catch (fault) {
      if (this.choice !== choice) return;
      this.#drop();
      return this.figure.fail(fault.message, false);
    }
    if (this.run !== run || this.choice !== choice) return;
    const options = {
      rollout: () => ({ query, fuse: this.fuse.value }),
      value_weighted_depth: () => ({ query, head: this.head.value }),
      relevance: () => this.answer.options(),
    }[measure]();
    if (!options) return;
    const whose = this.#whose(options, query);
    this.#list(whose);
    const path = `${measure}?${new URLSearchParams(options)}`;
    const figure = await this.figure.show(run, path);
    if (this.run !== run || this.choice !== choice) return;
    if (!figure) return this.#drop();
    this.shaded = { run, measure, query: whose, table: heatmapOf(figure) };
    this.#dim(false);
    this.readingNode.hidden = false;
    this.#shade();
    this.body.dataset.painted = `${run.key}:${path}`;
  }

  #whose(options, query) {
    if (this.measure !== "relevance") return query;
    return Number(options.query ?? options.token ?? -1); // -1: where the head reads
  }

  // What is there is of an older choice, until the new one has come.
  #dim(on) {
    for (const node of [this.figure.node, this.readingNode]) node.classList.toggle("viz-busy", on);
  }

  // The token whose row is shown; relevance is read where the answer stands, or where the head reads.
  #list(whose) {
    const answer = this.measure === "relevance";
    this.tokensTitle.textContent = !answer
      ? "Query: whose information"
      : whose < 0
        ? "Read where the classifier reads"
        : "Query: where the answer is read";
    this.tokens.show(this.run, whose);
  }

  #drop() {
    this.shaded = null;
    this.readingNode.hidden = true;
    delete this.body.dataset.painted;
  }

  #setLayer(layer) {
    this.#play(false);
    this.layer.value = layer;
    this.#shade();
  }

  #shade() {
    const { run, measure, query, table } = this.shaded;
    const layer = Number(this.layer.value);
    const row = table.values.slice(layer * table.cols, (layer + 1) * table.cols);
    const whose = `${query} “${run.tokens[query]}”`;
    this.layerName.textContent = `${layer} (0 to ${run.nLayers - 1})`;
    this.layer.setAttribute("aria-valuetext", `layer ${layer}`);
    this.reading.textContent =
      measure === "value_weighted_depth"
        ? `What each place adds to ${whose} in layer ${layer}`
        : measure === "rollout"
          ? `Where ${whose} could have its information from, after layer ${layer}`
          : `Through which weights the answer’s score would rise${query >= 0 ? `, read at ${whose}` : ""}, after layer ${layer}`;
    this.source.show(run, query, row, Math.ceil(run.n / table.cols), table.unit.toLowerCase(), measure === "rollout");
  }

  // From the first layer to the last, once.
  #play(on) {
    clearInterval(this.timer);
    this.timer = null;
    this.playing.setAttribute("aria-pressed", String(on));
    this.playing.textContent = on ? "■ Stop" : "▶ Play";
    if (!on || !this.shaded) return;
    const last = this.shaded.run.nLayers - 1;
    this.layer.value = 0;
    this.#shade();
    this.timer = setInterval(() => {
      this.layer.value = Number(this.layer.value) + 1;
      this.#shade();
      if (Number(this.layer.value) >= last) this.#play(false);
    }, STEP);
  }
}
