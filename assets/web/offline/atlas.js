// Thumbnails of the heads that a file carries: rows are layers, columns are heads; one is chosen.

import { el, query } from "../core/dom.js";

const THUMBNAIL = 64; // cells a side
/** @type {Record<string, [layers: number, heads: number]>} */
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

export class Atlas {
  /** @param {HTMLElement} node @param {(KeptMap | null)[][]} layers null where a head is not in the file
   * @param {(map: KeptMap) => unknown} choose */
  constructor(node, layers, choose) {
    this.node = node;
    this.layers = layers;
    this.choose = choose;
    this.nHeads = Math.max(...layers.map(({ length }) => length));
  }

  /** Redraw; a thumbnail has at most `most` cells per side.
   * @type {(picture: (map: KeptMap, most: number) => HTMLCanvasElement) => void} */
  draw(picture) {
    const every = Array.from({ length: this.nHeads }, (_, head) => head);
    const heads = every.filter((head) => this.layers.some((maps) => maps[head]));
    this.node.style.setProperty("--heads", String(heads.length));
    this.node.replaceChildren(el("span"), ...heads.map((head) => el("span", {}, String(head))));
    for (const [layer, maps] of this.layers.entries()) {
      if (!maps.some(Boolean)) continue;
      this.node.append(el("span", {}, String(layer)));
      for (const head of heads) {
        const map = maps[head];
        this.node.append(map ? this.#thumbnail(map, picture(map, THUMBNAIL)) : el("span", { class: "absent" }));
      }
    }
  }

  /** @type {(map: KeptMap, drawn: HTMLCanvasElement) => HTMLButtonElement} */
  #thumbnail(map, drawn) {
    const { layer, head, name } = map.about;
    const named = {
      "aria-label": `Layer ${layer}, head ${head}`,
      "data-name": `${layer}.${head}`,
      title: `Head ${name}`,
    };
    return el("button", { ...named, tabindex: -1, onclick: () => this.choose(map) }, drawn);
  }

  /** Press one head's thumbnail; none where it is of several heads.
   * @type {(layer: number, head: number | null) => void} */
  mark(layer, head) {
    const buttons = [...this.node.querySelectorAll("button")];
    for (const [at, button] of buttons.entries()) {
      const same = button.dataset.name === `${layer}.${head}`;
      button.setAttribute("aria-pressed", String(same));
      button.tabIndex = same || (head === null && at === 0) ? 0 : -1;
    }
  }

  /** Go where an arrow leads, past heads that are not here. @type {(event: KeyboardEvent, from: KeptMap) => void} */
  walk(event, { about }) {
    const by = MOVES[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    let [layer, head] = [about.layer, about.head ?? -by[1]]; // of several heads, to head 0
    do {
      layer += by[0];
      head = by[0] ? Math.min(head, (this.layers[layer]?.length ?? 0) - 1) : head + by[1];
    } while (this.layers[layer]?.[head] === null);
    const map = this.layers[layer]?.[head];
    if (!map) return;
    this.choose(map);
    query(this.node, '[aria-pressed="true"]').focus();
  }
}
