// All heads of a layer side by side: the same picture under each head's weights, for one query.

import { el, fit } from "../core/dom.js";
import { largest } from "../core/colors.js";
import { headsOf } from "../core/selection.js";
import { scaleOf } from "../views/shading.js";
import { overlay } from "../views/picture_overlay.js";

const WIDEST = 84;
const TALLEST = 84;

export class HeadsStrip {
  constructor(selection) {
    this.selection = selection;
    this.heads = el("div", { class: "viz-strip", role: "group", "aria-label": "Heads of this layer" });
    this.caption = el("p", { class: "viz-caption" });
    this.node = el("div", { hidden: true }, this.caption, this.heads);
  }

  show(run, image) {
    Object.assign(this, { run, image, shape: null, asked: null });
    this.node.hidden = !run.grid;
    this.buttons = Array.from({ length: run.grid ? run.nHeads : 0 }, (_, head) => {
      const canvas = el("canvas", { "aria-hidden": "true" });
      const name = el("span", {});
      const button = el(
        "button",
        { type: "button", class: "viz-strip-head", "data-strip": head, onclick: () => this.selection.set({ head }) },
        canvas,
        name,
      );
      return { button, canvas, name };
    });
    this.heads.replaceChildren(...this.buttons.map(({ button }) => button));
  }

  // One request brings the rows of all heads; the answer to an older one is dropped.
  async load() {
    const { run, selection } = this;
    if (!run?.grid) return;
    const { layer, query } = selection;
    const asked = (this.asked = `${run.key}:${layer}:${query}`);
    const { shape, values } = await run.rows(layer, query);
    if (this.asked !== asked) return;
    Object.assign(this, { shape, values, layer, query });
    this.draw();
    this.node.dataset.painted = asked;
  }

  // Of the layer and the query that the numbers are of, whatever has been chosen since.
  draw(direction = this.direction) {
    const { run, selection, shape, values, layer, query } = this;
    this.direction = direction;
    if (!shape) return;
    const side = Math.min(WIDEST / run.grid.cols, TALLEST / run.grid.rows);
    this.caption.textContent = `All heads of layer ${layer}: where query ${query} “${run.tokens[query]}” looks${direction === "who" ? " (this strip shows queries, also while the picture above shows who looks at a key)" : ""}. Each is tinted by its own attention weights${["shared", "log"].includes(selection.scale) ? "" : ", up to its largest on a patch"}; click to choose.`;
    this.buttons.forEach(({ button, canvas, name }, head) => {
      button.hidden = head >= shape[0];
      if (button.hidden) return;
      const row = values.subarray(head * shape[1] + run.grid.prefix, (head + 1) * shape[1]);
      const scale = scaleOf("weight", ["shared", "log"].includes(selection.scale) ? selection.scale : "head", row);
      const [width, height] = [side * run.grid.cols, side * run.grid.rows];
      const context = fit(canvas, width, height);
      context.imageSmoothingEnabled = false;
      if (this.image) context.drawImage(this.image, 0, 0, width, height);
      context.drawImage(overlay(row, run.grid, scale, 1), 0, 0, width, height);
      name.textContent = `${layer}.${head}`;
      button.setAttribute("aria-pressed", String(headsOf(selection.head).includes(head)));
      button.setAttribute("aria-label", `Head ${layer}.${head}`);
      button.title = `Head ${layer}.${head}: largest weight on a patch ${largest(row).toFixed(4)}`;
    });
  }
}
