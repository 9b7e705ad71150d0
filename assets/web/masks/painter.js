// The painter: a mask as a grid of cells, painted by mouse, touch and keys, with undo.

import { count, el, onTheme } from "../core/dom.js";
import { History, Mask } from "./mask_bits.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";
import { Strokes } from "./strokes.js";

const TOOLS = { cell: "Cells", row: "Rows", column: "Columns", rectangle: "Rectangle" };
const MOST_NAMED = 5; // queries without a key that are named

export class Painter {
  // `changed` is called whenever another mask is there.
  constructor(changed) {
    this.changed = changed;
    this.grid = new TokenGrid({ label: "Mask" });
    this.tool = "cell";
    this.said = el("p", { class: "viz-readout viz-mask-said", role: "status" });
    this.facts = el("p", { class: "viz-caption viz-mask-facts" });
    this.legend = el("div", {});
    this.tools = this.#tools();
    this.node = el(
      "div",
      { class: "viz-mask-painter" },
      this.tools,
      this.grid.node,
      this.legend,
      this.said,
      this.facts,
    );
    this.strokes = new Strokes(this);
    onTheme(() => this.history && this.#draw(true));
  }

  get mask() {
    return this.history?.now;
  }

  // A run's mask to begin with; nothing before it can be brought back.
  start(run, mask, limit) {
    Object.assign(this, { run, editable: run.n <= limit, limit });
    this.history = new History(mask);
    this.grid.chosen = [0, 0];
    for (const control of this.tools.querySelectorAll(".viz-mask-tool")) control.disabled = !this.editable;
    this.#changed();
    this.tell();
  }

  // Another mask, that undo takes back.
  put(mask) {
    if (mask.equals(this.mask)) return;
    this.history.push(mask);
    this.#changed();
  }

  undo() {
    this.history?.undo();
    this.#changed();
  }

  redo() {
    this.history?.redo();
    this.#changed();
  }

  // Paint cells with a value, as one step.
  paint(places, value) {
    this.put(this.mask.with(places, value, this.symmetric.checked));
  }

  // A stroke that is under way, not kept yet.
  preview(mask) {
    this.seen = mask;
    this.#draw(true);
  }

  tell([row, col] = this.grid.chosen) {
    if (!this.run) return;
    if (!this.editable) {
      this.said.textContent = `${count(this.run.n)} tokens: a mask is painted by hand up to ${this.limit}; choose a preset or a file. Each cell stands for several tokens.`;
      return;
    }
    const may = (this.seen ?? this.mask).at(row, col);
    this.said.textContent = `Query ${row} “${this.run.tokens[row]}” ${may ? "may" : "may not"} attend to key ${col} “${this.run.tokens[col]}”.`;
    this.grid.canvas.setAttribute(
      "aria-label",
      `Mask, ${this.run.n} queries by ${this.run.n} keys. ${this.said.textContent} Arrow keys move, Space paints the cell, R its row, C its column.`,
    );
  }

  #changed() {
    if (!this.history) return;
    this.seen = null;
    this.undoing.disabled = !this.history.canUndo;
    this.redoing.disabled = !this.history.canRedo;
    this.#draw(true);
    this.#state();
    this.tell();
    this.changed(this.mask);
  }

  #state() {
    const { forbidden, empty } = this.mask.summary();
    const named = empty
      .slice(0, MOST_NAMED)
      .map((at) => `${at} “${this.run.tokens[at]}”`)
      .join(", ");
    const rest = empty.length > MOST_NAMED ? `, and ${count(empty.length - MOST_NAMED)} more` : "";
    this.facts.textContent = `${count(forbidden)} of ${count(this.run.n ** 2)} pairs forbidden.${empty.length ? ` Without any key: ${empty.length === 1 ? "query" : "queries"} ${named}${rest}.` : ""}`;
  }

  #draw(changed) {
    const { allowed, forbidden } = maskColors();
    const mask = this.seen ?? this.mask;
    this.legend.replaceChildren(
      swatches([
        [allowed, "may attend"],
        [forbidden, "forbidden"],
      ]),
    );
    const [names, share] = this.editable ? [this.run.tokens, (at) => mask.cells[at]] : pooled(mask, this.limit);
    const blend = (at) => allowed.map((c, i) => Math.round(c * share(at) + forbidden[i] * (1 - share(at))));
    const color = this.editable ? (at) => (mask.cells[at] ? allowed : forbidden) : blend;
    if (this.drawn !== this.run || this.grid.view?.n !== names.length) {
      this.drawn = this.run;
      this.grid.view = null;
      return this.grid.show(names, color);
    }
    this.grid.color = color;
    this.grid.draw(changed);
  }

  #tools() {
    const button = (text, label, act, tool = true) =>
      el(
        "button",
        {
          type: "button",
          class: `viz-small${tool ? " viz-mask-tool" : ""}`,
          "aria-label": label,
          title: label,
          onclick: act,
        },
        text,
      );
    this.choices = Object.entries(TOOLS).map(([name, text]) => {
      const choice = el(
        "button",
        {
          type: "button",
          class: "viz-small viz-mask-tool",
          "data-tool": name,
          "aria-pressed": String(name === "cell"),
          onclick: () => this.#choose(name),
        },
        text,
      );
      return choice;
    });
    this.undoing = button("Undo", "Undo (Ctrl+Z)", () => this.undo(), false);
    this.redoing = button("Redo", "Redo (Ctrl+Shift+Z)", () => this.redo(), false);
    this.undoing.disabled = this.redoing.disabled = true;
    this.symmetric = el("input", { type: "checkbox", id: "viz-mask-symmetric", class: "viz-mask-tool" });
    const zoom = (factor) => {
      this.grid.view.zoom(factor, ...this.grid.chosen.map((at) => at + 0.5));
      this.grid.draw();
    };
    return el(
      "div",
      { class: "viz-controls viz-mask-tools" },
      el("span", { class: "viz-mask-group", role: "group", "aria-label": "Paint" }, ...this.choices),
      el("label", { class: "viz-control viz-check" }, this.symmetric, "symmetric"),
      el(
        "span",
        { class: "viz-mask-group", role: "group", "aria-label": "History" },
        this.undoing,
        this.redoing,
        button("Clear", "Clear: every token may attend to every token", () => this.put(new Mask(this.run.n)), false),
        button("Invert", "Invert: allowed and forbidden change places", () => this.put(this.mask.inverted()), false),
      ),
      el(
        "span",
        { class: "viz-mask-group", role: "group", "aria-label": "Zoom" },
        button("+", "Zoom in", () => zoom(0.5), false),
        button("−", "Zoom out", () => zoom(2), false),
        button(
          "Fit",
          "Show the whole mask",
          () => {
            this.grid.view.fit();
            this.grid.draw();
          },
          false,
        ),
      ),
    );
  }

  #choose(name) {
    this.tool = name;
    for (const choice of this.choices) choice.setAttribute("aria-pressed", String(choice.dataset.tool === name));
  }
}

// A large mask as blocks: their names, and what share of each may attend.
export function pooled(mask, most) {
  const { n, cells } = mask;
  const m = Math.min(n, most);
  const edges = Array.from({ length: m + 1 }, (_, at) => Math.round((at * n) / m));
  const sums = new Float32Array(m * m);
  const block = new Uint16Array(n);
  for (let at = 0; at < m; at++) block.fill(at, edges[at], edges[at + 1]);
  for (let row = 0; row < n; row++)
    for (let col = 0; col < n; col++) sums[block[row] * m + block[col]] += cells[row * n + col];
  const size = (at) => edges[at + 1] - edges[at];
  return [
    edges.slice(0, -1).map((start, at) => `${start}–${edges[at + 1] - 1}`),
    (at) => sums[at] / (size(Math.floor(at / m)) * size(at % m)),
  ];
}
