// The Hidden states tab: a layer to slide through, a token to choose, and what its states show.

import { count, el, onTheme } from "../core/dom.js";
import { current } from "../core/app_state.js";
import { ChangePanel } from "./residual_change.js";
import { LikenessPanel } from "./token_similarity.js";
import { keptTokens } from "./results.js";
import { LensPanel, NearestPanel, PlanePanel } from "./panels.js";
import { HiddenSource } from "./token_choice.js";
import { Depth, Player } from "../views/layer_player.js";

// Called by the page once; the run and the selection are those of all tabs.
export function mount(root) {
  window.vizHidden = new HiddenTab(root);
}

class HiddenTab {
  constructor(root) {
    this.root = root;
    this.depth = new Depth();
    const acts = {
      hover: (token) => current.hover(token),
      choose: (token) => current.selection.set({ query: token }),
      layer: (layer) => {
        this.player.pause();
        this.depth.set({ layer });
      },
    };
    this.source = new HiddenSource(acts);
    this.player = new Player(this.depth, () => this.loading);
    [this.likeness, this.change, this.plane, this.nearest, this.lens] = [
      LikenessPanel,
      ChangePanel,
      PlanePanel,
      NearestPanel,
      LensPanel,
    ].map((Kind) => new Kind(acts));
    this.panels = [this.likeness, this.change, this.plane, this.nearest, this.lens];
    this.empty = el("p", { class: "viz-empty" }, "Type a text or drop a picture, and press Run.");
    this.body = el(
      "div",
      { class: "viz-hidden", hidden: true },
      this.#bar(),
      this.source.node,
      el("div", { class: "viz-hidden-panels" }, ...this.panels.map(({ node }) => node)),
    );
    root.replaceChildren(this.empty, this.body);
    this.#listen();
  }

  #listen() {
    current.on((run) => {
      this.run = run;
      this.#refresh();
    });
    current.selection.on((changed) => changed.has("query") && this.#refresh());
    current.onHover((token) => this.shown && this.#mark(token));
    this.depth.on(() => this.#refresh());
    onTheme(() => this.#refresh(true));
    new ResizeObserver(() => this.#seen()).observe(this.root);
  }

  // A hidden tab asks for nothing; it is brought up to date when it is seen.
  #seen() {
    const seen = this.root.clientWidth > 0;
    if (seen && !this.visible) requestAnimationFrame(() => this.#refresh());
    if (!seen && this.visible) this.player.pause();
    this.visible = seen;
  }

  #refresh(redraw = false) {
    const { run } = this;
    this.empty.hidden = Boolean(run);
    this.body.hidden = !run;
    if (!run || !this.root.clientWidth) return;
    if (this.shown !== run) this.#enter(run);
    const { query } = current.selection;
    this.source.show(run, query);
    const { layer } = this.depth;
    this.where.textContent =
      layer === 0
        ? "Embeddings, before any block"
        : `After ${layer} of ${run.nLayers} ${run.nLayers === 1 ? "block" : "blocks"}`;
    if (redraw) {
      this.likeness.matrix.cells = this.plane.plane.base = null;
    }
    this.loading = Promise.all(
      this.panels.map((panel) =>
        panel.show({ run, layer, token: query, special: this.special.checked, hovered: current.hovered }),
      ),
    );
  }

  // A new run begins at its output.
  #enter(run) {
    this.shown = run;
    for (const panel of this.panels) panel.leave();
    this.depth.layer = run.nLayers;
    this.player.show({ nLayers: run.nLayers + 1 });
    const inner = keptTokens(run, false).length;
    this.special.disabled = inner === 0 || inner === keptTokens(run, true).length;
    if (this.special.disabled) this.special.checked = true;
    this.special.parentNode.title = !this.special.disabled
      ? "Tokens that the model adds itself, such as [CLS]"
      : inner
        ? "This run has no special tokens"
        : "This run has no other tokens";
    this.tokens.textContent = `${count(inner)} tokens and ${count(keptTokens(run, true).length - inner)} special`;
  }

  #mark(token) {
    this.source.mark(token);
    for (const panel of this.panels) panel.mark(token);
  }

  #bar() {
    this.where = el("output", { class: "viz-hidden-where" });
    this.tokens = el("span", { class: "viz-caption" });
    this.special = el("input", {
      type: "checkbox",
      id: "viz-hidden-special",
      checked: true,
      onchange: () => this.#refresh(),
    });
    return el(
      "div",
      { class: "viz-controls viz-hidden-controls" },
      this.player.node,
      this.where,
      el("label", { class: "viz-control viz-check" }, this.special, "With special tokens"),
      this.tokens,
    );
  }
}
