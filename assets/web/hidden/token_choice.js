// The tokens or the patches at the top of the tab: one is chosen, and one is pointed at.

import { css, el, fit } from "../core/dom.js";
import { named } from "./results.js";
import { Words } from "../views/token_strip.js";

const [WIDEST, TALLEST] = [440, 260];

export class HiddenSource {
  constructor({ hover, choose }) {
    Object.assign(this, { hover, choose });
    const acts = {
      preview: (unit) => hover(unit === null ? null : this.units[unit].tokens[0]),
      choose: (unit) => choose(this.units[unit].tokens[0]),
    };
    this.words = new Words({
      label: "The tokens. Arrow keys move, Enter chooses.",
      ...acts,
      beyond: () => this.run.grid && this.canvas.focus(),
    });
    this.canvas = el("canvas", {
      class: "viz-picture",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "picture of patches",
      onpointermove: (event) => hover(this.#at(event)),
      onpointerleave: () => hover(null),
      onclick: (event) => {
        const at = this.#at(event);
        if (at !== null) choose(at);
      },
      onkeydown: (event) => this.#key(event),
    });
    this.node = el("div", { class: "viz-hidden-source" });
    new ResizeObserver(() => this.run?.grid && this.node.clientWidth !== this.width && this.#draw()).observe(this.node);
  }

  show(run, token) {
    if (this.run !== run) this.#enter(run);
    this.token = token;
    this.words.show(this.units, run.segments, token);
    this.words.mark(token < this.units.length ? token : -1);
    if (run.grid) this.#draw();
  }

  mark(hovered) {
    this.hovered = hovered;
    this.words.point(hovered !== null && hovered < this.units.length ? hovered : null);
    if (this.run.grid) this.#draw();
  }

  // The middle of a patch on the screen, for tests and tools.
  box(token) {
    const page = this.canvas.getBoundingClientRect();
    const [x, y] = this.#place(token);
    return [page.left + x + this.patch / 2, page.top + y + this.patch / 2];
  }

  async #enter(run) {
    Object.assign(this, { run, image: null, hovered: null });
    const shown = run.tokens.slice(0, run.grid ? run.grid.prefix : run.n);
    this.units = shown.map((name, token) => ({ name, tokens: [token] }));
    const prefix = run.grid?.prefix ? [el("span", { class: "viz-caption" }, "Beside the picture: ")] : [];
    this.node.replaceChildren(...prefix, this.words.text, this.words.parts, ...(run.grid ? [this.canvas] : []));
    if (!run.grid) return;
    const image = new Image();
    image.src = run.url("picture.png");
    const loaded = await image.decode().then(
      () => image,
      () => null,
    ); // a run may have kept none
    if (this.run !== run) return;
    this.image = loaded;
    this.#draw();
  }

  #draw() {
    const { rows, cols } = this.run.grid;
    this.width = this.node.clientWidth;
    if (!this.width) return;
    this.patch = Math.max(3, Math.min((Math.min(WIDEST, this.width) - 8) / cols, TALLEST / rows));
    const size = [this.patch * cols, this.patch * rows];
    const context = fit(this.canvas, ...size);
    context.imageSmoothingEnabled = false;
    if (this.image) context.drawImage(this.image, 0, 0, ...size);
    this.#outline(context, this.token, css("--viz-mark", this.canvas), 3);
    this.#outline(context, this.hovered, css("--body-text-color"), 2);
    this.canvas.setAttribute(
      "aria-label",
      `Picture of ${rows} × ${cols} patches. Chosen: ${named(this.run, this.token)}. Arrow keys choose a patch.`,
    );
  }

  #outline(context, token, color, width) {
    if (token === null || token === undefined || token < this.run.grid.prefix) return;
    const [x, y] = this.#place(token);
    context.strokeStyle = color;
    context.lineWidth = width;
    context.strokeRect(x + width / 2, y + width / 2, this.patch - width, this.patch - width);
  }

  #place(token) {
    const at = token - this.run.grid.prefix;
    return [(at % this.run.grid.cols) * this.patch, Math.floor(at / this.run.grid.cols) * this.patch];
  }

  #at(event) {
    const { rows, cols, prefix } = this.run.grid;
    const page = this.canvas.getBoundingClientRect();
    const [col, row] = [event.clientX - page.left, event.clientY - page.top].map((at) => Math.floor(at / this.patch));
    return col >= 0 && row >= 0 && col < cols && row < rows ? prefix + row * cols + col : null;
  }

  #key(event) {
    const { cols, prefix } = this.run.grid;
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -cols, ArrowDown: cols }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = this.token + move;
    if (to >= prefix && to < this.run.n) this.choose(to);
    else if (to < prefix && prefix) this.words.focus(prefix - 1);
  }
}
