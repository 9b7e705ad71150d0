// The tokens whose states point most nearly the same way as the chosen token's, as a list.

import { caption, el } from "../core/dom.js";
import { afterBlocks } from "../core/states.js";
import { section } from "../views/headed.js";
import { oneStop } from "../views/one_stop.js";

/** @import { Acts, State } from "./token_similarity.js" */

const ABOUT =
  "Look for the tokens whose states point most nearly in the same direction (cosine). Similar states may still be used differently.";

export class Nearest {
  heading = el("h4");
  list = oneStop(el("ol", { class: "viz-hidden-nearest", onpointerleave: () => this.acts.hover(null) }));
  node = section("viz-hidden-near", "Nearest tokens", "Nearest tokens", caption(ABOUT), this.heading);

  constructor(/** @type {Acts} */ acts) {
    this.acts = acts;
    this.node.append(this.list);
  }

  /** `path` is where their numbers are. @type {(state: State, path: string, fresh: Fresh) => Promise<void>} */
  async draw({ run, token, layer }, path, fresh) {
    /** @type {Pick<NearestTokens, "neighbors" | "cosines">} */
    const { neighbors, cosines } = run.valid[token]
      ? await fresh(run.json(`hidden/${path}`, fresh.signal))
      : { neighbors: [], cosines: [] };
    this.heading.textContent = `Nearest to ${run.named(token)} ${afterBlocks(layer)}`;
    this.list.setAttribute("aria-label", `Nearest to ${run.named(token)}`);
    this.list.replaceChildren(...neighbors.map((at, rank) => this.#item(run, at, cosines[rank] ?? NaN)));
    const why = run.valid[token] ? "This run has no other such token." : "It is padding; choose a real token.";
    if (!neighbors.length) this.list.append(el("li", { class: "viz-caption" }, why));
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
    const bar = el("i", { class: "viz-bar", style: `width:${Math.max(0, 100 * cosine)}%` });
    const button = el(
      "button",
      { type: "button", class: "viz-barred viz-hidden-neighbor", "data-token": at, ...acts },
      bar,
      el("bdi", {}, run.named(at)),
      el("span", {}, cosine.toFixed(4)),
    );
    return el("li", {}, button);
  }

  mark(/** @type {number | null} */ hovered) {
    for (const button of this.list.querySelectorAll("button"))
      button.classList.toggle("viz-pointed", Number(button.dataset.token) === hovered);
  }
}
