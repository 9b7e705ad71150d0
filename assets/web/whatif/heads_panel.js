// The effect of removing each head: its grid, what stands in for the head, and several removed together.

import { button, caption, el, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { headName } from "../views/cells.js";
import { section } from "../views/headed.js";
import { saveRow } from "../views/save_row.js";
import { EffectColors } from "./effect_colors.js";
import { patchedBothWays, removed, tableFile } from "./effects_table.js";
import { HeadGrid } from "./head_grid.js";
import { joint } from "./requests.js";
import { Twin } from "./twin.js";
import { noteTwin } from "./way_link.js";
import { headsNamed, namedAnswer, signedAmount } from "./wording.js";

/** @import { HeadEffects, WhatIfOffered } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { Way } from "./requests.js" */
/** @typedef {{ choose: (heads: HeadPlace[]) => unknown, how: (how: string) => unknown,
 *   remove: () => unknown }} Acts what the person asks for */

const HOWS = [
  ["zero", "remove (zero)"],
  ["mean", "reference mean"],
  ["patch", "patch from twin"],
];
const ALONE =
  "The effect of removing a head does not measure what it does: another may do the same, or take over. " +
  "Effects of single heads do not add up; check “together” to remove several at once.";
const OF_PLAIN = "These are effects on the run as it was, without your changes.";
const POINT = "Point at a head for its number; click it to see the answers with and without it.";

export class HeadsPanel {
  #joining = new Latest((sentence) => {
    this.joined.textContent = sentence;
  });
  /** @type {HeadPlace[]} */
  chosen = [];
  model = "";
  way = { measure: "", how: "zero" };
  /** @type {HeadEffects | null} */
  effects = null;
  /** @type {EffectColors | null} */
  colors = null;
  what = caption();
  kind = "text";
  about = caption();
  ofPlain = caption(OF_PLAIN);
  told = el("p", { class: "viz-caption viz-whatif-told" }, POINT);
  legend = el("div", { class: "viz-whatif-legend-room" });
  together = el("input", { type: "checkbox", id: "viz-whatif-together" });
  joined = status();
  said = status(); // how far the removal is, or why it was not made

  constructor(/** @type {Acts} */ acts) {
    this.acts = acts;
    const choose = (/** @type {HeadPlace} */ place, /** @type {boolean} */ more) => this.#chose(place, more);
    const tell = (/** @type {HeadPlace | null} */ place) => this.#tell(place);
    this.grid = new HeadGrid({ label: "Effect of removing each head", choose, tell });
    this.twin = new Twin(choose, tell, () => this.#offer());
    this.hows = HOWS.map(([how, words]) => button(words, () => this.#how(how), { "data-how": how }));
    this.take = saveRow("Save the effects", [
      ["CSV", "The effects as shown: one row per head, with unit, mode and measure", () => this.#table()],
    ]);
    this.remove = button("Remove head", acts.remove, { class: "viz-small viz-whatif-go", id: "viz-whatif-remove" });
    const many = el("label", { class: "viz-control viz-check" }, this.together, "together: each click adds a head");
    this.removing = el("div", {}, this.what, this.grid.node, this.legend);
    this.node = section(
      ...["viz-whatif-heads", "Effect of removing each head", "Effect of removing each head"],
      el("div", { class: "viz-switch", role: "group", "aria-label": "What replaces a head" }, ...this.hows),
      this.ofPlain,
      ...[this.removing, this.twin.node, this.told],
      el("div", { class: "viz-controls" }, this.remove, this.said, many),
      ...[this.joined, this.take, this.about],
    );
  }

  /** @type {(run: Run, offer: WhatIfOffered, way: Way) => void} */
  enter(run, offer, way) {
    const { how } = way;
    Object.assign(this, { effects: null, colors: null, model: run.model, way });
    this.kind = run.grid ? "picture" : "text";
    this.about.textContent = `This is one ${this.kind}; another may rank heads differently. ${ALONE}`;
    this.grid.enter(run.nLayers, run.nHeads);
    this.twin.enter(run, offer.twin);
    this.what.textContent = "The numbers appear once every head has been removed, one at a time.";
    this.legend.replaceChildren();
    if (run.grid) this.twin.node.hidden = true;
    for (const each of this.hows) {
      each.disabled = Boolean(run.grid) && each.dataset.how !== "zero";
      each.title = each.disabled ? "Offered for texts" : "";
    }
    this.#press(this.twin.node.hidden ? how : "patch");
  }

  // Start from a link.
  patchFrom(/** @type {string} */ twin) {
    this.twin.text.value = twin;
    this.#press("patch");
    this.twin.open();
  }

  say(/** @type {string} */ sentence) {
    this.said.textContent = sentence;
  }

  show(/** @type {HeadEffects} */ effects) {
    this.effects = effects;
    this.draw();
  }

  draw() {
    this.twin.draw();
    if (!this.effects) return;
    const { values, untouched, measure, how } = this.effects;
    this.colors = new EffectColors(values.flat(), namedAnswer(untouched.answer));
    this.grid.draw({ values, colors: this.colors });
    this.#offer();
    this.what.textContent = `In this one ${this.kind}, with ${how} in place of the head's output.`;
    this.legend.replaceChildren(this.colors.legend(`change in ${measure}`));
  }

  /** @type {(run: Run, chosen: HeadPlace[], changes: string[], way: Way) => void} */
  mark(run, chosen, changes, way) {
    this.chosen = chosen;
    const removed = new Set(changes.filter((code) => code.startsWith("h")).map((code) => code.slice(1)));
    for (const grid of [this.grid, ...Object.values(this.twin.grids)]) grid.mark(chosen, removed);
    const gone = chosen.length > 0 && chosen.every((place) => removed.has(headName(place)));
    this.remove.textContent = `${gone ? "Restore" : "Remove"} ${headsNamed(chosen)}${gone ? "" : " in all tabs"}`;
    this.remove.disabled = !chosen.length;
    this.ofPlain.hidden = !changes.length;
    this.#tell(null);
    this.#join(run, chosen, way);
  }

  // Mark the chosen way; a counterpart's grids replace the single one.
  #press(/** @type {string} */ how) {
    for (const each of this.hows) each.setAttribute("aria-pressed", String(each.dataset.how === how));
    this.removing.hidden = how === "patch";
    this.twin.node.hidden = how !== "patch";
    this.#offer();
  }

  get #parts() {
    if (!this.twin.node.hidden) return this.twin.found && patchedBothWays(this.twin.found);
    return this.effects && removed(this.effects, this.way.measure);
  }

  #table() {
    const parts = this.#parts;
    return parts && tableFile(parts, this.model);
  }

  // A table can be saved once there are numbers.
  #offer() {
    const [save] = this.take.querySelectorAll("button");
    save.disabled = !this.#parts;
  }

  #how(/** @type {string} */ how) {
    this.#press(how);
    noteTwin(how === "patch" ? this.twin.text.value.trim() : "");
    if (how === "patch") this.twin.open();
    else this.acts.how(how);
  }

  #chose(/** @type {HeadPlace} */ place, /** @type {boolean} */ more) {
    if (!more && !this.together.checked) return this.acts.choose([place]);
    const others = this.chosen.filter((each) => headName(each) !== headName(place));
    this.acts.choose(others.length < this.chosen.length ? others : [...others, place]);
  }

  /** Joint effect of several heads, beside the sum of their single effects.
   * @type {(run: Run, chosen: HeadPlace[], way: Way) => void} */
  #join(run, chosen, { measure }) {
    delete this.joined.dataset.painted;
    this.joined.textContent = "";
    this.#joining.stop();
    if (chosen.length < 2) return;
    const names = chosen.map(headName);
    this.joined.textContent = `Removing ${headsNamed(chosen)} together …`;
    this.#joining.run(async (fresh) => {
      const { sentence, answer } = await fresh(joint(run, names, measure, fresh.signal));
      const then = answer ? ` The model then answers “${answer}”.` : "";
      this.joined.replaceChildren(el("strong", {}, sentence), `${then} Each is replaced by zeros.`);
      this.joined.dataset.painted = names.join(",");
    });
  }

  // Describe the hovered head, or else the chosen one.
  #tell(/** @type {HeadPlace | null} */ pointed) {
    const place = pointed ?? (this.chosen.length === 1 && this.effects ? this.chosen[0] : null);
    if (!place) {
      this.told.textContent = POINT;
      return;
    }
    const { layer, head } = place;
    const { effects, twin } = this;
    if (!this.twin.node.hidden) {
      const [noising, denoising] = [twin.found?.noising, twin.found?.denoising].map((each) => each?.[layer][head]);
      this.told.textContent = `Head ${layer}.${head}: noising ${signedAmount(noising)}, denoising ${signedAmount(denoising)}`;
      return;
    }
    const answer = effects?.answers[layer]?.[head];
    const then = answer
      ? `; the model then answers “${answer}” (${Number(effects?.shares[layer][head]).toFixed(3)})`
      : "";
    this.told.textContent = `Head ${layer}.${head}: effect of removing ${signedAmount(effects?.values[layer][head])}${then}`;
  }
}
