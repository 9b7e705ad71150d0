// A learned query: how its training went, what it is worth, and what it weighs the tokens with.

import { el, onTheme } from "../core/dom.js";
import { current } from "../core/app_state.js";
import { lossCurves } from "./loss_curves.js";
import { address, ask, cut, fixed } from "./results.js";
import { learned } from "./learned_query.js";
import { Shares } from "./token_shares.js";

// Called by the page once; `read` gives what was learned, `watch` tells when it changes.
export function mount(root, read, watch) {
  const view = new LearnView(root);
  const refresh = () => read() && view.show(JSON.parse(read()));
  watch("value", refresh);
  refresh();
}

class LearnView {
  constructor(root) {
    this.root = root;
    this.said = el("p", { class: "viz-pool-answer", role: "status" });
    this.curves = el("div", { class: "viz-learn-curves" });
    this.table = el("table", { class: "viz-pool-table" });
    this.where = el("select", { id: "viz-learn-item", onchange: () => this.#weigh() });
    this.label = el("span", { class: "viz-caption" });
    this.shares = new Shares("Weights of the learned query");
    this.body = el(
      "div",
      { class: "viz-pool", hidden: true },
      this.said,
      el(
        "div",
        { class: "viz-pool-columns" },
        el("section", { "aria-label": "Loss" }, el("h3", {}, "Loss of each seed"), this.curves),
        el(
          "section",
          { "aria-label": "Accuracy" },
          el("h3", {}, "Accuracy on held-out items"),
          el("div", { class: "viz-pool-scroll" }, this.table),
        ),
      ),
      el(
        "section",
        { class: "viz-learn-weights", "aria-label": "Learned weights" },
        el("h3", {}, "What the learned query looks at (seed 0)"),
        el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "Over", this.where), this.label),
        this.shares.node,
      ),
    );
    root.replaceChildren(this.body);
    current.on((run) => {
      this.run = run;
      this.#weigh();
    });
    onTheme(() => this.found && this.#draw());
    new ResizeObserver(() => this.found && root.clientWidth !== this.width && this.#draw()).observe(root);
  }

  show(found) {
    if (this.found?.key === found.key) return;
    this.found = found;
    this.body.hidden = false;
    this.where.replaceChildren(
      el("option", { value: "run" }, "the current input"),
      ...found.names.map((name, item) => el("option", { value: item }, `${item} ${cut(name, 60)}`)),
    );
    this.#draw();
    this.#weigh();
    learned.enter(found);
  }

  #draw() {
    const { found } = this;
    this.width = this.root.clientWidth;
    if (!this.width) return;
    const mean = (name) => found.accuracy[name].reduce((sum, value) => sum + value, 0) / found.seeds.length;
    this.said.textContent = `Held-out accuracy, mean of ${found.seeds.length} ${found.seeds.length === 1 ? "seed" : "seeds"}: attention ${fixed(mean("attention"), 3)}, mean ${fixed(mean("mean"), 3)}, cls ${fixed(mean("cls"), 3)}; chance ${fixed(found.chance, 3)}. Learned from ${found.set} (${found.names.length} items, ${found.groups.length} labels) by ${found.model} at layer ${found.layer}, ${found.folds} folds.`;
    this.curves.replaceChildren(lossCurves(found.losses, found.seeds, Math.min(460, this.width)));
    const row = (name, values, average) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, name),
        ...values.map((value) => el("td", {}, fixed(value, 3))),
        el("td", {}, fixed(average, 3)),
      );
    this.table.replaceChildren(
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Pooling"),
          ...found.seeds.map((seed) => el("th", { scope: "col" }, `seed ${seed}`)),
          el("th", { scope: "col" }, "mean"),
        ),
      ),
      el(
        "tbody",
        {},
        ...Object.entries(found.accuracy).map(([name, values]) => row(name, values, mean(name))),
        row(
          "chance",
          found.seeds.map(() => found.chance),
          found.chance,
        ),
      ),
    );
    this.body.dataset.painted = found.key;
  }

  async #weigh() {
    const { found, run } = this;
    if (!found) return;
    const over = this.where.value;
    const asked =
      over === "run"
        ? run && `run/${run.key}/pooled?layer=${found.layer}&learned=${found.key}`
        : `learned/${found.key}/item/${over}`;
    this.asked = asked;
    this.label.textContent = found.labels[over] ? `label: ${found.labels[over]}` : "";
    if (!asked) return this.shares.fail("Run a text or a picture to see the weights over it.");
    try {
      const answer = await ask(asked);
      if (this.asked !== asked) return;
      if (!answer.weights) return this.shares.fail(answer.leftOut.attention);
      const of = over === "run" ? run : answer;
      const picture = of.grid && (over === "run" ? run.url("picture.png") : address(`${asked}/picture.png`));
      const say = (at) => `${at} “${of.tokens[at]}”: ${fixed(answer.weights[at], 4)}`;
      this.shares.show({
        tokens: of.tokens,
        values: answer.weights,
        grid: of.grid,
        picture,
        say,
        unit: "weight of the token (no unit; the weights sum to 1)",
      });
      this.shares.node.dataset.painted = asked;
    } catch (fault) {
      if (this.asked === asked) this.shares.fail(fault.message);
    }
  }
}
