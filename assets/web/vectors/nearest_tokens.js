// Panel: the tokens whose states point most nearly the same way as the chosen token's, as a list.

import { el } from "../core/dom.js";
import { afterBlocks } from "../core/states.js";
import { oneStop } from "../views/one_stop.js";
import { Panel } from "./panel.js";

/** @import { Acts, Draw, State, Table } from "./panel.js" */

export class NearestPanel extends Panel {
  heading = el("h4");
  list = oneStop(el("ol", { class: "viz-hidden-nearest", onpointerleave: () => this.acts.hover(null) }));

  constructor(/** @type {Acts} */ acts) {
    super(
      acts,
      "nearest",
      "Nearest tokens",
      "Look for the tokens whose states point most nearly in the same direction (cosine). Similar states may still be used differently.",
    );
    this.body.append(this.heading, this.list);
  }

  /** @override @type {(state: State) => Table[]} */
  tables({ token, layer, hide }) {
    return [["", `nearest_tokens?token=${token}&layer=${layer}&hide_special=${hide}`]];
  }

  /** @override @type {Draw} */
  async draw(state, fresh) {
    const { run, token, layer, hide } = state;
    this.heading.textContent = `Nearest to ${run.named(token)} ${afterBlocks(layer)}`;
    if (!run.valid[token]) throw new Error(`Token ${token} is padding; choose a real token.`);
    const [[, path]] = this.tables(state);
    /** @type {NearestTokens} */
    const { neighbors, cosines } = await fresh(run.json(`hidden/${path}`, fresh.signal));
    this.list.setAttribute("aria-label", `Nearest to ${run.named(token)}`);
    this.list.replaceChildren(...neighbors.map((at, rank) => this.#item(run, at, cosines[rank] ?? NaN)));
    if (!neighbors.length) this.list.append(el("li", { class: "viz-caption" }, "This run has no other such token."));
    this.mark(this.hovered);
    return `${token}:${layer}:${hide}`;
  }

  /** @type {(run: Run, at: number, cosine: number) => HTMLElement} */
  #item(run, at, cosine) {
    const { choose, hover } = this.acts;
    const acts = {
      onclick: () => choose(at),
      onpointerenter: () => hover(at),
      onfocus: () => hover(at),
      onblur: () => hover(null),
    };
    const bar = el("i", { class: "viz-hidden-bar", style: `width:${Math.max(0, 100 * cosine)}%` });
    const button = el(
      "button",
      { type: "button", class: "viz-hidden-neighbor", "data-token": at, ...acts },
      bar,
      el("bdi", {}, run.named(at)),
      el("span", {}, cosine.toFixed(4)),
    );
    return el("li", {}, button);
  }

  /** @override @param {number | null} hovered */
  mark(hovered) {
    super.mark(hovered);
    for (const button of this.list.querySelectorAll("button"))
      button.classList.toggle("viz-pointed", Number(button.dataset.token) === hovered);
  }
}
