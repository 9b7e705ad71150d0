// All layers' tokens in one plane: this layer's points strong, one token's path through all of them.

import { css, el, fit } from "../core/dom.js";
import { digits, keptTokens, named, passed } from "./results.js";

const [TALLEST, LEFT, RIGHT, TOP, BOTTOM] = [440, 58, 12, 10, 40];
const REACH = 12; // pixels within which a point is meant
const TICKS = 4;

export class Plane {
  constructor({ hover, choose, tell }) {
    Object.assign(this, { hover, tell, hovered: null });
    this.canvas = el("canvas", {
      class: "viz-hidden-plane",
      role: "img",
      onpointermove: (event) => this.#point(this.#near(event)),
      onpointerleave: () => this.#point(null),
      onclick: (event) => {
        const near = this.#near(event);
        if (near) choose(this.kept[near.place]);
      },
    });
    this.node = el("div", {}, this.canvas);
    new ResizeObserver(
      () => this.points && this.node.clientWidth !== this.width && requestAnimationFrame(() => this.draw()),
    ).observe(this.node);
  }

  // `values` are states × tokens × 2.
  show({ run, special, values, shape, about, layer, token, hovered }) {
    const fresh = this.points !== values;
    Object.assign(this, {
      run,
      points: values,
      states: shape[0],
      count: shape[1],
      shares: about.shares,
      layer,
      token,
      hovered,
      kept: keptTokens(run, special),
    });
    this.canvas.setAttribute(
      "aria-label",
      `The tokens' hidden states of all layers in one plane. ${this.axis(0)}; ${this.axis(1)}. Its numbers are in the CSV below.`,
    );
    if (fresh || !this.base) this.draw();
    else this.#marks();
  }

  mark(hovered) {
    this.hovered = hovered;
    if (this.base) this.#marks();
  }

  axis(number) {
    return `Component ${number + 1}: ${(100 * this.shares[number]).toFixed(1)} % of the variance`;
  }

  // Where a token lies after some blocks on the screen, for tests and tools.
  box(token, layer) {
    const page = this.canvas.getBoundingClientRect();
    const [x, y] = this.#place(layer * this.count + this.kept.indexOf(token));
    return [page.left + x, page.top + y];
  }

  draw() {
    this.width = this.node.clientWidth;
    if (!this.width || !this.points) return;
    this.height = Math.min(TALLEST, Math.max(260, Math.round(this.width * 0.75)));
    this.#fitScale();
    this.context = fit(this.canvas, this.width, this.height);
    this.base = document.createElement("canvas");
    const context = fit(this.base, this.width, this.height);
    this.#frame(context);
    context.fillStyle = css("--body-text-color-subdued");
    context.globalAlpha = this.states * this.count > 4000 ? 0.12 : 0.3;
    for (let at = 0; at < this.states * this.count; at++) dot(context, this.#place(at), 2);
    this.#marks();
  }

  // One unit is as long along both axes, so that distances may be compared.
  #fitScale() {
    const ends = [0, 1].map((axis) => {
      let [low, high] = [Infinity, -Infinity];
      for (let at = axis; at < this.points.length; at += 2)
        [low, high] = [Math.min(low, this.points[at]), Math.max(high, this.points[at])];
      return [low, high];
    });
    const room = [this.width - LEFT - RIGHT, this.height - TOP - BOTTOM];
    const each = Math.max(...ends.map(([low, high], axis) => (high - low) / (0.94 * room[axis])), 1e-12);
    this.each = each;
    this.low = ends.map(([low, high], axis) => (low + high) / 2 - (each * room[axis]) / 2);
    this.high = this.low.map((low, axis) => low + each * room[axis]);
  }

  #place(at) {
    return [
      LEFT + (this.points[2 * at] - this.low[0]) / this.each,
      this.height - BOTTOM - (this.points[2 * at + 1] - this.low[1]) / this.each,
    ];
  }

  #frame(context) {
    const [right, bottom] = [this.width - RIGHT, this.height - BOTTOM];
    context.strokeStyle = css("--border-color-primary");
    context.fillStyle = css("--body-text-color-subdued");
    context.font = "11px system-ui, sans-serif";
    context.strokeRect(LEFT, TOP, right - LEFT, bottom - TOP);
    context.textAlign = "center";
    for (const value of ticks(this.low[0], this.high[0]))
      context.fillText(digits(value), LEFT + (value - this.low[0]) / this.each, bottom + 14);
    context.textAlign = "right";
    for (const value of ticks(this.low[1], this.high[1]))
      context.fillText(digits(value), LEFT - 5, bottom - (value - this.low[1]) / this.each + 4);
    context.textAlign = "center";
    context.font = "12px system-ui, sans-serif";
    context.fillText(this.axis(0), (LEFT + right) / 2, this.height - 6);
    context.save();
    context.translate(12, (TOP + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(this.axis(1), 0, 0);
    context.restore();
  }

  #marks() {
    const { context, kept, layer, count } = this;
    context.clearRect(0, 0, this.width, this.height);
    context.drawImage(this.base, 0, 0, this.width, this.height);
    context.fillStyle = css("--color-accent");
    context.globalAlpha = 0.85;
    for (let place = 0; place < count; place++) dot(context, this.#place(layer * count + place), count > 600 ? 2 : 4);
    context.globalAlpha = 1;
    if (this.hovered !== null && this.hovered !== this.token)
      this.#path(kept.indexOf(this.hovered), css("--body-text-color"), true);
    this.#path(kept.indexOf(this.token), css("--viz-mark", this.canvas), false);
  }

  // A token's way from the embeddings on, and a ring where it is now.
  #path(place, color, dashed) {
    if (place < 0) return;
    const { context } = this;
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = dashed ? 1 : 2;
    context.setLineDash(dashed ? [4, 3] : []);
    context.beginPath();
    for (let layer = 0; layer < this.states; layer++) context.lineTo(...this.#place(layer * this.count + place));
    context.stroke();
    context.setLineDash([]);
    if (!dashed)
      for (let layer = 0; layer < this.states; layer++) dot(context, this.#place(layer * this.count + place), 3);
    context.lineWidth = 2;
    context.beginPath();
    context.arc(...this.#place(this.layer * this.count + place), 7, 0, 2 * Math.PI);
    context.stroke();
  }

  #point(near) {
    this.hover(near ? this.kept[near.place] : null);
    if (!near) return this.tell("");
    const at = near.layer * this.count + near.place;
    this.tell(
      `${named(this.run, this.kept[near.place])} ${passed(near.layer)}: (${digits(this.points[2 * at])}, ${digits(this.points[2 * at + 1])})`,
    );
  }

  // The point that is meant: one of this layer's before any other in reach.
  #near(event) {
    if (!this.base) return null;
    const page = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - page.left, event.clientY - page.top];
    let best = null;
    for (let at = 0; at < this.states * this.count; at++) {
      const [px, py] = this.#place(at);
      const far = Math.hypot(px - x, py - y);
      if (far > REACH) continue;
      const layer = Math.floor(at / this.count);
      const rank = far + (layer === this.layer ? 0 : REACH);
      if (!best || rank < best.rank) best = { rank, layer, place: at % this.count };
    }
    return best;
  }
}

function dot(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

// Round numbers between two ends.
function ticks(low, high) {
  const rough = (high - low) / TICKS;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * unit >= rough) * unit;
  const first = Math.ceil(low / step);
  return Array.from({ length: 2 * TICKS + 1 }, (_, at) => (first + at) * step).filter((value) => value <= high);
}
