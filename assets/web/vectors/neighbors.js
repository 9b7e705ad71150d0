// The nearest neighbors of one item of a set, with their cosines and labels.

import { control, el, options, status } from "../core/dom.js";
import { address, json } from "../core/server.js";
import { afterBlocks } from "../core/states.js";
import { View } from "../core/view.js";
import { section } from "../views/headed.js";
import { oneStop } from "../views/one_stop.js";
import { ShortList } from "../views/short_list.js";
import { called, cut, fixed } from "./results.js";

const FIRST = 4; // neighbors at first

export class Neighbors extends View {
  item = 0;
  select = el("select", {
    id: "viz-set-item",
    onchange: ({ currentTarget }) => this.choose(Number(currentTarget.value)),
  });
  title = el("h3", {}, "Nearest neighbors");
  whole = el("p", { class: "viz-set-whole" });
  list = new ShortList(oneStop(el("ol", { class: "viz-set-near" })), FIRST);
  said = status();
  #asked = this.latest((sentence) => this.said.replaceChildren(sentence));

  constructor(/** @type {(item: number) => unknown} */ choose) {
    super();
    this.choose = choose;
    this.node = section(
      ...["viz-set-neighbors", "Nearest neighbors of an item", this.title],
      ...[control("Item", this.select), this.whole, this.list.node, this.list.rest, this.said],
    );
  }

  enter(/** @type {SetDescription} */ { names }) {
    this.item = 0;
    this.select.replaceChildren(...listed(names));
  }

  /** @type {(set: SetDescription, method: string, layer: number, item: number) => Promise<null | void>} */
  show(set, method, layer, item) {
    this.item = item;
    this.select.value = String(item);
    return this.#asked.run(async (fresh) => {
      const asked = new URLSearchParams({ method, layer: String(layer), item: String(item) });
      /** @type {Neighbor[]} */
      const found = await fresh(json(`viz/set/${set.key}/neighbors?${asked}`));
      this.title.textContent = `Nearest neighbors of item ${item} by ${called(method)}, ${afterBlocks(layer)}`;
      this.whole.replaceChildren(...named(set, item));
      this.list.show(found.map((near) => this.#near(set, near)));
      this.said.textContent = found.length
        ? ""
        : "This item has no neighbor: its vector is zero, or it is the only item.";
      this.painted(`${item}:${method}:${layer}`);
    });
  }

  #near(/** @type {SetDescription} */ set, /** @type {Neighbor} */ { item, cosine, same_label: same }) {
    const title = "Show the neighbors of this item";
    const onclick = () => this.choose(item);
    const name = el("button", { type: "button", class: "viz-set-name", "data-item": item, title, onclick });
    name.append(...named(set, item));
    const near = el("li", {}, el("span", { class: "viz-set-cosine" }, fixed(cosine, 4)), name);
    if (same === null) return near;
    near.append(el("span", { class: same ? "viz-fact viz-good" : "viz-fact" }, same ? "same label" : "other label"));
    return near;
  }
}

// Items to choose from, by number and name.
export const listed = (/** @type {string[]} */ names) =>
  options(names.map((name, item) => [item, `${item} ${cut(name, 60)}`]));

function named(/** @type {SetDescription} */ { key, pictures, names, labels }, /** @type {number} */ item) {
  const src = address(`viz/set/${key}/item/${item}.png`);
  const picture = pictures ? [el("img", { src, alt: "", class: "viz-set-picture" })] : [];
  const label = labels[item] ? [el("span", { class: "viz-caption" }, ` ${labels[item]}`)] : [];
  return [...picture, el("bdi", {}, `${item} ${cut(names[item], 140)}`), ...label];
}
