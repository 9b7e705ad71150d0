// The text or the picture itself, shaded by one layer's row of a depth figure.

import { css, el, fit, number } from "../core/dom.js";
import { inkOn, largest, makeScale, rgbText, shade } from "../core/colors.js";
import { moved, overlay } from "./picture_overlay.js";
import { TOLD } from "../attention/row_view.js";
import { descending, gradient, tintGradient } from "./shading.js";
import { Words } from "./token_strip.js";

const OPACITY = 0.8; // of the tint on a picture, where it is largest
const MAX_PICTURE = 440;

export class FlowSource {
  // `role` says what the chosen token is: the query whose row is shown, or only chosen.
  constructor(choose, role = "query") {
    Object.assign(this, { choose, role });
    this.told = el("p", { class: "viz-caption viz-flow-told", role: "status" });
    this.body = el("div", { class: "viz-source-body" });
    this.scaleNode = el("p", { class: "viz-caption viz-stat-scale" });
    this.words = new Words({
      label: "The tokens. Arrow keys move, Enter chooses.",
      choose: (unit) => choose(unit),
      preview: (unit) => {
        if (unit !== null && this.row) this.told.textContent = this.#sentence(unit);
      },
    });
    this.node = el("div", { class: "viz-flow-source" }, this.words.parts, this.body, this.scaleNode, this.told);
    new ResizeObserver(() => {
      if (this.node.clientWidth !== this.width) this.#draw();
    }).observe(this.node);
  }

  // `row` has a number for each block of `step` tokens; NaN where the query may not look. `own` says
  // that the query begins with a part of its own, beside which the others are small.
  show(run, query, row, step, unit, own = false) {
    if (this.run !== run) this.#enter(run);
    Object.assign(this, { query, row, step, unit, own, going: query });
    this.#draw();
    this.told.textContent = this.#summary();
  }

  async #enter(run) {
    this.run = run;
    this.image = null;
    this.body.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.words.parts.hidden = true;
    if (!run.grid) return this.body.replaceChildren(this.words.text);
    const image = new Image();
    image.src = run.url("picture.png");
    const loaded = await image.decode().then(
      () => image,
      () => null,
    ); // a run may have kept none
    if (this.run !== run) return;
    this.image = loaded;
    if (this.row) this.#draw();
  }

  #draw() {
    if (!this.row) return;
    this.width = this.node.clientWidth;
    if (!this.width) return;
    const { grid } = this.run;
    this.scale = makeScale("head", largest(this.row));
    if (grid) this.#drawPicture();
    else this.#drawWords();
    const background = grid
      ? `${tintGradient("right", this.tints, OPACITY)}, linear-gradient(to bottom, #222222 50%, #dddddd 50%)`
      : gradient("right", this.scale);
    const bar = el("i", { class: "viz-stat-bar", style: `background: ${background}` });
    const blocks = this.step > 1 ? ` Each shade is the largest of ${this.step} tokens.` : "";
    this.scaleNode.replaceChildren(
      "0 ",
      bar,
      ` ${number(grid ? this.tints.high : this.scale.high)}${grid ? ` (the largest on ${this.own ? "another patch than the query" : "a patch"}; the tint on dark and on light)` : ""}, ${this.unit}.${blocks}`,
    );
  }

  #value(at) {
    return this.row[Math.floor(at / this.step)];
  }

  #sentence(at) {
    return `${at} “${this.run.tokens[at]}”: ${number(this.#value(at))}`;
  }

  // Where the row is largest.
  #summary() {
    const { run, row, step, query, own } = this;
    const most = descending(row, own ? Math.floor(query / step) : -1).slice(0, TOLD);
    const named = (at) =>
      step > 1 ? `tokens ${at * step}–${Math.min(run.n, (at + 1) * step) - 1}` : `${at} “${run.tokens[at]}”`;
    const whose =
      this.role === "query" && query >= 0
        ? `Query ${query} “${run.tokens[query]}”: ${own ? "beside itself, " : ""}largest`
        : "Largest";
    return `${whose} for ${most.map((at) => `${named(at)} ${number(row[at])}`).join(", ") || "nothing else"}.`;
  }

  #drawWords() {
    const { run, words } = this;
    words.show(run.shown({ hide: false, words: false }), run.segments, this.query);
    words.mark(this.query);
    words.paint(
      Float32Array.from({ length: run.n }, (_, at) => this.#value(at)),
      this.scale,
      (at) => this.#sentence(at),
    );
  }

  #chip(at) {
    const chip = el(
      "button",
      {
        type: "button",
        tabindex: "-1",
        class: "viz-word",
        "data-token": at,
        title: this.#sentence(at),
        "aria-pressed": String(at === this.query),
        onclick: () => this.choose(at),
        onpointerenter: () => {
          this.told.textContent = this.#sentence(at);
        },
      },
      el("bdi", {}, this.run.tokens[at]),
    );
    const color = shade(this.#value(at), this.scale);
    chip.style.background = rgbText(color);
    chip.style.color = inkOn(color);
    return chip;
  }

  #drawPicture() {
    const { grid } = this.run;
    const prefix = el(
      "p",
      { class: "viz-words viz-flow-prefix" },
      el("span", { class: "viz-caption" }, grid.prefix ? "Beside the picture: " : ""),
    );
    for (let at = 0; at < grid.prefix; at++)
      prefix.append(this.#chip(at), el("span", { class: "viz-caption" }, `${number(this.#value(at))} `));
    this.canvas ??= el("canvas", {
      class: "viz-picture",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "picture of patches",
      onclick: (event) => this.#at(event, (at) => this.choose(at)),
      onpointermove: (event) =>
        this.#at(event, (at) => {
          this.told.textContent = this.#sentence(at);
        }),
      onkeydown: (event) => this.#key(event),
    });
    if (this.canvas.parentNode !== this.body) this.body.replaceChildren(prefix, this.canvas);
    else this.body.firstChild.replaceWith(prefix);
    this.patch = Math.max(3, Math.min((Math.min(MAX_PICTURE, this.width) - 8) / grid.cols, MAX_PICTURE / grid.rows));
    const size = [this.patch * grid.cols, this.patch * grid.rows];
    const context = fit(this.canvas, ...size);
    context.imageSmoothingEnabled = false;
    if (this.image) context.drawImage(this.image, 0, 0, ...size);
    const patches = Float32Array.from({ length: this.run.n - grid.prefix }, (_, at) => this.#value(grid.prefix + at));
    const others = this.own ? patches.filter((_, at) => at !== this.query - grid.prefix) : patches;
    this.tints = makeScale("head", largest(others) || largest(patches));
    context.drawImage(overlay(patches, grid, this.tints, OPACITY), 0, 0, ...size);
    this.#outline(context);
    const chosen =
      this.query < 0 ? "where the head reads" : `${this.role} ${this.query} “${this.run.tokens[this.query]}”`;
    this.canvas.setAttribute(
      "aria-label",
      `Picture of ${grid.rows} rows × ${grid.cols} columns of patches, shaded. Chosen: ${chosen}. Arrow keys choose a patch${grid.prefix ? "; up from the first row are the prefix tokens" : ""}.`,
    );
  }

  // Black around the color, so that it is seen on dark and on light pictures.
  #outline(context) {
    const { grid } = this.run;
    if (this.query < grid.prefix) return;
    const at = this.query - grid.prefix;
    const [x, y, side] = [(at % grid.cols) * this.patch, Math.floor(at / grid.cols) * this.patch, this.patch];
    for (const [color, width, from] of [
      ["#000000", 1, 0.5],
      [css("--viz-mark", this.node), 3, 2.5],
    ]) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.strokeRect(x + from, y + from, side - 2 * from, side - 2 * from);
    }
  }

  #at(event, then) {
    const { grid } = this.run;
    const box = this.canvas.getBoundingClientRect();
    const [col, row] = [
      Math.floor((event.clientX - box.left) / this.patch),
      Math.floor((event.clientY - box.top) / this.patch),
    ];
    if (col >= 0 && row >= 0 && col < grid.cols && row < grid.rows) then(grid.prefix + row * grid.cols + col);
  }

  // From what was chosen last, though its row may not have come. Left and right go through the
  // prefix tokens too, once one of them is the query.
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {
      going,
      run: {
        grid: { prefix },
        grid,
      },
    } = this;
    const beside = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const to = moved(event.key, going - prefix, grid);
    if (to === null) return;
    event.preventDefault();
    if (to < 0 && !prefix) return;
    if (beside && going >= 0 && going < prefix) this.going = Math.max(0, going + beside);
    else this.going = Math.max(0, prefix + to);
    this.choose(this.going);
  }
}
