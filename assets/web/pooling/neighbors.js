// The nearest neighbors of one item of a set, with their cosines and labels.

import { el } from "../core/dom.js";
import { address, ask, cut, fixed } from "./results.js";

export class Neighbors {
  constructor(onchoose) {
    this.item = 0;
    this.select = el("select", { id: "viz-set-item", onchange: () => onchoose(Number(this.select.value)) });
    this.title = el("h3", {}, "Nearest neighbors");
    this.whole = el("p", { class: "viz-set-whole" });
    this.list = el("ol", { class: "viz-set-near" });
    this.said = el("p", { class: "viz-caption", role: "status" });
    this.onchoose = onchoose;
    this.node = el(
      "section",
      { class: "viz-set-neighbors", "aria-label": "Nearest neighbors of an item" },
      this.title,
      el("label", { class: "viz-control" }, "Item", this.select),
      this.whole,
      this.list,
      this.said,
    );
  }

  enter(set) {
    Object.assign(this, { set, item: 0 });
    this.select.replaceChildren(
      ...set.names.map((name, item) => el("option", { value: item }, `${item} ${cut(name, 60)}`)),
    );
  }

  choose(item) {
    this.item = item;
    this.show(...this.at);
  }

  async show(method, layer) {
    const { set, item } = this;
    this.at = [method, layer];
    this.select.value = String(item);
    const asked = `set/${set.key}/neighbors?${new URLSearchParams({ method, layer, item })}`;
    this.asked = asked;
    try {
      const found = await ask(asked);
      if (this.asked !== asked) return;
      this.#draw(found, method, layer);
      this.node.dataset.painted = `${item}:${method}:${layer}`;
    } catch (fault) {
      if (this.asked === asked) this.said.textContent = fault.message;
    }
  }

  #draw(found, method, layer) {
    this.title.textContent = `Nearest neighbors of item ${this.item} by ${method} at layer ${layer}`;
    this.whole.replaceChildren(...this.#item(this.item));
    this.list.replaceChildren(
      ...found.map(({ item, cosine, same_label: same }) =>
        el(
          "li",
          {},
          el("span", { class: "viz-set-cosine" }, fixed(cosine, 4)),
          el(
            "button",
            {
              type: "button",
              class: "viz-set-name",
              "data-item": item,
              title: "Show the neighbors of this item",
              onclick: () => this.onchoose(item),
            },
            ...this.#item(item),
          ),
          same === null
            ? ""
            : el("span", { class: same ? "viz-fact viz-good" : "viz-fact" }, same ? "same label" : "other label"),
        ),
      ),
    );
    this.said.textContent = found.length ? "" : "This item has no neighbor: its vector is zero, or it is alone.";
  }

  #item(item) {
    const { set } = this;
    const picture = set.pictures
      ? [el("img", { src: address(`set/${set.key}/item/${item}.png`), alt: "", class: "viz-set-picture" })]
      : [];
    const label = set.labels[item] ? [el("span", { class: "viz-caption" }, ` ${set.labels[item]}`)] : [];
    return [...picture, el("bdi", {}, `${item} ${cut(set.names[item], 140)}`), ...label];
  }
}
