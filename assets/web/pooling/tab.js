// The Pooling tab, of one input: every method's vector, what each token put into it, and padding.

import { el, onTheme } from "../core/dom.js";
import { current } from "../core/app_state.js";
import { Padding } from "./padding.js";
import { ask, fixed, signedScale, tint } from "./results.js";
import { learned } from "./learned_query.js";
import { Shares } from "./token_shares.js";

const PAUSE = 120; // ms without another choice before the server is asked

// Called by the page once; the run is that of all tabs.
export function mount(root) {
  new OneInput(root);
}

class OneInput {
  constructor(root) {
    this.root = root;
    this.method = "mean";
    this.empty = el("p", { class: "viz-empty" }, "Type a text or drop a picture, and press Run.");
    this.fault = el("p", { class: "viz-alert", role: "alert", hidden: true });
    this.shares = new Shares("Each token's share");
    this.padding = new Padding();
    this.body = el(
      "div",
      { class: "viz-pool", hidden: true },
      el("h2", { class: "viz-part" }, "This input"),
      this.#controls(),
      this.fault,
      el("div", { class: "viz-pool-columns" }, this.#methods(), this.#alike()),
      this.#chosen(),
      this.padding.node,
    );
    root.replaceChildren(this.empty, this.body);
    current.on((run) => {
      this.run = run;
      this.#refresh();
    });
    learned.on(() => this.#refresh(true));
    onTheme(() => this.found && this.#draw());
    new ResizeObserver(() => this.#seen()).observe(root);
  }

  #controls() {
    this.layer = el("input", {
      type: "range",
      id: "viz-pool-layer",
      min: 0,
      max: 0,
      step: 1,
      oninput: () => this.#moved(),
    });
    this.layerName = el("output", {});
    return el(
      "div",
      { class: "viz-controls" },
      el("label", { class: "viz-control" }, "Layer", this.layer, this.layerName),
    );
  }

  #methods() {
    this.rows = el("tbody", {});
    const heads = ["Method", "What it is", "Numbers", "Norm", "Cosine to mean"].map((title) =>
      el("th", { scope: "col" }, title),
    );
    this.left = el("ul", { class: "viz-notes" });
    return el(
      "section",
      { "aria-label": "Methods" },
      el(
        "div",
        { class: "viz-pool-scroll" },
        el("table", { class: "viz-pool-table viz-pool-methods" }, el("thead", {}, el("tr", {}, ...heads)), this.rows),
      ),
      this.left,
    );
  }

  #alike() {
    this.matrix = el("table", { class: "viz-pool-matrix" });
    this.matrixScale = el("p", { class: "viz-caption viz-stat-scale" });
    return el(
      "section",
      { "aria-label": "Cosine between methods" },
      el("h3", {}, "Cosine between methods"),
      el("div", { class: "viz-pool-scroll" }, this.matrix),
      this.matrixScale,
      el("p", { class: "viz-caption" }, "– = vectors of different widths have no cosine."),
    );
  }

  #chosen() {
    this.shareTitle = el("h3", {});
    this.shareText = el("p", { class: "viz-caption" });
    return el(
      "section",
      { class: "viz-pool-chosen", "aria-label": "What each token put in" },
      this.shareTitle,
      this.shareText,
      this.shares.node,
    );
  }

  // A hidden tab asks for nothing; it is brought up to date when it is seen.
  #seen() {
    const seen = this.root.clientWidth > 0;
    if (seen && !this.visible) requestAnimationFrame(() => this.#refresh());
    this.visible = seen;
  }

  #moved() {
    this.layerName.textContent = this.#layerText(Number(this.layer.value));
    clearTimeout(this.asking);
    this.asking = setTimeout(() => this.#load(), PAUSE);
  }

  #layerText(layer) {
    const last = Number(this.layer.max);
    return `${layer} of 0 to ${last}${layer === 0 ? ", the embeddings" : layer === last ? ", the output" : ""}`;
  }

  #refresh(again = false) {
    const { run } = this;
    this.empty.hidden = Boolean(run);
    this.body.hidden = !run;
    if (!run || !this.root.clientWidth || (this.entered === run && !again)) return;
    if (this.entered !== run) {
      this.layer.max = run.nLayers;
      this.layer.value = run.nLayers;
    }
    this.entered = run;
    this.layerName.textContent = this.#layerText(Number(this.layer.value));
    this.#load();
  }

  async #load() {
    const { run } = this;
    const asked = `run/${run.key}/pooled?layer=${this.layer.value}${learned.latest ? `&learned=${learned.latest.key}` : ""}`;
    this.asked = asked;
    this.#busy(true);
    try {
      const found = await ask(asked);
      if (this.asked !== asked) return;
      this.#busy(false);
      this.found = found;
      this.fault.hidden = true;
      this.#draw();
      this.padding.show(run, found);
      this.body.dataset.painted = `${run.key}:${found.layer}:${found.shares.attention ? "learned" : ""}`;
    } catch (fault) {
      if (this.asked !== asked) return;
      this.fault.hidden = false;
      this.fault.textContent = fault.message;
    }
  }

  // The numbers on screen are of the layer before until the new ones come: dimmed so long.
  #busy(busy) {
    this.body.classList.toggle("viz-pool-busy", busy);
    this.body.setAttribute("aria-busy", String(busy));
  }

  #draw() {
    const { methods, leftOut } = this.found;
    if (!methods.some(({ name }) => name === this.method)) this.method = "mean";
    this.rows.replaceChildren(...methods.map((method) => this.#row(method)));
    this.left.replaceChildren(
      ...Object.entries(leftOut).map(([name, why]) => el("li", {}, el("strong", {}, name), `: ${why}`)),
    );
    this.#drawMatrix();
    this.#drawShares();
  }

  #row({ name, what, numbers, norm, toMean }) {
    const choose = () => {
      this.method = name;
      this.#draw();
      this.rows.querySelector(`[data-method="${name}"] button`).focus();
    };
    const button = el(
      "button",
      { type: "button", class: "viz-small", "aria-pressed": String(name === this.method) },
      name,
    );
    return el(
      "tr",
      { "data-method": name, class: name === this.method ? "viz-chosen-row" : "", onclick: choose },
      el("th", { scope: "row" }, button),
      el("td", { class: "viz-pool-what" }, what),
      el("td", {}, String(numbers)),
      el("td", {}, fixed(norm, 3)),
      el("td", {}, fixed(toMean, 4)),
    );
  }

  #drawMatrix() {
    const { methods, cosines } = this.found;
    const heads = methods.map(({ name }) => el("th", { scope: "col" }, el("span", {}, name)));
    const rows = methods.map(({ name }, row) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, name),
        ...cosines[row].map((value, column) =>
          tint(
            el(
              "td",
              {
                title: `${name} and ${methods[column].name}: ${value == null ? "of different widths" : `cosine ${fixed(value, 4)}`}`,
              },
              fixed(value, 2),
            ),
            value,
          ),
        ),
      ),
    );
    this.matrix.replaceChildren(el("thead", {}, el("tr", {}, el("td", {}), ...heads)), el("tbody", {}, ...rows));
    this.matrixScale.replaceChildren(...signedScale("−1", "1", "cosine (no unit)"));
  }

  #drawShares() {
    const { run, method } = this;
    const looks = method === "pooler" ? this.found.looks : null;
    const values = looks ?? this.found.shares[method];
    this.shareTitle.textContent = looks
      ? "Where the pooler's learned query looks"
      : `What each token put into ${method}`;
    this.shareText.textContent = this.#explained(method);
    if (!values)
      return this.shares.fail(
        "The model's own head is a function of the whole vector; it adds no parts up, so there are no shares.",
      );
    const { wins, width } = this.found;
    const name = (at) => `${at} “${run.tokens[at]}”`;
    const say =
      method === "max"
        ? (at) => `${name(at)} wins ${wins[at]} of ${width} dimensions`
        : (at) => `${name(at)}: ${fixed(values[at], 4)}`;
    const unit = looks
      ? "attention weight, share of the query's total"
      : "share of the pooled vector (no unit; the shares sum to 1)";
    this.shares.show({
      tokens: run.tokens,
      values,
      grid: run.grid,
      picture: run.grid && run.url("picture.png"),
      say,
      unit,
    });
  }

  #explained(method) {
    if (method === "max")
      return "In how many dimensions the token has the largest value, as a share of all dimensions. The first of equals wins.";
    if (method === "pooler")
      return this.found.looks
        ? "Weights of the learned query over the tokens, a mean over its heads. A feed-forward network follows, so they are no shares of the vector."
        : "";
    return "The token's part projected on the pooled vector, divided by its squared length. A negative share points away from the result.";
  }
}
