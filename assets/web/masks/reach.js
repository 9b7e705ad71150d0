// Reach: whom a token can know of after each layer, by the mask alone; as chips and as a square.

import { button, caption, count, el, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { numbered, quoted } from "../core/token_names.js";
import { walked } from "../views/cells.js";
import { Depth, Player } from "../views/layer_player.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";
import { reach } from "./requests.js";

/** @import { Mask } from "./mask_bits.js" */
/** @import { MaskScope } from "./mask_scope.js" */

const PAUSE = 150; // ms without another mask before the server is asked
const SAYS =
  "Look for tokens that must not know about each other. Computed from the mask alone, plus the model’s own if it has one: a token knows itself and everything that the tokens it may attend to knew one block earlier. How much it actually takes from them is not measured here.";

export class Reach {
  /** @type {Run | null} */
  run = null;
  /** @type {Mask | null} */
  mask = null;
  /** @type {MaskScope | null} */
  scope = null;
  /** @type {Map<number, Mask>} */
  layers = new Map(); // tokens that can influence each token, by requested layer
  awaited = -1; // the layer that is under way
  token = 0;
  /** @type {Promise<unknown> | undefined} */
  drawn;
  depth = new Depth();
  player = new Player(this.depth, () => this.drawn);
  sentence = el("p", { class: "viz-mask-alone", role: "status" });
  fault = status();
  partly = caption("The mask applies only to some heads; the other heads of every layer see all tokens.");
  chips = el("p", { class: "viz-words viz-mask-chips", dir: "auto" });
  grid = new TokenGrid({ label: "Reach", maxSide: 420, maxCell: 28 });
  legend = el("div");
  square = el("div", {}, this.grid.node, this.legend);
  body = el("div", { class: "viz-mask-two" }, el("div", {}, this.sentence, this.chips), this.square);
  node = el(
    "details",
    { class: "viz-mask-box viz-mask-folded viz-folded", "aria-label": "Reach", ontoggle: () => this.draw() },
    el("summary", {}, "Reach after each block"),
    ...[caption(SAYS), this.partly, this.player.node, this.fault, this.body],
  );
  /** @type {Run | null} */
  named = null; // whose tokens the chips are
  #asked = new Latest((sentence) => {
    this.layers.clear();
    this.awaited = -1;
    this.body.hidden = true;
    this.fault.textContent = sentence;
  });

  // `choose` gets the token whose reach is to be shown.
  constructor(/** @type {(token: number) => unknown} */ choose) {
    this.choose = choose;
    this.depth.on(() => this.#need());
    this.grid.canvas.addEventListener("click", (event) => {
      const at = this.grid.place(event);
      if (at) this.choose(at[0]);
    });
    this.grid.canvas.addEventListener("keydown", (event) => {
      const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
      const to = vertical && walked(event.key, [this.token, 0], this.grid.view.n);
      if (!to) return;
      event.preventDefault();
      this.choose(to[0]);
    });
  }

  // Another run starts anew, after the first layer.
  enter(/** @type {Run} */ run) {
    Object.assign(this, { run, mask: null });
    this.#forget();
    this.depth.layer = 0;
    this.player.show(run);
  }

  /** @type {(mask: Mask, scope: MaskScope, token: number) => unknown} */
  show(mask, scope, token) {
    this.token = token;
    const { run } = this;
    if (!run) return;
    if (mask === this.mask && scope === this.scope) return this.#need();
    Object.assign(this, { mask, scope });
    this.#forget();
    return this.#need(PAUSE);
  }

  #forget() {
    this.#asked.stop();
    this.layers.clear();
    this.awaited = -1;
  }

  // Draw the layer, which is asked for where it is not known yet.
  #need(pause = 0) {
    const { layer } = this.depth;
    if (this.layers.has(layer)) this.draw();
    else if (this.awaited !== layer) this.drawn = this.#ask(layer, pause);
    return this.drawn;
  }

  /** @type {(layer: number, pause: number) => Promise<unknown>} */
  #ask(layer, pause) {
    const { run, mask, scope } = this;
    this.awaited = layer;
    return this.#asked.run(
      async (fresh) => {
        if (!run || !mask || !scope) return;
        const known = await fresh(reach(run, mask, scope.code, layer, fresh.signal));
        for (const other of this.layers.values()) other.rest();
        this.layers.set(layer, known);
        this.awaited = -1;
        this.partly.hidden = scope.everyHead;
        this.fault.textContent = "";
        this.body.hidden = false;
        this.draw();
      },
      { pause },
    );
  }

  leave() {
    this.player.pause();
  }

  draw() {
    const { run, token } = this;
    const { layer } = this.depth;
    const known = this.layers.get(layer);
    if (!run || !known) return;
    const { allowed, forbidden } = maskColors();
    const knows = run.tokens.map((_, at) => known.at(token, at));
    const many = knows.filter(Boolean).length;
    this.sentence.textContent = `After ${layer + 1} ${layer ? "blocks" : "block"} ${quoted(run.tokens[token])} (${token}) can know ${count(many)} of ${count(run.n)} tokens.`;
    this.sentence.dataset.layer = String(layer);
    this.#mark(run, knows);
    this.grid.chosen = [token, token];
    this.grid.showBits(run.tokens, known.cells);
    this.grid.canvas.setAttribute(
      "aria-label",
      `Reach after ${layer + 1} ${layer ? "blocks" : "block"}: rows are the tokens that know, columns the tokens they can know. ${this.sentence.textContent} Up and down choose the token.`,
    );
    this.legend.replaceChildren(swatches({ "the query can know of the key": allowed, "it cannot": forbidden }));
    this.node.dataset.painted = `${run.key}:${layer}:${token}`;
  }

  /** @type {(run: Run, knows: number[]) => void} */
  #mark(run, knows) {
    if (this.named !== run) this.chips.replaceChildren(...run.tokens.map((name, at) => this.#chip(name, at)));
    this.named = run;
    for (const [at, chip] of Array.from(this.chips.children).entries()) {
      const [one, other] = knows[at] ? ["viz-mask-known", "viz-mask-unknown"] : ["viz-mask-unknown", "viz-mask-known"];
      const pressed = String(at === this.token);
      if (!chip.classList.contains(one)) {
        chip.classList.remove(other);
        chip.classList.add(one);
        chip.setAttribute("title", `${numbered(at, run.tokens[at])}: ${knows[at] ? "can" : "cannot"} be known`);
      }
      if (chip.getAttribute("aria-pressed") !== pressed) chip.setAttribute("aria-pressed", pressed);
    }
  }

  /** @type {(name: string, at: number) => HTMLElement} */
  #chip(name, at) {
    const chip = button("", () => this.choose(at), { tabindex: "-1", class: "viz-word", "data-token": at });
    chip.append(el("bdi", {}, name));
    return chip;
  }
}
