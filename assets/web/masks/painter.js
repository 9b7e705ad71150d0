// The painter: a mask as a grid of cells, painted by mouse, touch and keys, with undo.

import { button, caption, controls, count, el, labelled } from "../core/dom.js";
import { Viewport } from "../core/viewport.js";
import { numbered } from "../core/token_names.js";
import { View } from "../core/view.js";
import { zoomButtons } from "../views/cell_canvas.js";
import { fullScreen } from "../views/full_screen.js";
import { oneStop } from "../views/one_stop.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";
import { History, listed, Mask } from "./mask_bits.js";
import { Strokes } from "./strokes.js";

const TOOLS = { cell: "Cells", row: "Rows", column: "Columns", rectangle: "Rectangle" };

export class Painter extends View {
  grid = new TokenGrid({ label: "Mask", maxSide: 440 });
  tool = "cell";
  history = new History(new Mask(0));
  /** @type {Mask | null} */
  seen = null; // a stroke that is under way, not kept yet
  limit = 0; // up to so many tokens, cells are painted
  said = el("p", { class: "viz-readout viz-mask-said", role: "status" });
  facts = caption();
  legend = el("div");
  symmetric = el("input", { type: "checkbox", id: "viz-mask-symmetric" });
  choices = Object.entries(TOOLS).map(([name, text]) =>
    button(text, () => this.#choose(name), { "data-tool": name, "aria-pressed": String(name === this.tool) }),
  );
  undoing = labelled("Undo", "Undo (Ctrl+Z)", () => this.go(-1));
  redoing = labelled("Redo", "Redo (Ctrl+Shift+Z)", () => this.go(1));
  node = el("div", { class: "viz-mask-painter" }, this.#tools(), this.grid.node, this.legend, this.said, this.facts);
  strokes = new Strokes(this);

  /** `changed` is called whenever another mask is there; `tokensOf` names the tokens of a mask.
   * @param {(mask: Mask) => unknown} changed @param {(mask: Mask) => string[]} tokensOf */
  constructor(changed, tokensOf) {
    super();
    this.changed = changed;
    this.tokensOf = tokensOf;
    this.node.prepend(fullScreen(this.node, () => this.grid.layout()));
  }

  get mask() {
    return this.history.now;
  }

  // Includes padding.
  get tokens() {
    return this.tokensOf(this.mask);
  }

  get editable() {
    return this.mask.n <= this.limit;
  }

  /** A run's mask to begin with; nothing before it can be brought back.
   * @type {(mask: Mask, limit: number) => void} */
  start(mask, limit) {
    Object.assign(this, { limit, history: new History(mask) });
    this.grid.chosen = [0, 0];
    this.grid.view = new Viewport(0);
    for (const control of [...this.choices, this.symmetric]) control.disabled = !this.editable;
    this.#changed();
  }

  // Another mask, that undo takes back.
  put(/** @type {Mask} */ mask) {
    if (mask.equals(this.mask)) return;
    this.history.push(mask);
    this.#changed();
  }

  // Back by −1, forth again by 1.
  go(/** @type {number} */ steps) {
    this.history.go(steps);
    this.#changed();
  }

  /** Paint areas with a value, as one step. @type {(areas: Area[], value: number) => void} */
  paint(areas, value) {
    this.put(this.mask.with(areas, value, this.symmetric.checked));
  }

  preview(/** @type {Mask | null} */ mask) {
    this.seen = mask;
    this.draw();
  }

  tell([row, col] = this.grid.chosen) {
    const { tokens, grid } = this;
    if (!this.editable) {
      this.said.textContent = `${count(tokens.length)} tokens: masks can be painted by hand for up to ${count(this.limit)}; choose a preset or a file.`;
      return;
    }
    const may = (this.seen ?? this.mask).at(row, col);
    this.said.textContent = `Query ${numbered(row, tokens[row])} ${may ? "may" : "may not"} attend to key ${numbered(col, tokens[col])}.`;
    grid.canvas.setAttribute(
      "aria-label",
      `Mask, ${tokens.length} queries by ${tokens.length} keys. ${this.said.textContent} Arrow keys move, with Shift farther; Space paints the cell, R its row, C its column; + and − zoom.`,
    );
  }

  draw() {
    const { grid, tokens } = this;
    const { allowed, forbidden } = maskColors();
    this.legend.replaceChildren(swatches({ "may attend": allowed, forbidden }));
    grid.showBits(tokens, (this.seen ?? this.mask).cells);
  }

  #changed() {
    const { forbidden, empty } = this.mask.summary();
    const alone = empty.length
      ? ` No key left for ${empty.length === 1 ? "query" : "queries"} ${listed(empty, this.tokens)}.`
      : "";
    this.seen = null;
    this.undoing.disabled = !this.history.has(-1);
    this.redoing.disabled = !this.history.has(1);
    this.facts.textContent = `${count(forbidden)} of ${count(this.mask.n ** 2)} pairs forbidden.${alone}`;
    this.draw();
    this.tell();
    this.changed(this.mask);
  }

  #tools() {
    /** @type {(label: string, ...nodes: Node[]) => HTMLElement} */
    const group = (label, ...nodes) =>
      oneStop(el("span", { class: "viz-mask-group", role: "group", "aria-label": label }, ...nodes));
    const node = controls(
      group("Paint", ...this.choices),
      group(
        "History",
        ...[this.undoing, this.redoing],
        labelled("Clear", "Clear: every token may attend to every token", () => this.put(new Mask(this.mask.n))),
        labelled("Invert", "Invert: swap allowed and forbidden", () => this.put(this.mask.inverted())),
      ),
      el("label", { class: "viz-control viz-check" }, this.symmetric, "symmetric"),
      group("Zoom", ...zoomButtons(this.grid)),
    );
    node.classList.add("viz-mask-tools");
    return node;
  }

  #choose(/** @type {string} */ name) {
    this.tool = name;
    for (const choice of this.choices) choice.setAttribute("aria-pressed", String(choice.dataset.tool === name));
  }
}
