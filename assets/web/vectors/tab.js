// The Vectors tab: a layer to slide through, a token to choose, what its states show, and what pooling makes of them.

import { current } from "../core/app_state.js";
import { count, el, onWidth } from "../core/dom.js";
import { inLink, linkedOf } from "../core/link_notes.js";
import { ADDED_TOKENS } from "../core/run.js";
import { blocksPassed } from "../core/states.js";
import { TabShell } from "../core/tab_shell.js";
import { known } from "../core/view.js";
import { Depth, Player } from "../views/layer_player.js";
import { PartSwitch } from "../views/part_switch.js";
import { learned } from "./learn.js";
import { Poolings } from "./poolings.js";
import { StateFigures } from "./state_figures.js";
import { TokenSimilarity } from "./token_similarity.js";

/** @import { Acts } from "./token_similarity.js" */

const [LAYER, EARLIER] = ["hidden.layer", "pool.layer"]; // in the link, and in those of before
const PARTS = {
  tab: "vectors",
  note: "pool.part",
  titles: { one: "One text", two: "Two texts", padding: "Padding", set: "A dataset" },
  signs: { set: "pool.set", two: "pool.text", padding: "pool.padding" },
};

// Called by the page once; the run and the selection are those of all tabs.
export function mount(/** @type {HTMLElement} */ root) {
  known("vizHidden", new VectorsTab(root));
}

class VectorsTab extends TabShell {
  depth = new Depth();
  player = new Player(this.depth, () => this.loading, this.signal);
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
  parts = new PartSwitch(PARTS, () => this.refresh(), this.signal);
  poolings = new Poolings(this.acts);
  similarity = new TokenSimilarity(this.acts, this.poolings.node);
  figures = new StateFigures();
  views = [this.poolings, this.poolings.texts, this.poolings.padding, this.similarity, this.figures];
  folded = el("summary");
  more = el(
    "details",
    { class: "viz-folded viz-hidden-more viz-of-one", ontoggle: () => this.refresh() },
    this.folded,
    this.figures.node,
  );
  where = el("output", { class: "viz-hidden-where" });
  tokens = el("span", { class: "viz-caption" });
  special = el("input", { type: "checkbox", id: "viz-hidden-special", checked: true, onchange: () => this.refresh() });
  switch = el(
    "label",
    { class: "viz-control viz-check" },
    inLink("hidden.special", this.special, this.signal),
    "With special tokens",
  );

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-hidden viz-pool");
    const { similarity, poolings } = this;
    const ofOne = [this.switch, this.tokens];
    for (const each of ofOne) each.classList.add("viz-of-one");
    const depth = el("span", { class: "viz-controls viz-of-states" }, this.player.node, this.where);
    this.body.append(
      el("div", { class: "viz-controls viz-hidden-controls" }, this.parts.node, depth, ...ofOne),
      el("h2", { class: "viz-lead viz-of-one" }, similarity.lead, " ", poolings.lead),
      ...[similarity.node, poolings.all, this.more, poolings.texts.node, poolings.padding.node],
    );
    current.selection.on((changed) => changed.has("query") && this.refresh(), this.signal);
    current.onHover((token) => {
      if (this.shown) for (const part of [this.poolings.shares, this.similarity]) part.mark(token);
    }, this.signal);
    learned.on(() => this.refresh(), this.signal);
    // Of another run the layer and the second text are not those of the link.
    current.on((run) => {
      if (run && run.key !== current.selection.opened) current.selection.note({ [LAYER]: "", [PARTS.signs.two]: "" });
    }, this.signal);
    onWidth(poolings.padding.node, () => this.refresh()); // which asks only in sight
    this.depth.on(() => {
      const { layer } = this.depth;
      current.selection.note({ [LAYER]: layer === this.shown?.nLayers ? "" : String(layer) });
      this.refresh();
    });
    current.selection.restored(
      LAYER,
      () => {
        const { shown } = this;
        if (shown?.key === current.selection.opened) this.acts.layer(depthOf(shown));
      },
      this.signal,
    );
    this.parts.openLinked();
    this.open();
  }

  /** @override @param {Run} run */
  show(run) {
    if (this.shown !== run) this.#enter(run);
    const { query: token } = current.selection;
    const { layer } = this.depth;
    const where = blocksPassed(layer, run.nLayers);
    this.where.textContent = where[0].toUpperCase() + where.slice(1);
    const state = { run, layer, token, hide: !this.special.checked };
    const pooled = this.poolings.show(run, layer, token);
    const seen = this.parts.part === "one";
    this.loading = Promise.all([pooled, seen && this.similarity.show(state)]);
    if (seen && this.more.open) this.figures.show(state); // what is folded away is asked for once it is opened
  }

  /** @override */
  leave() {
    this.player.pause();
  }

  /** @override */
  draw() {
    super.draw();
    this.refresh();
  }

  // A new run begins at its output, that of a link at the layer it names.
  #enter(/** @type {Run} */ run) {
    this.shown = run;
    this.similarity.leave();
    const linked = linkedOf(run, LAYER) || linkedOf(run, EARLIER);
    current.selection.note({ [EARLIER]: "", [LAYER]: linked });
    this.folded.textContent = `More: norms and updates, PCA${run.tasks.length ? ", logit lens" : ""}`;
    const usual = run.grid ? "One picture" : run.kind === "pair" ? "The pair" : PARTS.titles.one;
    this.parts.offer(run.grid ? ["two", "padding"] : [], usual);
    this.depth.layer = depthOf(run);
    this.player.show({ nLayers: run.nLayers + 1 });
    const [all, inner] = [run.real().length, run.real(true).length];
    this.special.disabled = inner === 0 || inner === all;
    if (this.special.disabled) this.special.checked = true;
    this.switch.title = !this.special.disabled
      ? `The ${ADDED_TOKENS}`
      : `This run has no ${inner ? "special" : "other"} tokens`;
    this.tokens.textContent = `${count(all)} tokens, ${count(all - inner)} of them special; ${run.model}`;
  }
}

// After how many blocks the link says; else at the output.
function depthOf(/** @type {Run} */ run) {
  const linked = linkedOf(run, LAYER);
  return linked ? Math.min(run.nLayers, Number(linked) || 0) : run.nLayers;
}
