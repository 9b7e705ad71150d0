// Panels: all layers in one plane, the nearest tokens, and the head read off every layer.

import { rgbText, theme } from "../core/colors.js";
import { el } from "../core/dom.js";
import { Lens } from "./logit_lens.js";
import { named, passed } from "./results.js";
import { Nearest } from "./nearest_tokens.js";
import { Panel } from "./panel.js";
import { Plane } from "./pca_plane.js";

const CENTERS = { together: "of all layers together", "each layer": "of each layer on its own" };

export class PlanePanel extends Panel {
  constructor({ hover, choose }) {
    super({
      name: "plane",
      title: "All layers' tokens in one plane",
      measures:
        "Measured: the first two principal components of all layers' states, fitted together. Not measured: all that lies outside this plane; points near here may be far apart.",
      pointed: true,
    });
    this.plane = new Plane({
      hover,
      choose,
      tell: (text) => {
        this.told.textContent = text;
      },
    });
    this.center = el(
      "select",
      { id: "viz-hidden-center", onchange: () => this.show(this.state) },
      ...Object.entries(CENTERS).map(([value, text]) => el("option", { value }, text)),
    );
    this.body.append(
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "Subtract the mean", this.center)),
      this.plane.node,
      el(
        "p",
        { class: "viz-caption" },
        "Strong: the layer that is shown; faint: all others. The line is the chosen token's way from the embeddings on. Axes in units of the states.",
      ),
    );
  }

  async show(state) {
    const { run, special, token } = state;
    this.state = state;
    const center = this.center.value;
    const options = `special=${special}&center=${encodeURIComponent(center)}`;
    this.files(
      run,
      [{ text: "", path: `plane?${options}` }],
      `projection?token=${token}&tokens=${special ? "all" : "without special"}&center=${center}`,
    );
    const answer = await this.fetch(run, `plane?${options}`);
    if (!answer || this.state !== state || this.center.value !== center) return;
    this.plane.show({ ...state, ...answer });
    this.node.dataset.painted = `${run.key}:${state.layer}:${special}:${token}:${center}`;
  }

  mark(hovered) {
    this.plane.mark(hovered);
  }
}

export class NearestPanel extends Panel {
  constructor({ hover, choose }) {
    super({
      name: "nearest",
      title: "Nearest tokens",
      measures:
        "Measured: which other tokens' states point most nearly the same way, by cosine. That the model treats them alike does not follow.",
    });
    this.heading = el("h4", {});
    this.nearest = new Nearest({ hover, choose });
    this.body.append(this.heading, this.nearest.node);
  }

  async show(state) {
    const { run, special, token, layer } = state;
    this.state = state;
    this.heading.textContent = `To ${named(run, token)} ${passed(layer)}`;
    if (!run.valid[token]) return this.fail(`Token ${token} is padding; choose a real token.`);
    const options = `token=${token}&layer=${layer}&special=${special}`;
    this.files(run, [{ text: "", path: `nearest?${options}` }], "");
    const found = await this.fetch(run, `nearest?${options}`);
    if (!found || this.state !== state) return;
    this.nearest.show({ ...state, found });
    this.node.dataset.painted = `${run.key}:${token}:${layer}:${special}`;
  }

  mark(hovered) {
    this.nearest.mark(hovered);
  }
}

export class LensPanel extends Panel {
  constructor({ hover, choose, layer }) {
    super({
      name: "lens",
      title: "What the head would say at each layer",
      measures:
        "Measured: what the trained head says of the states after each number of blocks, through the final norm where there is one. The head was trained on the output alone, the last row: what earlier layers hold in another form it cannot read.",
      pointed: true,
    });
    this.lens = new Lens({
      hover,
      choose,
      layer,
      tell: (text) => {
        this.told.textContent = text;
      },
    });
    this.task = el("select", { id: "viz-hidden-task", onchange: () => this.show(this.state) });
    this.taskNode = el(
      "div",
      { class: "viz-controls", hidden: true },
      el("label", { class: "viz-control" }, "Head", this.task),
    );
    this.window = el("p", { class: "viz-caption" });
    this.bar = el("i", { class: "viz-stat-bar" });
    this.scale = el(
      "p",
      { class: "viz-caption viz-stat-scale" },
      "0 ",
      this.bar,
      " 1, probability of the likeliest label",
    );
    this.body.append(this.taskNode, this.lens.node, this.scale, this.window);
  }

  async show(state) {
    const { run, token } = state;
    this.state = state;
    this.node.hidden = !run.tasks.length;
    if (this.node.hidden) return;
    if (this.run !== run) this.#enter(run);
    const task = this.task.value;
    const here = this.found?.tokens.includes(token) || this.found?.tokens[0] === -1;
    if (!here || this.found.task !== task) this.around = token;
    const options = `token=${this.around}&task=${encodeURIComponent(task)}`;
    this.files(run, [{ text: "", path: `lens?${options}` }], "logit_lens?");
    const found = await this.fetch(run, `lens?${options}`);
    if (!found || this.state !== state || this.task.value !== task) return;
    this.found = found;
    this.lens.show({ ...state, found });
    const real = run.valid.filter(Boolean).length;
    const part =
      found.tokens.length < real && found.tokens[0] !== -1
        ? ` ${found.tokens.length} of ${real.toLocaleString("en-US")} tokens, around the chosen one.`
        : "";
    this.scale.hidden = found.unit !== "probability";
    this.bar.style.background = `linear-gradient(to right, ${[0, 64, 128, 192, 255].map((at) => rgbText(theme().ramp[at])).join(", ")})`;
    this.window.textContent = `Each cell: the likeliest label and its ${found.unit}.${part}${found.task === "masked" ? " At words that are not masked, this head may have been trained little or not at all." : ""}`;
    this.node.dataset.painted = `${run.key}:${this.around}:${task}:${state.layer}`;
  }

  mark(hovered) {
    this.lens.mark(hovered);
  }

  #enter(run) {
    Object.assign(this, { run, found: null });
    this.task.replaceChildren(...run.tasks.map((task) => el("option", { value: task }, task)));
    this.taskNode.hidden = run.tasks.length < 2;
  }
}
