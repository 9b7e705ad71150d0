// The words of the run, shaded by what hiding each one changes; a click changes one.

import { current } from "../core/app_state.js";
import { caption, control, controls, el, options, status } from "../core/dom.js";
import { quoted } from "../core/token_names.js";
import { Words } from "../views/token_strip.js";
import { ACTIONS, changedTokens, wordCodes } from "./codes.js";
import { EffectColors } from "./effect_colors.js";
import { PatchStrip } from "./patch_strip.js";
import { namedAnswer, signedAmount, unitOf } from "./wording.js";

/** @import { TokenEffects } from "../core/payloads.d.ts" */
/** @import { Run } from "../core/run.js" */

/** @type {Record<string, string>} */
const DONE = { t: "hidden from all", m: "masked", d: "deleted", r: "replaced" };

export class WordRow {
  /** @type {Run | null} */
  run = null;
  /** @type {TokenEffects | null} */
  effects = null;
  how = "attention"; // by which the effects are
  /** @type {Map<number, string[]>} */
  changed = new Map();
  #told = ""; // of the last change: how long it takes, or why it was not made
  action = el("select", { id: "viz-whatif-action", onchange: () => this.#reveal() }, ...options(ACTIONS));
  word = el("input", {
    type: "text",
    id: "viz-whatif-word",
    placeholder: "new word",
    "aria-label": "New word",
    hidden: true,
  });
  said = status();
  legend = el("div", { class: "viz-whatif-shade" });
  body = el("div", { class: "viz-source-body" });

  /** @param {(codes: string[]) => unknown} change is told the codes of what was clicked */
  constructor(change) {
    this.change = change;
    const label = "The words. Arrow keys move, Enter changes the word.";
    const preview = (/** @type {number | null} */ token) => {
      current.hover(token);
      this.said.textContent = token === null ? this.#told || this.#hint : this.#title(token);
    };
    this.words = new Words({ label, preview, choose: (token) => this.#choose(token) });
    this.patches = new PatchStrip({ preview, choose: (token) => this.change(wordCodes("t", token, "")) });
    current.onHover((token) => this.words.point(token));
    this.body.append(this.words.text, this.patches.node);
    this.act = el("p", { class: "viz-whatif-action" }, control("A click on a word:", this.action), this.word);
    this.line = controls(this.act, this.said);
    this.node = el("div", { class: "viz-whatif-words" }, this.words.parts, this.body, this.legend, this.line);
  }

  // Progress of a change; "" once it is made.
  tell(/** @type {string} */ sentence) {
    this.#told = sentence;
    this.said.textContent = sentence || this.#hint;
  }

  enter(/** @type {Run} */ run) {
    Object.assign(this, { run, effects: null });
    this.words.show(run.shown({ hide: false, words: false }).slice(0, run.grid?.prefix), run.segments, -1);
    this.words.mark(-1);
    this.patches.enter(run);
    this.act.hidden = Boolean(run.grid); // a patch can only be hidden
    if (run.grid) this.action.value = "t";
    this.legend.replaceChildren(caption(`Shaded by the effect of hiding each ${unitOf(run)}, once it is measured.`));
    this.tell("");
    this.draw();
  }

  /** `how` each was removed, as the table's "By" has it. @type {(effects: TokenEffects, how: string) => void} */
  show(effects, how) {
    Object.assign(this, { effects, how });
    this.draw();
  }

  // The words that are changed in the shown run.
  mark(/** @type {string[]} */ changes) {
    this.changed = changedTokens(changes);
    this.draw(); // with what is said of each
    this.patches.mark([...this.changed.keys()]);
    this.words.chips.forEach((chip, at) => {
      const how = this.#how(this.words.start + at);
      chip.dataset.changed = how;
      chip.setAttribute("aria-pressed", String(how !== ""));
    });
  }

  draw() {
    const { effects } = this;
    if (!effects) return this.words.paint(null, null, (token) => this.#title(token));
    const colors = new EffectColors(effects.values, namedAnswer(effects.untouched.answer));
    const { scale, colors: ramp } = colors.chips;
    const values = Float32Array.from(effects.values, (value) => value ?? NaN);
    this.words.paint(values, scale, (token) => this.#title(token), ramp);
    this.patches.show(effects.values, colors);
    const doing = this.how === "mask" ? "masking" : "hiding";
    this.legend.replaceChildren(colors.legend(`shade: ${doing} the ${unitOf(this.run)}, change in ${effects.measure}`));
  }

  #title(/** @type {number} */ token) {
    const { run, effects } = this;
    const name = quoted(run?.tokens[token] ?? "");
    const now = this.#how(token);
    const value = effects?.values[token];
    const shade = !effects
      ? ""
      : value == null
        ? `: cannot be ${this.how === "mask" ? "masked" : "hidden"}`
        : `: ${this.how === "mask" ? "masking" : "hiding"} it changes the measure by ${signedAmount(value)}`;
    return `${token} ${name}${shade}${now ? `. Now ${now}` : ""}`;
  }

  #reveal() {
    this.word.hidden = this.action.value !== "r";
    if (!this.word.hidden) this.word.focus();
  }

  get #hint() {
    return `Click a ${unitOf(this.run)} to change it, click it again to undo; the other tabs then show the changed run.`;
  }

  // How a token is changed, in words; "" if it is not.
  #how(/** @type {number} */ token) {
    return (this.changed.get(token) ?? []).map(([kind]) => DONE[kind]).join(", ");
  }

  #choose(/** @type {number} */ token) {
    const [action, word] = [this.action.value, this.word.value.trim()];
    const replaced = this.changed.get(token)?.filter((code) => code.startsWith("r")) ?? [];
    if (action !== "r" || word) return this.change(wordCodes(action, token, word));
    if (replaced.length) return this.change(replaced);
    this.tell("Type the new word first.");
    this.word.focus();
  }
}
