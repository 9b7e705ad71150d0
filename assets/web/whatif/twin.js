// Heads patched from a twin text: what each one carries over, in both directions, side by side.

import { button, caption, el } from "../core/dom.js";
import { EffectColors } from "./effect_colors.js";
import { HeadGrid } from "./head_grid.js";
import { patched } from "./requests.js";
import { noteTwin } from "./way_link.js";
import { Work } from "../views/work.js";

/** @import { Patched } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { Acts } from "./head_grid.js" */

const ABOUT =
  "Share of the whole difference between the two texts: 0 = no change, 1 = as much as replacing the whole run. " +
  "Noising shows what is necessary, denoising what is sufficient; the two need not agree.";
const SAME = "Same number of tokens, one word changed.";

export class Twin {
  /** @type {Run | null} */
  run = null;
  /** @type {Patched | null} */
  found = null;
  text = el("textarea", { id: "viz-whatif-twin", rows: 2, "aria-label": "Twin text" });
  start = button("Patch every head", () => this.begin(), { class: "viz-small viz-whatif-go" });
  work = new Work();
  sentence = el("p", { class: "viz-whatif-said", role: "status" });
  legend = el("div");

  /** `done` is called when there are numbers.
   * @param {Acts["choose"]} choose @param {Acts["tell"]} tell @param {() => unknown} done */
  constructor(choose, tell, done) {
    this.done = done;
    const grid = (/** @type {string} */ label) => new HeadGrid({ label, choose, tell });
    this.grids = { noising: grid("Noising"), denoising: grid("Denoising") };
    const { noising, denoising } = this.grids;
    this.node = el(
      "div",
      { class: "viz-whatif-twin", hidden: true },
      el("label", { class: "viz-caption", for: this.text.id }, `Twin text to patch from. ${SAME}`),
      ...[this.text, el("div", { class: "viz-controls" }, this.start, this.work.node), this.sentence],
      el("h4", {}, "Noising: the twin's head output in this text's run"),
      noising.node,
      el("h4", {}, "Denoising: this text's head output in the twin's run"),
      ...[denoising.node, this.legend, caption(ABOUT)],
    );
  }

  enter(/** @type {Run} */ run, /** @type {string} */ twin) {
    if (this.run === run) return;
    this.work.stop();
    Object.assign(this, { run, found: null });
    this.text.value = twin;
    this.sentence.textContent = "";
    for (const grid of Object.values(this.grids)) grid.enter(run.nLayers, run.nHeads);
    this.legend.replaceChildren();
    delete this.node.dataset.painted;
  }

  // When the panel opens: start at once if a twin text is known.
  open() {
    if (!this.found && this.text.value.trim()) this.begin();
  }

  async begin() {
    const { run } = this;
    const twin = this.text.value.trim();
    if (!run) return;
    if (!twin) {
      this.sentence.textContent = "Type the twin text first.";
      return this.text.focus();
    }
    noteTwin(twin);
    delete this.node.dataset.painted;
    const found = await this.work.run("Patching every head", (tell, signal) => patched(run, twin, tell, signal));
    if (!found) return;
    this.found = found;
    this.sentence.textContent = found.sentence;
    this.draw();
    this.done();
    this.node.dataset.painted = twin;
  }

  draw() {
    if (!this.found) return;
    const { noising, denoising } = this.found;
    const colors = new EffectColors([-1, 1], "");
    this.grids.noising.draw({ values: noising, colors, fixed: 2 });
    this.grids.denoising.draw({ values: denoising, colors, fixed: 2 });
    colors.said = { low: "in the opposite direction", high: "the whole difference", turned: false };
    this.legend.replaceChildren(colors.legend(`share of the difference in ${this.found.measure}`));
  }
}
