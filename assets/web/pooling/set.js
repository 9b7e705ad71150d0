// A set of items: which pooling at which layer, in numbers; its cosines, and each item's neighbors.

import { el, onTheme } from "../core/dom.js";
import { ItemMatrix } from "./cosine_matrix.js";
import { Neighbors } from "./neighbors.js";
import { SetTable } from "./method_table.js";
import { SetTake } from "./set_export.js";
import { ask } from "./results.js";

// Called by the page once; `read` gives the set's description, `watch` tells when it changes.
export function mount(root, read, watch) {
  const view = new SetView(root);
  const refresh = () => read() && view.show(JSON.parse(read()));
  watch("value", refresh);
  refresh();
}

class SetView {
  constructor(root) {
    this.answer = el("p", { class: "viz-pool-answer", role: "status" });
    this.more = el("p", { class: "viz-caption" });
    this.notes = el("ul", { class: "viz-notes" });
    this.table = new SetTable((method, layer) => this.choose(method, layer));
    this.method = el("select", {
      id: "viz-set-method",
      onchange: () => this.choose(this.method.value, Number(this.layer.value)),
    });
    this.layer = el("select", {
      id: "viz-set-layer",
      onchange: () => this.choose(this.method.value, Number(this.layer.value)),
    });
    this.matrix = new ItemMatrix({ choose: (item) => this.#item(item) });
    this.neighbors = new Neighbors((item) => this.#item(item));
    this.take = new SetTake();
    this.fault = el("p", { class: "viz-alert", role: "alert", hidden: true });
    this.body = el(
      "div",
      { class: "viz-pool", hidden: true },
      this.answer,
      this.more,
      this.notes,
      this.table.node,
      el(
        "div",
        { class: "viz-controls" },
        el("label", { class: "viz-control" }, "Method", this.method),
        el("label", { class: "viz-control" }, "Layer", this.layer),
      ),
      this.fault,
      el("div", { class: "viz-pool-columns" }, this.matrix.node, this.neighbors.node),
      this.take.node,
    );
    root.replaceChildren(this.body);
    onTheme(() => this.set && this.matrix.draw());
  }

  show(set) {
    if (this.set?.key === set.key) return;
    this.set = set;
    this.body.hidden = false;
    const { names, labels, table, methods, layers, leftOut, notes } = set;
    const groups = new Set(labels).size;
    this.answer.textContent =
      set.answer ||
      "No labels: the cosines and neighbors are below. With labels (CSV with columns text,label), silhouette, nearest-centroid accuracy and recall@1 would say which pooling at which layer tells the groups apart.";
    this.more.textContent = `${names.length} items${groups ? ` of ${groups} labels` : ""}, read by ${set.model}.${groups ? ` One item is ${(1 / names.length).toFixed(3)} of recall@1 and of nearest-centroid accuracy: smaller differences say nothing.` : ""}`;
    this.notes.replaceChildren(
      ...[...Object.entries(leftOut).map(([name, why]) => `${name}: ${why}`), ...notes].map((text) =>
        el("li", {}, text),
      ),
    );
    this.table.show(table);
    this.method.replaceChildren(
      ...Object.entries(methods).map(([name, what]) => el("option", { value: name, title: what }, name)),
    );
    this.layer.replaceChildren(...layers.map((layer) => el("option", { value: layer }, String(layer))));
    this.take.show(set);
    this.neighbors.enter(set);
    const best = table[0] ?? { method: "mean", layer: layers.at(-1) };
    this.choose(best.method, best.layer);
  }

  async choose(method, layer) {
    const { set } = this;
    Object.assign(this, { chosen: [method, layer] });
    this.method.value = method;
    this.layer.value = String(layer);
    this.table.mark(method, layer);
    this.take.choose(method, layer);
    const asked = `set/${set.key}/cosine?${new URLSearchParams({ method, layer })}`;
    this.asked = asked;
    try {
      const found = await ask(asked);
      if (this.asked !== asked) return;
      this.fault.hidden = true;
      this.matrix.show(set, found, `${method}, layer ${layer}`, this.neighbors.item);
      this.neighbors.show(method, layer);
      this.body.dataset.painted = `${set.key}:${method}:${layer}`;
    } catch (fault) {
      if (this.asked !== asked) return;
      this.fault.hidden = false;
      this.fault.textContent = fault.message;
    }
  }

  #item(item) {
    this.neighbors.choose(item);
    this.matrix.mark(item);
  }
}
