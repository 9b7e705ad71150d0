// Reach: whom a token can know of after each layer, by the mask alone; as chips and as a square.

import { el } from "../core/dom.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";
import { reach } from "./requests.js";
import { Depth, Player } from "../views/layer_player.js";

const PAUSE = 150; // ms without another mask before the server is asked

export class Reach {
  // `choose` gets the token whose reach is to be shown.
  constructor(choose) {
    this.choose = choose;
    this.depth = new Depth();
    this.player = new Player(this.depth, () => Promise.resolve());
    this.sentence = el("p", { class: "viz-mask-sentence", role: "status" });
    this.fault = el("p", { class: "viz-caption", role: "status" });
    this.chips = el("p", { class: "viz-words viz-mask-chips", dir: "auto" });
    this.grid = new TokenGrid({ label: "Reach", maxSide: 420, maxCell: 28 });
    this.legend = el("div", {});
    this.body = el(
      "div",
      { class: "viz-mask-two" },
      el("div", {}, this.sentence, this.chips),
      el("div", {}, this.grid.node, this.legend),
    );
    this.node = el(
      "section",
      { class: "viz-mask-box", "aria-label": "Reach" },
      el("h3", {}, "Reach: what a token can know after each layer"),
      el(
        "p",
        { class: "viz-caption" },
        "Computed from the mask alone (and the model’s own, where it has one): a token knows itself, and whatever those it may attend to knew one layer before. What it really takes from them is not measured here.",
      ),
      this.player.node,
      this.fault,
      this.body,
    );
    this.depth.on(() => this.draw());
    this.grid.canvas.addEventListener("click", (event) => {
      const at = this.layers && this.grid.place(event);
      if (at) this.choose(at[0]);
    });
    this.grid.canvas.addEventListener("keydown", (event) => {
      const move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!move || !this.layers) return;
      event.preventDefault();
      this.choose(Math.min(this.run.n - 1, Math.max(0, this.token + move)));
    });
  }

  // Another run starts anew, after the first layer.
  enter(run) {
    this.run = run;
    this.layers = null;
    this.depth.layer = 0;
    this.player.show(run);
  }

  show(mask, token) {
    this.token = token;
    if (mask === this.mask && this.layers) return this.draw();
    this.mask = mask;
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#ask(), PAUSE);
  }

  leave() {
    this.player.pause();
  }

  async #ask() {
    const { run, mask } = this;
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    try {
      const layers = await reach(run, mask.pack(), stop.signal);
      if (this.stop !== stop) return;
      Object.assign(this, { layers, of: mask });
      this.fault.textContent = "";
      this.body.hidden = false;
      this.draw();
    } catch (fault) {
      if (this.stop !== stop || stop.signal.aborted) return;
      this.layers = null;
      this.body.hidden = true;
      this.fault.textContent = fault.message;
    }
  }

  draw() {
    const { run, layers, token } = this;
    if (!layers || layers[0].n !== run.n) return;
    const { layer } = this.depth;
    const known = layers[layer];
    const { allowed, forbidden } = maskColors();
    const knows = run.tokens.map((_, at) => known.at(token, at));
    const many = knows.reduce((sum, each) => sum + each, 0);
    this.sentence.textContent = `After ${layer + 1} ${layer ? "layers" : "layer"} “${run.tokens[token]}” (${token}) can know ${many} of ${run.n} tokens.`;
    this.sentence.dataset.layer = layer;
    this.chips.replaceChildren(...run.tokens.map((name, at) => this.#chip(name, at, knows[at])));
    this.grid.chosen = [token, token];
    this.grid.show(run.tokens, (at) => (known.cells[at] ? allowed : forbidden));
    this.grid.canvas.setAttribute(
      "aria-label",
      `Reach after ${layer + 1} layers, rows are the tokens that know, columns those that are known. ${this.sentence.textContent} Up and down choose the token.`,
    );
    this.legend.replaceChildren(
      swatches([
        [allowed, "the query can know of the key"],
        [forbidden, "it cannot"],
      ]),
    );
    this.node.dataset.painted = `${run.key}:${layer}:${token}`;
  }

  #chip(name, at, knows) {
    return el(
      "button",
      {
        type: "button",
        tabindex: "-1",
        class: `viz-word ${knows ? "viz-mask-known" : "viz-mask-unknown"}`,
        "data-token": at,
        "aria-pressed": String(at === this.token),
        title: `${at} “${name}”: ${knows ? "can be known" : "cannot be known"}`,
        onclick: () => this.choose(at),
      },
      el("bdi", {}, name),
    );
  }
}
