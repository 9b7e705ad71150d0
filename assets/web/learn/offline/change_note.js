// Banner over the lesson while the run is changed: the change, its effect, and how to undo it.

import { current } from "../../core/app_state.js";
import { changedRun, codesOf } from "../../core/changed_run.js";
import { button, el } from "../../core/dom.js";
import { fixed, quoted } from "../printed.js";
import { predictions } from "./prediction.js";
import { hiddenBy } from "./runs.js";

/** @import { Texts } from "../types.d.ts" */
/** @import { Runs } from "./runs.js" */

export class ChangeNote {
  title = el("b");
  chips = el("span", { class: "viz-changes" });
  back = button("", () => changedRun.restore(() => {}));
  said = el("p", { class: "viz-lesson-answer" });
  node = el("section", { class: "viz-lesson-changed", role: "status", hidden: true });

  /** @param {Runs} runs @param {Texts} texts */
  constructor(runs, texts) {
    this.runs = runs;
    this.texts = texts;
    this.node.append(el("div", { class: "viz-lesson-line" }, this.title, this.chips, this.back), this.said);
    current.on((run) => this.#show(run));
  }

  speak(/** @type {Texts} */ texts) {
    this.texts = texts;
    this.#show(current.run);
  }

  #show(/** @type {Run | null} */ run) {
    const [codes, words] = [codesOf(run), this.texts.file];
    this.node.hidden = !codes.length;
    if (!run || !codes.length) return;
    this.title.textContent = `${words.changed} ${this.texts.switches.untrained}`;
    this.back.textContent = words.restore;
    this.chips.replaceChildren(...codes.map((code) => this.#chip(code, run.tokens)));
    const [was, now] = [run.plainKey, run.key].map((key) => this.#answer(key));
    this.said.textContent = was && now ? words.answer(was, now) : "";
  }

  #chip(/** @type {string} */ code, /** @type {string[]} */ tokens) {
    const words = this.texts.file;
    const said = this.#words(code, tokens);
    const drop = () => changedRun.drop(code, () => {});
    return button(`${said} ✕`, drop, { class: "viz-small", "data-code": code, "aria-label": words.undo(said) });
  }

  #words(/** @type {string} */ code, /** @type {string[]} */ tokens) {
    const [words, hidden] = [this.texts.file, hiddenBy(code)];
    if (hidden !== null) return words.hidden(quoted(tokens[hidden]));
    return code === "c" ? words.causal : code === "p" ? words.positions : words.head(code.slice(1));
  }

  #answer(/** @type {string} */ key) {
    const [found] = predictions(this.runs.model, this.runs.held(key).ran);
    return found ? `${quoted(found.labels[0])} (${fixed(found.shares[0] ?? 0, 3)})` : "";
  }
}
