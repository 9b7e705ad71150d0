// The tokens whose states point most nearly the same way as the chosen token's, as a list.

import { el } from "../core/dom.js";
import { named } from "./results.js";

export class Nearest {
  constructor({ hover, choose }) {
    Object.assign(this, { hover, choose });
    this.list = el("ol", { class: "viz-hidden-nearest" });
    this.list.addEventListener("pointerleave", () => hover(null));
    this.node = this.list;
  }

  show({ run, token, found, hovered }) {
    this.list.setAttribute("aria-label", `Nearest to ${named(run, token)}`);
    this.list.replaceChildren(
      ...found.neighbors.map((at, rank) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "viz-hidden-neighbor",
              "data-token": at,
              onclick: () => this.choose(at),
              onpointerenter: () => this.hover(at),
              onfocus: () => this.hover(at),
              onblur: () => this.hover(null),
            },
            el("i", { class: "viz-hidden-bar", style: `width:${Math.max(0, 100 * found.cosines[rank])}%` }),
            el("bdi", {}, named(run, at)),
            el("span", {}, found.cosines[rank].toFixed(4)),
          ),
        ),
      ),
    );
    if (!found.neighbors.length)
      this.list.replaceChildren(el("li", { class: "viz-caption" }, "This run has no other such token."));
    this.mark(hovered);
  }

  mark(hovered) {
    for (const button of this.list.querySelectorAll("button"))
      button.classList.toggle("viz-pointed", Number(button.dataset.token) === hovered);
  }
}
