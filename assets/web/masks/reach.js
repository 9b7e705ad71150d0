// Reach: whom a token can know of after each layer, by the mask alone; as chips and as a square.

import { button, caption, el, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { numbered, quoted } from "../core/token_names.js";
import { walked } from "../views/cells.js";
import { section } from "../views/headed.js";
import { Depth, Player } from "../views/layer_player.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";
import { reach } from "./requests.js";

/** @import { Fresh } from "../core/latest.js" */
/** @import { Run } from "../core/run.js" */
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
  /** @type {Mask[]} */
  layers = []; // whom each token can know of after each, once that is known
  token = 0;
  depth = new Depth();
  player = new Player(this.depth, () => undefined);
  sentence = el("p", { class: "viz-mask-sentence", role: "status" });
  fault = status();
  partly = caption("The mask applies only to some heads; the other heads of every layer see all tokens.");
  chips = el("p", { class: "viz-words viz-mask-chips", dir: "auto" });
  grid = new TokenGrid({ label: "Reach", maxSide: 420, maxCell: 28 });
  legend = el("div");
  square = el("div", {}, this.grid.node, this.legend);
  body = el("div", { class: "viz-mask-two" }, el("div", {}, this.sentence, this.chips), this.square);
  node = section(
    ...["viz-mask-box", "Reach", "Reach: what a token can know after each block"],
    ...[caption(SAYS), this.partly, this.player.node, this.fault, this.body],
  );
  #asked = new Latest((sentence) => {
    this.layers = [];
    this.body.hidden = true;
    this.fault.textContent = sentence;
  });

  // `choose` gets the token whose reach is to be shown.
  constructor(/** @type {(token: number) => unknown} */ choose) {
    this.choose = choose;
    this.depth.on(() => this.draw());
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
    Object.assign(this, { run, layers: [] });
    this.depth.layer = 0;
    this.player.show(run);
  }

  /** @type {(mask: Mask, scope: MaskScope, token: number) => unknown} */
  show(mask, scope, token) {
    this.token = token;
    const { run } = this;
    if (!run) return;
    if (mask === this.mask && scope === this.scope && this.layers.length) return this.draw();
    Object.assign(this, { mask, scope });
    return this.#asked.run((fresh) => this.#ask(run, mask, scope, fresh), { pause: PAUSE });
  }

  /** @type {(run: Run, mask: Mask, scope: MaskScope, fresh: Fresh) => Promise<void>} */
  async #ask(run, mask, scope, fresh) {
    this.layers = await fresh(reach(run, mask, scope.code, fresh.signal));
    this.partly.hidden = scope.everyHead;
    this.fault.textContent = "";
    this.body.hidden = false;
    this.draw();
  }

  leave() {
    this.player.pause();
  }

  draw() {
    const { run, layers, token } = this;
    const { layer } = this.depth;
    if (!run || !layers.length) return;
    const known = layers[layer];
    const { allowed, forbidden } = maskColors();
    const knows = run.tokens.map((_, at) => known.at(token, at));
    const many = knows.filter(Boolean).length;
    this.sentence.textContent = `After ${layer + 1} ${layer ? "blocks" : "block"} ${quoted(run.tokens[token])} (${token}) can know ${many} of ${run.n} tokens.`;
    this.sentence.dataset.layer = String(layer);
    this.chips.replaceChildren(...run.tokens.map((name, at) => this.#chip(name, at, knows[at])));
    this.grid.chosen = [token, token];
    this.grid.show(run.tokens, (at) => (known.cells[at] ? allowed : forbidden));
    this.grid.canvas.setAttribute(
      "aria-label",
      `Reach after ${layer + 1} ${layer ? "blocks" : "block"}: rows are the tokens that know, columns the tokens they can know. ${this.sentence.textContent} Up and down choose the token.`,
    );
    this.legend.replaceChildren(swatches({ "the query can know of the key": allowed, "it cannot": forbidden }));
    this.node.dataset.painted = `${run.key}:${layer}:${token}`;
  }

  /** @type {(name: string, at: number, knows: number) => HTMLElement} */
  #chip(name, at, knows) {
    const chip = button("", () => this.choose(at), {
      tabindex: "-1",
      class: `viz-word ${knows ? "viz-mask-known" : "viz-mask-unknown"}`,
      "data-token": at,
      "aria-pressed": String(at === this.token),
      title: `${numbered(at, name)}: ${knows ? "can be known" : "cannot be known"}`,
    });
    chip.append(el("bdi", {}, name));
    return chip;
  }
}
