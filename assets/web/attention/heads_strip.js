// All heads of a layer side by side: the same picture under each head's weights, for one query.

import { largest } from "../core/colors.js";
import { button, el, fit } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { headsOf } from "../core/selection.js";
import { overlay } from "../views/patch_canvas.js";
import { scaleOf } from "../views/shading.js";

/** @import { Direction, Run, Selection } from "./types.d.ts" */

const MOST = 84; // pixels a side

export class HeadsStrip {
  /** @type {Run | null} */ #run = null;
  /** @type {CanvasImageSource | null} */ #image = null;
  /** @type {{ button: HTMLButtonElement, canvas: HTMLCanvasElement, name: HTMLElement }[]} */ #buttons = [];
  /** @type {{ shape: number[], layer: number, query: number } | null} */ #of = null; // what the numbers are of
  /** @type {Float32Array} */ values = new Float32Array();
  heads = el("div", { class: "viz-strip", role: "group", "aria-label": "Heads of this layer" });
  caption = el("p", { class: "viz-caption" });
  node = el("div", { hidden: true }, this.caption, this.heads);

  constructor(/** @type {Selection} */ selection, /** @type {(sentence: string) => unknown} */ say) {
    this.selection = selection;
    this.latest = new Latest(say);
  }

  show(/** @type {Run} */ run, /** @type {CanvasImageSource | null} */ image) {
    this.latest.stop();
    [this.#run, this.#image, this.#of] = [run, image, null];
    this.node.hidden = !run.grid;
    this.#buttons = Array.from({ length: run.grid ? run.nHeads : 0 }, (_, head) => {
      const [canvas, name] = [el("canvas", { "aria-hidden": "true" }), el("span")];
      const node = button("", () => this.selection.set({ head }), { class: "viz-strip-head", "data-strip": head });
      node.append(canvas, name);
      return { button: node, canvas, name };
    });
    this.heads.replaceChildren(...this.#buttons.map((each) => each.button));
  }

  // One request brings the rows of all heads; the answer to an older one is dropped.
  async load(/** @type {Direction} */ direction) {
    const run = this.#run;
    const { layer, query } = this.selection;
    if (!run?.grid) return;
    await this.latest.run(async (fresh) => {
      const { shape, values } = await fresh(run.rows(layer, query));
      [this.#of, this.values] = [{ shape, layer, query }, values];
      this.draw(direction);
      this.node.dataset.painted = `${run.key}:${layer}:${query}`;
    });
  }

  // Of the layer and the query that the numbers are of, whatever has been chosen since.
  draw(/** @type {Direction} */ direction) {
    const grid = this.#run?.grid;
    if (!this.#run || !grid || !this.#of) return;
    const { shape, layer, query } = this.#of;
    const { scale: chosen, head: shown } = this.selection;
    const fixed = ["shared", "log"].includes(chosen);
    const side = Math.min(MOST / grid.cols, MOST / grid.rows);
    const turned = " (this strip shows queries, also while the picture beside it shows who looks at a key)";
    const looks = `where query ${this.#run.named(query)} looks${direction === "who" ? turned : ""}`;
    const tint = `Each is shaded by its own attention weights${fixed ? "" : ", up to its largest on a patch"}`;
    this.caption.textContent = `All heads of layer ${layer}: ${looks}. ${tint}; click to choose.`;
    for (const [head, { button, canvas, name }] of this.#buttons.entries()) {
      button.hidden = head >= shape[0];
      if (button.hidden) continue;
      const row = this.values.subarray(head * shape[1] + grid.prefix, (head + 1) * shape[1]);
      const [width, height] = [side * grid.cols, side * grid.rows];
      const context = fit(canvas, width, height);
      context.imageSmoothingEnabled = false;
      if (this.#image) context.drawImage(this.#image, 0, 0, width, height);
      const scale = scaleOf("weight", fixed ? chosen : "head", row, -1);
      context.drawImage(overlay(row, grid, scale, 1), 0, 0, width, height);
      name.textContent = `${layer}.${head}`;
      button.ariaPressed = String(headsOf(shown).includes(head));
      button.ariaLabel = `Head ${layer}.${head}`;
      button.title = `Head ${layer}.${head}: largest weight on a patch ${largest(row).toFixed(4)}`;
    }
  }
}
