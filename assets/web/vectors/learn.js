// A learned query: how its training went, what it is worth, and what it weighs the tokens with.

import { current } from "../core/app_state.js";
import { control, controls, el, fillTable, tableRow } from "../core/dom.js";
import { Held } from "../core/emitter.js";
import { address, json } from "../core/server.js";
import { afterBlocks } from "../core/states.js";
import { follow } from "../core/tab_shell.js";
import { View } from "../core/view.js";
import { heads, section } from "../views/headed.js";
import { tokensOf } from "../views/token_choice.js";
import { LineChart } from "./layer_chart.js";
import { listed } from "./neighbors.js";
import { fixed, HUES } from "./results.js";
import { Shares } from "./token_shares.js";

/** @import { Chosen } from "../views/token_choice.js" */

// The query that was learned last on this page: the poolings of the run use it, too.
export const learned = /** @type {Held<LearnedDescription>} */ (new Held());

// Called by the page once; `read` gives what was learned, `watch` tells when it changes.
/** @type {(root: HTMLElement, read: () => string, watch: Watch) => void} */
export function mount(root, read, watch) {
  const view = new LearnView(root);
  follow(read, watch, (/** @type {LearnedDescription} */ found) => view.found?.key === found.key || view.show(found));
}

class LearnView extends View {
  /** @type {LearnedDescription | null} */
  found = null;
  said = el("p", { class: "viz-pool-answer", role: "status" });
  losses = new LineChart("Loss of each seed", {
    ...{ xTitle: "Step", yTitle: "Cross-entropy (nats)", choose: (step) => this.#lose(step) },
  });
  table = el("table", { class: "viz-pool-table" });
  where = el("select", { id: "viz-learn-item", onchange: () => this.#weigh() });
  label = el("span", { class: "viz-caption" });
  shares = new Shares("Weights of the learned query");
  node = el(
    "div",
    { class: "viz-pool", hidden: true },
    this.said,
    el(
      "div",
      { class: "viz-pool-columns" },
      this.losses.node,
      el(
        "section",
        { "aria-label": "Accuracy" },
        el("h3", {}, "Accuracy on held-out items"),
        el("div", { class: "viz-pool-scroll" }, this.table),
      ),
    ),
    section(
      ...["viz-learn-weights", "Learned weights", "What the learned query looks at (seed 0)"],
      controls(control("Over", this.where), this.label),
      this.shares.node,
    ),
  );
  #asked = this.latest((sentence) => this.shares.fail(sentence));

  constructor(/** @type {HTMLElement} */ root) {
    super();
    root.replaceChildren(this.node);
    current.on(() => this.#weigh(), this.signal);
  }

  show(/** @type {LearnedDescription} */ found) {
    this.found = found;
    this.node.hidden = false;
    this.where.replaceChildren(el("option", { value: "run" }, "the current input"), ...listed(found.names));
    this.#draw(found);
    this.#weigh();
    learned.set(found);
  }

  #draw(/** @type {LearnedDescription} */ found) {
    const { seeds, accuracy, chance, names, groups } = found;
    const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / seeds.length;
    const [attention, plain, cls] = [accuracy.attention, accuracy.mean, accuracy.cls].map((each) => fixed(mean(each)));
    this.said.textContent =
      `Held-out accuracy, mean of ${seeds.length} ${seeds.length === 1 ? "seed" : "seeds"}: ` +
      `attention ${attention}, mean ${plain}, cls ${cls}; chance ${fixed(chance)}. ` +
      `Learned from ${found.set} (${names.length} items, ${groups.length} labels) by ${found.model} ` +
      `${afterBlocks(found.layer)}, ${found.folds} folds.`;
    this.#lose(found.losses[0].length - 1);
    const rows = Object.entries({ ...accuracy, chance: seeds.map(() => chance) }).map(([name, values]) =>
      tableRow(name, ...[...values, mean(values)].map((value) => fixed(value))),
    );
    fillTable(this.table, heads("Pooling", ...seeds.map((seed) => `seed ${seed}`), "mean"), rows);
    this.painted(found.key);
  }

  // Its losses, with those after a step in words.
  #lose(/** @type {number} */ step) {
    const { losses = [], seeds = [] } = this.found ?? {};
    const lines = losses.map((values, at) => {
      const first = `seed ${seeds[at]} (${fixed(values[0])} at first)`;
      return { name: first, hue: HUES[at % HUES.length], values: values.map((loss) => loss ?? NaN) };
    });
    this.losses.show(lines, step);
  }

  async #weigh() {
    const [{ found }, { run }, over] = [this, current, this.where.value];
    if (!found) return;
    this.label.textContent = found.labels[Number(over)] ? `label: ${found.labels[Number(over)]}` : "";
    await this.#asked.run(async (fresh) => {
      if (over === "run") {
        if (!run) throw new Error("Run a text or a picture to see the weights over it.");
        const asked = `pooled?layer=${found.layer}&learned=${found.key}`;
        /** @type {Pooled} */
        const { weights, leftOut } = await fresh(run.json(asked));
        if (!weights) throw new Error(leftOut.attention);
        this.#show(`run/${run.key}/${asked}`, run, weights);
      } else {
        const asked = `learned/${found.key}/item/${over}`;
        /** @type {WeighedItem} */
        const { tokens, grid, weights } = await fresh(json(`viz/${asked}`));
        this.#show(asked, tokensOf(tokens, grid, address(`viz/${asked}/picture.png`)), weights);
      }
    });
  }

  /** @type {(asked: string, run: Chosen, values: Maybe[]) => void} */
  #show(asked, run, values) {
    const say = (/** @type {number} */ at) => `${run.named(at)}: ${fixed(values[at], 4)}`;
    const unit = "weight of the token; the weights sum to 1";
    this.shares.show({ run, values, say, unit });
    this.shares.painted(asked);
  }
}
