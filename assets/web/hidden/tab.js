// The Hidden states tab: a layer to slide through, a token to choose, and what its states show.

import { current } from "../core/app_state.js";
import { count, el } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { ADDED_TOKENS } from "../core/run.js";
import { blocksPassed } from "../core/states.js";
import { TabShell } from "../core/tab_shell.js";
import { Depth, Player } from "../views/layer_player.js";
import { LogitLensPanel } from "./logit_lens.js";
import { NearestPanel } from "./nearest_tokens.js";
import { PcaPanel } from "./pca.js";
import { ResidualChangePanel } from "./residual_change.js";
import { TokenChoice } from "../views/token_choice.js";
import { TokenSimilarityPanel } from "./token_similarity.js";

/** @import { Acts } from "./panel.js" */

const LAYER = "hidden.layer"; // in the link

// Called by the page once; the run and the selection are those of all tabs.
export function mount(/** @type {HTMLElement} */ root) {
  window.vizHidden = new HiddenTab(root);
}

class HiddenTab extends TabShell {
  depth = new Depth();
  player = new Player(this.depth, () => this.loading);
  /** @type {Promise<unknown> | undefined} */
  loading;
  /** @type {Run | null} */
  shown = null;
  /** @type {Acts} */
  acts = {
    hover: (token) => current.hover(token),
    choose: (token) => current.selection.set({ query: token }),
    layer: (layer) => {
      this.player.pause();
      this.depth.set({ layer });
    },
  };
  source = new TokenChoice(this.acts);
  similarity = new TokenSimilarityPanel(this.acts);
  pca = new PcaPanel(this.acts);
  nearest = new NearestPanel(this.acts);
  others = [new ResidualChangePanel(this.acts), this.pca, new LogitLensPanel(this.acts)];
  more = el(
    "details",
    { class: "viz-folded viz-hidden-more", ontoggle: () => this.refresh() },
    el("summary", {}, "More: norms and updates, PCA, logit lens"),
    el("div", { class: "viz-hidden-panels" }, ...this.others.map(({ node }) => node)),
  );
  where = el("output", { class: "viz-hidden-where" });
  tokens = el("span", { class: "viz-caption" });
  special = el("input", { type: "checkbox", id: "viz-hidden-special", checked: true, onchange: () => this.refresh() });
  switch = el(
    "label",
    { class: "viz-control viz-check" },
    inLink("hidden.special", this.special),
    "With special tokens",
  );

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-hidden");
    this.similarity.beside.append(this.nearest.node);
    const bar = [this.player.node, this.where, this.switch, this.tokens];
    this.body.append(
      el("div", { class: "viz-controls viz-hidden-controls" }, ...bar),
      ...[this.similarity.lead, this.source.node, this.similarity.node, this.more],
    );
    current.selection.on((changed) => changed.has("query") && this.refresh());
    current.onHover((token) => {
      if (this.shown) for (const part of [this.source, ...this.panels]) part.mark(token);
    });
    this.depth.on(() => {
      const { layer } = this.depth;
      current.selection.note({ [LAYER]: layer === this.shown?.nLayers ? "" : String(layer) });
      this.refresh();
    });
    this.open();
  }

  get #all() {
    return [this.similarity, this.nearest, ...this.others];
  }

  // Those in sight: what is folded away is asked for once it is opened.
  get panels() {
    return [this.similarity, this.nearest, ...(this.more.open ? this.others : [])];
  }

  /** @override @param {Run} run */
  show(run) {
    if (this.shown !== run) this.#enter(run);
    const { query: token } = current.selection;
    const { layer } = this.depth;
    const where = blocksPassed(layer, run.nLayers);
    this.where.textContent = where[0].toUpperCase() + where.slice(1);
    this.source.show(run, token);
    const state = { run, layer, token, hide: !this.special.checked };
    this.loading = Promise.all(this.panels.map((panel) => panel.show(state)));
  }

  /** @override */
  leave() {
    this.player.pause();
  }

  /** @override */
  redraw() {
    for (const panel of this.#all) panel.redraw();
    this.refresh();
  }

  // A new run begins at its output, that of a link at the layer it names.
  #enter(/** @type {Run} */ run) {
    this.shown = run;
    for (const panel of this.#all) panel.leave();
    const linked = run.key === current.selection.opened ? current.selection.noted(LAYER) : "";
    this.depth.layer = linked ? Math.min(run.nLayers, Number(linked) || 0) : run.nLayers;
    this.player.show({ nLayers: run.nLayers + 1 });
    const [all, inner] = [run.real().length, run.real(true).length];
    this.special.disabled = inner === 0 || inner === all;
    if (this.special.disabled) this.special.checked = true;
    this.switch.title = !this.special.disabled
      ? `The ${ADDED_TOKENS}`
      : `This run has no ${inner ? "special" : "other"} tokens`;
    this.tokens.textContent = `${count(all)} tokens, ${count(all - inner)} of them special`;
  }
}
