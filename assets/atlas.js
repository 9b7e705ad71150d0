// The atlas: every layer and head at once, one small exact map each; click or arrows choose a head.

import { amount, el, fit, css, number } from "./dom.js";
import { largest, makeScale, picture, shrink } from "./colors.js";

const GAP = 2;
const LEFT = 34;
const TOP = 30;
const MAX_CELL = 64;

export class Atlas {
  constructor(selection) {
    this.selection = selection;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.grid = el("div", { class: "viz-atlas-grid", role: "grid", "aria-label": "Layers and heads" });
    this.caption = el("p", { class: "viz-caption viz-atlas-caption" });
    this.stage = el("div", { class: "viz-stage" }, this.canvas, this.grid);
    this.node = el("section", { class: "viz-atlas", "aria-label": "Atlas of all heads" },
      el("h3", {}, "All layers and heads"), this.stage, this.caption);
    this.grid.addEventListener("keydown", (event) => this.#key(event));
    this.grid.addEventListener("pointerleave", () => this.#tell(null));
    selection.on((changed) => {
      if (changed.has("scale")) this.draw();
      else if (changed.has("layer") || changed.has("head")) this.#mark();
    });
    new ResizeObserver(() => this.run && this.layout()).observe(this.node);
  }

  // Show a run: each layer is painted as soon as the server has swept it.
  async show(run) {
    this.run = run;
    this.heads = new Map();
    this.statistics = new Map();
    this.done = 0;
    this.#build();
    this.layout();
    for (let layer = 0; layer < run.nLayers; layer++) {
      const { shape, values } = await run.thumbnails(layer);
      const statistics = await run.statistics(layer);
      if (this.run !== run) return;
      const size = shape[1] * shape[2];
      for (let head = 0; head < shape[0]; head++) {
        const weights = values.subarray(head * size, (head + 1) * size);
        this.heads.set(`${layer}.${head}`, { weights, height: shape[1], width: shape[2] });
      }
      this.statistics.set(layer, statistics);
      this.draw(layer);
      this.done = layer + 1;
      this.#tell(null);
    }
    this.node.dataset.painted = run.key;
    this.#label();
    this.#tell(null);
  }

  layout() {
    const { nLayers, nHeads } = this.run;
    const room = this.node.clientWidth - LEFT - 4;
    const cell = Math.max(8, Math.min(MAX_CELL, Math.floor(room / nHeads)));
    if (cell === this.cell && this.canvas.width > 1) return;
    this.cell = cell;
    this.width = LEFT + nHeads * this.cell;
    this.height = TOP + nLayers * this.cell;
    this.context = fit(this.canvas, this.width, this.height);
    Object.assign(this.grid.style, {
      left: `${LEFT}px`, top: `${TOP}px`,
      gridTemplateRows: `repeat(${nLayers}, ${this.cell}px)`,
    });
    for (const row of this.grid.children) {
      row.style.gridTemplateColumns = `repeat(${nHeads}, ${this.cell}px)`;
    }
    this.draw();
  }

  draw(only) {
    if (!this.run || !this.context) return;
    const { nLayers, nHeads } = this.run;
    if (only === undefined) this.#axes();
    const layers = only === undefined ? [...Array(nLayers).keys()] : [only];
    for (const layer of layers) {
      for (let head = 0; head < nHeads; head++) this.#drawHead(layer, head);
    }
  }

  #drawHead(layer, head) {
    const found = this.heads.get(`${layer}.${head}`);
    const x = LEFT + head * this.cell;
    const y = TOP + layer * this.cell;
    const side = this.cell - GAP;
    if (!found) {
      this.context.fillStyle = css("--border-color-primary");
      this.context.fillRect(x, y, side, side);
      return;
    }
    const pixels = Math.max(1, Math.round(side * (window.devicePixelRatio || 1)));
    const small = shrink(found.weights, found.height, found.width, pixels, pixels);
    const scale = makeScale(this.selection.scale, largest(found.weights));
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(picture(small.values, small.height, small.width, scale), x, y, side, side);
  }

  #axes() {
    const { context, cell } = this;
    const { nLayers, nHeads } = this.run;
    context.clearRect(0, 0, this.width, this.height);
    context.fillStyle = css("--body-text-color-subdued");
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText("Head", LEFT + (nHeads * cell) / 2, 8);
    const every = Math.ceil(16 / cell);
    for (let head = 0; head < nHeads; head += every) {
      context.fillText(head, LEFT + head * cell + (cell - GAP) / 2, 22);
    }
    for (let layer = 0; layer < nLayers; layer += every) {
      context.fillText(layer, LEFT - 10, TOP + layer * cell + (cell - GAP) / 2);
    }
    context.save();
    context.translate(8, TOP + (nLayers * cell) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText("Layer", 0, 0);
    context.restore();
  }

  #build() {
    const { nLayers, nHeads } = this.run;
    const rows = Array.from({ length: nLayers }, (_, layer) =>
      el("div", { role: "row", class: "viz-atlas-row" },
        ...Array.from({ length: nHeads }, (_, head) => this.#cell(layer, head))));
    this.grid.replaceChildren(...rows);
    this.cell = 0;
    this.#mark();
  }

  #cell(layer, head) {
    return el("div", {
      role: "gridcell", class: "viz-atlas-cell", tabindex: "-1",
      "aria-label": `Layer ${layer}, head ${head}`, "data-head": `${layer}.${head}`,
      onclick: () => this.selection.set({ layer, head }),
      onpointerenter: () => this.#tell(`${layer}.${head}`),
      onfocus: () => this.#tell(`${layer}.${head}`),
    });
  }

  #mark() {
    if (!this.run) return;
    const { layer, head } = this.selection;
    const fused = typeof head !== "number";
    for (const row of this.grid.children) {
      for (const cell of row.children) {
        const [itsLayer, itsHead] = cell.dataset.head.split(".").map(Number);
        const chosen = itsLayer === layer && (fused || itsHead === head);
        cell.setAttribute("aria-selected", String(chosen));
        cell.tabIndex = itsLayer === layer && itsHead === (fused ? 0 : head) ? 0 : -1;
      }
    }
    this.#tell(null);
  }

  #key(event) {
    const { nLayers, nHeads } = this.run;
    const [layer, head] = (event.target.dataset.head ?? "0.0").split(".").map(Number);
    const moves = {
      ArrowUp: [layer - 1, head], ArrowDown: [layer + 1, head],
      ArrowLeft: [layer, head - 1], ArrowRight: [layer, head + 1],
      Home: [layer, 0], End: [layer, nHeads - 1],
      PageUp: [0, head], PageDown: [nLayers - 1, head],
      Enter: [layer, head], " ": [layer, head],
    };
    const to = moves[event.key];
    if (!to) return;
    event.preventDefault();
    const next = {
      layer: Math.min(nLayers - 1, Math.max(0, to[0])),
      head: Math.min(nHeads - 1, Math.max(0, to[1])),
    };
    this.selection.set(next);
    this.grid.children[next.layer].children[next.head].focus({ preventScroll: true });
  }

  #label() {
    for (const cell of this.grid.querySelectorAll(".viz-atlas-cell")) {
      cell.setAttribute("aria-label", this.#sentence(cell.dataset.head));
    }
  }

  #tell(name) {
    if (!this.run) return;
    const { layer, head } = this.selection;
    if (!name && this.done < this.run.nLayers) {
      this.caption.textContent = `Computing all heads: layer ${this.done} of ${this.run.nLayers} …`;
      return;
    }
    this.caption.textContent = this.#sentence(name ?? (typeof head === "number" ? `${layer}.${head}` : ""))
      || `Layer ${layer}, ${head} over all heads`;
  }

  #sentence(name) {
    if (!name) return "";
    const [layer, head] = name.split(".").map(Number);
    const known = this.statistics.get(layer);
    if (!known) return `Layer ${layer}, head ${head}`;
    return `Layer ${layer}, head ${head}: entropy ${amount(known.entropy[head], 2)} nats, ` +
      `largest weight ${number(known.largest[head])}, mean distance ${amount(known.distance[head], 1)} tokens`;
  }
}
