// Effect against attention: the scatter plot, what it has across, and the answers without the chosen heads.

import { cutting } from "../core/change_codes.js";
import { button, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { quoted } from "../core/token_names.js";
import { headName } from "../views/cells.js";
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
  /** @type {Run | null} */
  run = null;
  /** @type {HeadPlace[]} */
  chosen = [];
  /** @type {string[]} */
  changes = [];
  cut = button("", () => this.act(this.#codes), { class: "viz-small", id: "viz-whatif-cut" });

  /** `act` is told the codes of links to cut, or to restore.
   * @param {(place: HeadPlace) => unknown} choose @param {(codes: string[]) => unknown} act */
  constructor(choose, act) {
    this.act = act;
    this.scatter = new Scatter(choose);
    this.axis.node.append(this.cut);
    this.node = section(
      ...["viz-whatif-against", "Effect against attention", "Effect against attention"],
      el("p", { class: "viz-caption" }, LOOK),
      ...[this.scatter.node, this.axis.node, this.title, this.answers.node],
    );
  }

  // Clear: nothing is measured yet.
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

  /** Heads are taken away by zeros here, whatever stands in for them in the grid; `changes` are those of the shown run.
   * @type {(run: Run, chosen: HeadPlace[], how: string, changes: string[]) => void} */
  mark(run, chosen, how, changes) {
    Object.assign(this, { run, chosen, changes });
    this.#offer();
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

  // The link across, in the chosen heads.
  get #codes() {
    const { link } = this.axis;
    return link ? this.chosen.flatMap((place) => cutting({ ...place, queries: [link.query], keys: [link.key] })) : [];
  }

  #offer() {
    const { run, chosen, changes, cut } = this;
    const { link } = this.axis;
    const codes = this.#codes;
    cut.disabled = !codes.length;
    cut.title = codes.length ? "" : "Choose a link for “Across”, and a head";
    if (!run || !link || !codes.length) {
      cut.textContent = "Cut the link";
      return;
    }
    const gone = codes.every((code) => changes.includes(code));
    const pair = `${quoted(run.tokens[link.query])} → ${quoted(run.tokens[link.key])}`;
    cut.textContent = `${gone ? "Restore" : "Cut"} ${pair} in ${chosen.map(headName).join(", ")}`;
  }

  #load() {
    this.#offer();
    this.#latest.run(async (fresh) => {
      this.across = await fresh(this.axis.read(fresh.signal));
      this.draw();
    });
  }
}
