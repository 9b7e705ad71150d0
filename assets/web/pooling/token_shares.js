// Numbers over the tokens of an input: chips with their numbers, or the patches of its picture.

import { css, el, fit } from "../core/dom.js";
import { fixed, signedScale, tint } from "./results.js";
import { signedColors } from "../core/signed_colors.js";

const [MOST, LISTED, WIDEST, TALLEST] = [400, 6, 380, 300];

export class Shares {
  constructor(label) {
    this.told = el("p", { class: "viz-caption viz-pool-told", role: "status" });
    this.top = el("p", { class: "viz-pool-top" });
    this.scale = el("p", { class: "viz-caption viz-stat-scale" });
    this.chips = el("p", { class: "viz-words", dir: "auto" });
    this.note = el("p", { class: "viz-caption" });
    this.canvas = el("canvas", {
      class: "viz-picture",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "picture of patches",
      onpointermove: (event) => this.#point(this.#at(event)),
      onpointerleave: () => this.#point(null),
      onblur: () => this.#point(null),
      onkeydown: (event) => this.#key(event),
    });
    this.node = el(
      "div",
      { class: "viz-pool-shares", role: "group", "aria-label": label },
      this.top,
      this.chips,
      this.canvas,
      this.note,
      this.scale,
      this.told,
    );
    new ResizeObserver(() => this.shown?.grid && this.node.clientWidth !== this.width && this.#drawPicture()).observe(
      this.node,
    );
  }

  // `values` has a number for each token, null where there is none; `say` puts one in words.
  show({ tokens, values, grid, picture, unit, say, digits = 3 }) {
    this.shown = { tokens, values, grid, unit, say, digits };
    this.high = Math.max(1e-9, ...values.map((value) => Math.abs(value ?? 0)));
    this.pointed = null;
    this.told.textContent = "";
    const order = values
      .map((_, at) => at)
      .filter((at) => values[at])
      .sort((a, b) => values[b] - values[a])
      .slice(0, LISTED);
    this.top.textContent = order.length ? `Most: ${order.map((at) => say(at)).join("; ")}.` : "";
    const first = grid ? grid.prefix : Math.min(tokens.length, MOST);
    const beside = grid && first ? [el("span", { class: "viz-caption" }, "Beside the picture: ")] : [];
    this.chips.replaceChildren(...beside, ...Array.from({ length: first }, (_, at) => this.#chip(at)));
    this.note.textContent =
      !grid && tokens.length > MOST ? `The first ${MOST} of ${tokens.length.toLocaleString("en-US")} tokens.` : "";
    const end = fixed(this.high, digits);
    const negative = values.some((value) => value < 0);
    this.scale.replaceChildren(...signedScale(negative ? `−${end}` : "0", end, unit));
    this.canvas.hidden = !grid;
    if (grid) this.#picture(picture);
  }

  fail(sentence) {
    this.shown = null;
    this.canvas.hidden = true;
    this.top.textContent = sentence;
    for (const node of [this.chips, this.note, this.scale, this.told]) node.replaceChildren();
  }

  #chip(at) {
    const { tokens, values, say, digits } = this.shown;
    const number = el("span", { class: "viz-pool-number" }, fixed(values[at], digits));
    const chip = el(
      "span",
      {
        class: "viz-word viz-pool-chip",
        "data-token": at,
        title: say(at),
        onpointerenter: () => {
          this.told.textContent = say(at);
        },
      },
      el("bdi", {}, tokens[at]),
      number,
    );
    return tint(chip, values[at] == null ? null : values[at] / this.high);
  }

  async #picture(address) {
    const shown = this.shown;
    if (this.address !== address) {
      Object.assign(this, { address, image: null });
      const image = new Image();
      image.src = address;
      const loaded = await image.decode().then(
        () => image,
        () => null,
      ); // a run may have kept none
      if (this.address !== address) return;
      this.image = loaded;
    }
    if (this.shown === shown) this.#drawPicture();
  }

  #drawPicture() {
    const { grid, values } = this.shown;
    this.width = this.node.clientWidth;
    if (!this.width) return;
    this.patch = Math.max(3, Math.min(Math.min(WIDEST, this.width) / grid.cols, TALLEST / grid.rows));
    const size = [this.patch * grid.cols, this.patch * grid.rows];
    const context = fit(this.canvas, ...size);
    context.imageSmoothingEnabled = false;
    if (this.image) context.drawImage(this.image, 0, 0, ...size);
    const color = signedColors();
    for (let at = grid.prefix; at < values.length; at++) {
      context.globalAlpha = 0.15 + 0.7 * Math.sqrt(Math.abs(values[at] ?? 0) / this.high);
      context.fillStyle = `rgb(${color((values[at] ?? 0) / this.high)})`;
      context.fillRect(...this.#box(at));
    }
    context.globalAlpha = 1;
    this.canvas.setAttribute(
      "aria-label",
      `Picture of ${grid.rows} × ${grid.cols} patches, shaded. Arrow keys walk through the patches.`,
    );
    if (this.pointed === null) return;
    const [x, y, w, h] = this.#box(this.pointed);
    context.strokeStyle = css("--viz-mark", this.canvas);
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, w - 2, h - 2);
  }

  #box(at) {
    const place = at - this.shown.grid.prefix;
    return [
      (place % this.shown.grid.cols) * this.patch,
      Math.floor(place / this.shown.grid.cols) * this.patch,
      this.patch,
      this.patch,
    ];
  }

  #point(at) {
    if (!this.shown?.grid || this.pointed === at) return;
    this.pointed = at;
    this.told.textContent = at === null ? "" : this.shown.say(at);
    this.#drawPicture();
  }

  #at(event) {
    const { grid } = this.shown;
    const page = this.canvas.getBoundingClientRect();
    const [col, row] = [event.clientX - page.left, event.clientY - page.top].map((at) => Math.floor(at / this.patch));
    return col >= 0 && row >= 0 && col < grid.cols && row < grid.rows ? grid.prefix + row * grid.cols + col : null;
  }

  #key(event) {
    const { grid, values } = this.shown;
    const move = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.cols, ArrowDown: grid.cols }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const to = this.pointed === null ? grid.prefix : this.pointed + move;
    if (to >= grid.prefix && to < values.length) this.#point(to);
  }
}
