// The Attention tab: facts of the run, the atlas, the big map and the words or picture, as one.

import { el, onTheme, count } from "../core/dom.js";
import { Atlas } from "./atlas.js";
import { HeadChoice } from "./head_choice.js";
import { KeptSwitches } from "./display_options.js";
import { Lines } from "./lines.js";
import { current } from "../core/app_state.js";
import { AttentionMap } from "./map.js";
import { Measures } from "./head_statistics.js";
import { Order } from "./head_order.js";
import { Predictions } from "./predictions.js";
import { SCALES } from "../core/selection.js";
import { Source } from "./input_view.js";
import { StatisticMap } from "./statistic_map.js";
import { Take } from "./export_panel.js";

// Called by the page once.
export function mount(root) {
  const tab = new AttentionTab(root);
  window.vizTab = tab; // so that a script or a test can ask what is shown
  current.on((run) => run && tab.show(run));
}

class AttentionTab {
  constructor(root) {
    this.root = root;
    this.selection = current.selection;
    this.readout = el("p", { class: "viz-readout", role: "status", "aria-live": "polite" });
    const say = (text) => {
      this.readout.textContent = text;
    };
    this.measures = new Measures();
    this.order = new Order(this.selection, this.measures);
    this.atlas = new Atlas(this.selection, this.measures, this.order, (layer, head) =>
      this.map.parts.expect(layer, head),
    );
    this.map = new AttentionMap(this.selection, say);
    this.source = new Source(this.selection, say);
    this.lines = new Lines(this.selection, say);
    this.predictions = new Predictions(this.selection);
    this.statistic = new StatisticMap(this.selection, this.measures, this.order);
    this.take = new Take(this.selection, this.map);
    this.facts = el("div", { class: "viz-facts" });
    this.notes = el("ul", { class: "viz-notes" });
    this.fault = el("div", { class: "viz-alert", role: "alert", hidden: true });
    this.body = el(
      "div",
      { class: "viz-body", hidden: true },
      this.facts,
      this.notes,
      this.#controls(),
      this.readout,
      el(
        "div",
        { class: "viz-columns" },
        el("div", { class: "viz-left" }, this.atlas.node, this.statistic.node),
        el("div", { class: "viz-right" }, this.map.node, this.source.node),
      ),
      this.lines.node,
      this.predictions.node,
      this.take.node,
    );
    this.empty = el("p", { class: "viz-empty" }, "Type a text or drop a picture, and press Run.");
    root.replaceChildren(this.empty, this.fault, this.body);
    onTheme(() => this.#repaint());
    this.selection.on(() => this.#sync());
  }

  async show(run) {
    if (this.run?.key === run.key) return;
    this.run = run;
    for (const part of [this.atlas, this.map, this.source, this.predictions]) delete part.node.dataset.painted;
    this.empty.hidden = true;
    this.fault.hidden = true;
    this.body.hidden = false;
    // On a narrow screen the result is below the form: go there, but not when the page opens.
    if (this.shown && window.innerWidth < 760) this.root.scrollIntoView({ behavior: "smooth" });
    this.shown = true;
    this.take.show(run);
    this.atlas.enter(run);
    this.notes.replaceChildren(
      ...[...run.notes, this.selection.fallen].filter(Boolean).map((note) => el("li", {}, note)),
    );
    this.#facts(run, null);
    this.#sync();
    try {
      for (const part of [this.map, this.source, this.lines, this.predictions, this.atlas, this.statistic]) {
        await part.show(run);
        if (this.run !== run) return;
      }
      this.#prove(run, await run.proof());
    } catch (fault) {
      if (this.run === run) this.#hide(`The maps are not shown, for they could not be checked. ${fault.message}`);
    }
  }

  // Maps that are not the ones that ran are not shown.
  #prove(run, proof) {
    if (this.run !== run) return;
    this.#facts(run, proof);
    if (proof.checked && !proof.passed) {
      this.#hide(`These maps are not shown, for they failed their check. ${proof.sentence}`);
    }
  }

  #hide(sentence) {
    this.run = null;
    current.enter(null);
    this.body.hidden = true;
    this.facts.replaceChildren();
    this.fault.textContent = sentence;
    this.fault.hidden = false;
  }

  #facts(run, proof) {
    const size = run.grid ? `${run.grid.rows} rows × ${run.grid.cols} columns of patches` : `${count(run.n)} tokens`;
    const facts = [
      [run.model, "The model"],
      [`${run.nLayers} layers × ${run.nHeads} heads`, "Sizes"],
      [size, "Length of the input"],
      [`${run.device} · ${run.dtype} · ${run.kernel} kernel`, "Where and how the attention ran"],
    ];
    const badge =
      proof === null
        ? "checking the maps …"
        : !proof.checked
          ? "not checked: hover to see why"
          : proof.passed
            ? `✓ the maps that ran (differ by ${proof.error.toExponential(0)})`
            : "✗ check failed";
    this.facts.replaceChildren(
      ...facts.map(([text, title]) => el("span", { class: "viz-fact", title }, text)),
      el(
        "span",
        { class: `viz-fact ${proof?.passed ? "viz-good" : ""}`, id: "viz-proof", title: proof?.sentence ?? "" },
        badge,
      ),
    );
  }

  #controls() {
    const choice = (name, label, options) => {
      const select = el(
        "select",
        { id: `viz-${name}`, onchange: () => this.#chosen(name, select.value) },
        ...options.map(([value, text]) => el("option", { value }, text)),
      );
      this[name] = select;
      return el("label", { class: "viz-control" }, label, select);
    };
    this.head = new HeadChoice(this.selection);
    this.kept = new KeptSwitches(this.selection);
    return el(
      "div",
      { class: "viz-controls" },
      choice("layer", "Layer", []),
      this.head.node,
      choice("scale", "Color scale", Object.entries(SCALES)),
      this.kept.node,
    );
  }

  #chosen(name, value) {
    this.selection.set({ [name]: /^\d+$/.test(value) ? Number(value) : value });
  }

  // Bring the controls in line with the selection.
  #sync() {
    const { run, selection } = this;
    if (!run) return;
    const numbers = (n) => Array.from({ length: n }, (_, i) => el("option", { value: i }, String(i)));
    if (this.layer.options.length !== run.nLayers) this.layer.replaceChildren(...numbers(run.nLayers));
    for (const name of ["layer", "scale"]) this[name].value = String(selection[name]);
    this.head.show(run);
    this.kept.show(run);
  }

  #repaint() {
    if (!this.run) return;
    this.atlas.draw();
    this.statistic.draw();
    this.map.draw();
    this.lines.draw();
    if (this.source.row) this.source.draw();
  }
}
