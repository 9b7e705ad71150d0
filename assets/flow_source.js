// The text or the picture itself, shaded by one layer's row of a depth figure.

import { css, el, fit, number } from "./dom.js";
import { inkOn, largest, makeScale, rgbText, shade, theme } from "./colors.js";

const MOST_WORDS = 600;
const MAX_PICTURE = 440;

export class FlowSource {
  constructor(choose) {
    this.choose = choose;
    this.told = el("p", { class: "viz-caption viz-flow-told", role: "status" });
    this.body = el("div", { class: "viz-source-body" });
    this.scaleNode = el("p", { class: "viz-caption viz-stat-scale" });
    this.node = el("div", { class: "viz-flow-source" }, this.body, this.scaleNode, this.told);
    new ResizeObserver(() => this.run?.grid && this.node.clientWidth !== this.width && this.#draw()).observe(this.node);
  }

  // `row` has a number for each block of `step` tokens; NaN where the query may not look.
  show(run, query, row, step, unit) {
    if (this.run !== run) this.#enter(run);
    Object.assign(this, { query, row, step, unit });
    this.told.textContent = "";
    this.#draw();
  }

  clear() {
    this.row = null;
    this.body.replaceChildren();
    this.scaleNode.replaceChildren();
  }

  async #enter(run) {
    this.run = run;
    this.image = null;
    if (!run.grid) return;
    const image = new Image();
    image.src = run.url("picture.png");
    const loaded = await image.decode().then(() => image, () => null); // a run may have kept none
    if (this.run !== run) return;
    this.image = loaded;
    if (this.row) this.#draw();
  }

  #draw() {
    if (!this.row) return;
    this.width = this.node.clientWidth;
    if (!this.width) return;
    this.scale = makeScale("head", largest(this.row));
    if (this.run.grid) this.#drawPicture();
    else this.#drawWords();
    const { ramp } = theme();
    const stops = [0, 64, 128, 192, 255].map((at) => rgbText(ramp[at])).join(", ");
    const bar = el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` });
    const blocks = this.step > 1 ? ` Each shade is the largest of ${this.step} tokens.` : "";
    this.scaleNode.replaceChildren("0 ", bar, ` ${number(this.scale.high)}, ${this.unit}.${blocks}`);
  }

  #value(at) {
    return this.row[Math.floor(at / this.step)];
  }

  #sentence(at) {
    return `${at} “${this.run.tokens[at]}”: ${number(this.#value(at))}`;
  }

  #drawWords() {
    const { run, query } = this;
    const start = Math.max(0, Math.min(query - MOST_WORDS / 2, run.n - MOST_WORDS));
    const stop = Math.min(run.n, start + MOST_WORDS);
    const words = [];
    for (let at = start; at < stop; at++) {
      if (at && run.segments[at] !== run.segments[at - 1]) words.push(el("hr", {}));
      words.push(this.#chip(at));
    }
    const note = stop - start < run.n ? [el("p", { class: "viz-caption" }, `Tokens ${start} to ${stop - 1} of ${run.n.toLocaleString("en-US")}.`)] : [];
    this.body.replaceChildren(el("p", { class: "viz-words", dir: "auto" }, ...words), ...note);
  }

  #chip(at) {
    const chip = el("button", {
      type: "button", tabindex: "-1", class: "viz-word", "data-token": at, title: this.#sentence(at),
      "aria-pressed": String(at === this.query),
      onclick: () => this.choose(at), onpointerenter: () => { this.told.textContent = this.#sentence(at); },
    }, el("bdi", {}, this.run.tokens[at]));
    const color = shade(this.#value(at), this.scale);
    chip.style.background = rgbText(color);
    chip.style.color = inkOn(color);
    return chip;
  }

  #drawPicture() {
    const { grid } = this.run;
    const prefix = el("p", { class: "viz-words viz-flow-prefix" }, el("span", { class: "viz-caption" }, grid.prefix ? "Beside the picture: " : ""));
    for (let at = 0; at < grid.prefix; at++) prefix.append(this.#chip(at), el("span", { class: "viz-caption" }, `${number(this.#value(at))} `));
    this.canvas ??= el("canvas", {
      class: "viz-picture", tabindex: "0", role: "img",
      onclick: (event) => this.#at(event, (at) => this.choose(at)),
      onpointermove: (event) => this.#at(event, (at) => { this.told.textContent = this.#sentence(at); }),
      onkeydown: (event) => this.#key(event),
    });
    if (this.canvas.parentNode !== this.body) this.body.replaceChildren(prefix, this.canvas);
    else this.body.firstChild.replaceWith(prefix);
    this.patch = Math.max(3, Math.min((Math.min(MAX_PICTURE, this.width) - 8) / grid.cols, MAX_PICTURE / grid.rows));
    const size = [this.patch * grid.cols, this.patch * grid.rows];
    const context = fit(this.canvas, ...size);
    context.imageSmoothingEnabled = false;
    if (this.image) context.drawImage(this.image, 0, 0, ...size);
    this.#overlay(context);
    this.canvas.setAttribute("aria-label", `Picture of ${grid.rows} × ${grid.cols} patches, shaded. Arrow keys choose the query patch.`);
  }

  #overlay(context) {
    const { grid } = this.run;
    const box = (at) => [((at - grid.prefix) % grid.cols) * this.patch, Math.floor((at - grid.prefix) / grid.cols) * this.patch, this.patch, this.patch];
    for (let at = grid.prefix; at < this.run.n; at++) {
      const value = this.#value(at);
      const share = Math.min(1, Math.max(0, this.scale.share(value)));
      context.globalAlpha = Number.isNaN(share) ? 0.66 : 0.85 * Math.sqrt(share);
      context.fillStyle = rgbText(shade(value, this.scale));
      context.fillRect(...box(at));
    }
    context.globalAlpha = 1;
    if (this.query < grid.prefix) return;
    const [x, y, w, h] = box(this.query);
    context.strokeStyle = css("--viz-mark", this.node);
    context.lineWidth = 3;
    context.strokeRect(x + 1.5, y + 1.5, w - 3, h - 3);
  }

  #at(event, then) {
    const { grid } = this.run;
    const box = this.canvas.getBoundingClientRect();
    const [col, row] = [Math.floor((event.clientX - box.left) / this.patch), Math.floor((event.clientY - box.top) / this.patch)];
    if (col >= 0 && row >= 0 && col < grid.cols && row < grid.rows) then(grid.prefix + row * grid.cols + col);
  }

  #key(event) {
    const { grid } = this.run;
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.cols, ArrowDown: grid.cols }[event.key];
    if (!move) return;
    event.preventDefault();
    this.choose(Math.min(this.run.n - 1, Math.max(0, this.query + move)));
  }
}
