// Effect against attention: the scatter plot, what it has across, and the answers without the chosen heads.

import { el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { section } from "../views/headed.js";
import { Answers } from "./answers.js";
import { AttentionAxis } from "./attention_axis.js";
import { headCode } from "./codes.js";
import { EffectColors } from "./effect_colors.js";
import { Scatter } from "./scatter.js";
import { headsNamed, namedAnswer } from "./wording.js";

/** @import { HeadEffects } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */
/** @import { Axis, Link } from "./attention_axis.js" */
/** @import { HeadPlace } from "./codes.js" */

const LOOK = "Each point is a head. Look for heads far to the right that stay near 0: a large weight, a small effect.";

export class AgainstAttention {
  #latest = new Latest((sentence) => {
    this.scatter.told.textContent = sentence;
  });
  /** @type {HeadEffects | null} */
  effects = null;
  /** @type {Axis} */
  across = { title: "", along: [] };
  axis = new AttentionAxis(() => this.#load());
  answers = new Answers();
  title = el("h3");

  constructor(/** @type {(place: HeadPlace) => unknown} */ choose) {
    this.scatter = new Scatter(choose);
    this.node = section(
      ...["viz-whatif-against", "Effect against attention", "Effect against attention"],
      el("p", { class: "viz-caption" }, LOOK),
      ...[this.scatter.node, this.axis.node, this.title, this.answers.node],
    );
  }

  // Nothing is measured yet.
  enter() {
    this.effects = null;
    this.#latest.stop();
    this.scatter.show(null);
    this.answers.clear();
  }

  /** @type {(run: Run, effects: HeadEffects, chosen: Link) => void} */
  show(run, effects, chosen) {
    this.effects = effects;
    const { query, key } = effects;
    this.axis.offer(run, query !== null && key !== null ? { query, key } : null, chosen);
    this.#load();
  }

  /** Heads are taken away by zeros here, whatever stands in for them in the grid.
   * @type {(run: Run, chosen: HeadPlace[], how: string) => void} */
  mark(run, chosen, how) {
    this.scatter.mark(chosen);
    this.title.textContent = chosen.length
      ? `Without ${headsNamed(chosen)}${how === "zero" ? "" : " (zeros instead)"}`
      : "Before and after";
    if (chosen.length && this.effects) this.answers.show(run, chosen.map(headCode), this.title.textContent);
  }

  draw() {
    if (!this.effects) return;
    const { values, untouched, measure } = this.effects;
    const colors = new EffectColors(values.flat(), namedAnswer(untouched.answer));
    const { title, along } = this.across;
    this.scatter.show({ along, values, colors, xTitle: title, yTitle: `effect of removing: change in ${measure}` });
    this.scatter.node.dataset.painted = title;
  }

  #load() {
    this.#latest.run(async (fresh) => {
      this.across = await fresh(this.axis.read(fresh.signal));
      this.draw();
    });
  }
}
