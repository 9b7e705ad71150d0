// What the mask changed: hidden states layer by layer and token by token, and the pooled vectors.

import { el, number } from "../core/dom.js";
import { FlowSource } from "../views/shaded_input.js";

const UNIT = "‖h − h′‖ / ‖h′‖, h′ without the mask: a share of its length";

export class Effect {
  // `choose` gets a token.
  constructor(choose) {
    this.bars = el("ol", { class: "viz-mask-bars" });
    this.source = new FlowSource(choose, "token");
    this.heading = el("h4", {});
    this.pooled = el("div", {});
    this.node = el(
      "section",
      { class: "viz-mask-result-part", "aria-label": "What the mask changes" },
      el("h3", {}, "What the mask changes, against the run without it"),
      el(
        "div",
        { class: "viz-mask-two" },
        el(
          "div",
          {},
          el("h4", {}, "How far hidden states moved, mean over real tokens"),
          this.bars,
          el("p", { class: "viz-caption" }, `${UNIT}. Press a layer to see its tokens.`),
          this.pooled,
        ),
        el("div", {}, this.heading, this.source.node),
      ),
    );
  }

  show(run, result, query) {
    if (this.result !== result) this.layer = result.moved.length - 1;
    Object.assign(this, { run, result, query });
    this.draw();
  }

  draw() {
    const { run, result, layer } = this;
    if (!result) return;
    const most = Math.max(...result.movedMean) || 1;
    this.bars.replaceChildren(
      ...result.movedMean.map((value, at) =>
        el(
          "li",
          {},
          el(
            "button",
            {
              type: "button",
              class: "viz-mask-bar",
              "data-moved": value,
              "aria-pressed": String(at === layer),
              onclick: () => {
                this.layer = at;
                this.draw();
              },
            },
            el("i", { style: `width:${((value / most) * 100).toFixed(2)}%` }),
            el("span", {}, passed(at)),
            el("span", {}, number(value)),
          ),
        ),
      ),
    );
    this.heading.textContent = `How far each token moved, ${passed(layer)}`;
    this.source.show(
      run,
      this.query,
      Float32Array.from(result.moved[layer], (value) => value ?? NaN),
      1,
      UNIT,
    );
    const rows = Object.entries(result.pooled).map(([method, { cosine, difference }]) =>
      el(
        "tr",
        { "data-pooled": method },
        el("th", { scope: "row" }, method),
        el("td", {}, signed(cosine)),
        el("td", {}, number(difference)),
      ),
    );
    this.pooled.replaceChildren(
      el(
        "table",
        { class: "viz-mask-table" },
        el("caption", {}, "Pooled output: with the mask against without"),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...["Pooled by", "Cosine (1 = same direction)", "Difference (share of its length)"].map((name) =>
              el("th", { scope: "col" }, name),
            ),
          ),
        ),
        el("tbody", {}, ...rows),
      ),
    );
  }
}

// A cosine, which may be below 0.
const signed = (value) => (value < 0 ? `−${number(-value)}` : number(value));

const passed = (layer) => (layer === 0 ? "embeddings" : layer === 1 ? "after 1 block" : `after ${layer} blocks`);
