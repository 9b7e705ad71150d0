// Step 10: the model run again with a causal mask or a window, and what that does to its answer.

import { current } from "../core/app_state.js";
import { button, control, controls, el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { Run } from "../core/run.js";
import { json } from "../core/server.js";
import { openTab } from "../core/tab_link.js";
import { isolated } from "../core/token_names.js";
import { maskColors, TokenGrid } from "../views/mask_grid.js";
import { fixed, quoted } from "./printed.js";
import { spoken } from "./sentences.js";
import { StepView } from "./step_view.js";
import { allows, packed, reached, withPadding } from "./simple_masks.js";

/** @import { Kind } from "./simple_masks.js" */
/** @import { Texts } from "./types.d.ts" */
/** @typedef {{ label: string, share: number }} Answer */

const [SIDE, MOST, NAMED] = [340, 512, 16]; // pixels of the grid; tokens up to which a mask can be tried, and are named

export class MasksStep extends StepView {
  #asked = new Latest((sentence) => this.said.replaceChildren(spoken(this.shown.texts, sentence)));
  kind = el("select", { id: "viz-learn-mask", onchange: () => this.#changed() });
  width = el("input", { type: "range", min: 1, max: 8, value: 2, oninput: () => this.#changed() });
  widthSaid = el("output", {});
  widthLabel = control("");
  grid = new TokenGrid({ label: "", maxSide: SIDE, maxCell: 36 });
  reached = el("div", { class: "viz-caption viz-learn-reach" });
  padding = button("", () => this.#pad());
  bugs = button("", () => openTab("masks", "quiz"));
  more = controls(this.padding, this.bugs);
  two = el("div", { class: "viz-learn-two" }, this.grid.node, el("div", {}, this.said, this.reached));
  node = el("div", {}, controls(this.kind, this.widthLabel), this.two, this.note, this.more);
  key = ""; // of the run that is shown
  language = "";
  /** @type {{ now: Answer, was: Answer, key: string } | null} */
  answers = null;

  headline() {
    const { answers, shown } = this;
    const { run, texts } = shown;
    if (!run.tasks[0]) return [texts.masks.alone];
    if (answers?.key !== run.key || this.#kind.kind === "none") return [texts.masks.plain];
    const [now, was] = [answers.now, answers.was].map(({ label, share }) => `${quoted(label)} (${fixed(share, 3)})`);
    if (answers.now.label !== answers.was.label) return texts.masks.headline(now, was);
    return texts.masks.same(now);
  }

  draw() {
    const { run, numbers, texts } = this.shown;
    if (this.language !== texts.language) {
      this.language = texts.language;
      const chosen = this.kind.value || "none";
      this.kind.replaceChildren(...options(Object.entries(texts.masks.kinds)));
      this.kind.value = chosen;
      this.kind.setAttribute("aria-label", texts.masks.grid);
      this.widthLabel.replaceChildren(`${texts.masks.width} `, this.width, this.widthSaid);
    }
    if (this.key !== run.key) {
      this.key = run.key;
      this.#asked.stop();
      this.answers = null;
      this.kind.value = "none";
      this.said.textContent = "";
    }
    this.note.textContent = texts.masks.note;
    this.padding.textContent = texts.masks.padding;
    this.bugs.textContent = texts.masks.bugs;
    this.more.hidden = !document.getElementById("viz-tabs"); // a lesson in a file has no other tabs
    this.padding.hidden = !numbers.ids || Boolean(run.changed); // patches are never padded
    this.#draw();
  }

  // A text gets [PAD] in a batch alone.
  async #pad() {
    const { run } = this.shown;
    if (!run.valid.includes(false)) {
      const padded = await this.#asked.run((fresh) => fresh(withPadding(run, fresh.signal)));
      if (!padded || run !== current.run || !this.node.clientWidth) return; // what was asked for here is left
      current.enter(padded);
    }
    openTab("masks");
  }

  /** @returns {Kind} */
  get #kind() {
    return { kind: /** @type {Kind["kind"]} */ (this.kind.value || "none"), width: Number(this.width.value) };
  }

  #changed() {
    this.#draw();
    this.#run();
  }

  #draw() {
    const { run, place, texts } = this.shown;
    const kind = this.#kind;
    this.widthLabel.hidden = kind.kind !== "window";
    this.widthSaid.textContent = ` ${kind.width}`;
    const lines = said(kind, run, place.query, texts.masks);
    this.reached.replaceChildren(texts.masks.reach, el("ul", {}, ...lines.map((line) => el("li", {}, line))));
    const { allowed, forbidden } = maskColors();
    const color = (/** @type {number} */ at) =>
      allows(kind, Math.floor(at / run.n), at % run.n) ? allowed : forbidden;
    this.grid.chosen = [place.query, place.key];
    Object.assign(this.grid, { outlined: [], axes: texts.axes });
    this.grid.show(run.tokens, color);
    this.grid.canvas.setAttribute("aria-label", `${texts.masks.grid}: ${this.kind.selectedOptions[0]?.text ?? ""}`);
  }

  async #run() {
    const { run, place, texts } = this.shown;
    const [task] = run.tasks;
    const kind = this.#kind;
    if (kind.kind === "none" || run.n > MOST || !task) {
      this.answers = null;
      this.said.textContent = "";
      return this.acts.layoutChanged();
    }
    this.said.textContent = texts.waiting;
    await this.#asked.run(
      async (fresh) => {
        /** @type {MaskResult} */
        const made = await fresh(json(run.url("mask/run"), { body: packed(kind, run.n), signal: fresh.signal }));
        const [now, was] = [
          await fresh(new Run(made.run).predictions(task, "")),
          await fresh(run.predictions(task, "")),
        ];
        const [after, before] = [answerOf(now, place.query), answerOf(was, place.query)];
        this.answers = after && before ? { now: after, was: before, key: run.key } : null;
        this.said.textContent = this.answers ? "" : texts.masks.done;
        this.acts.layoutChanged();
      },
      { pause: 250 },
    );
  }
}

/** Layer by layer, whom a token can know of, until it is no more of them.
 * @type {(kind: Kind, run: Run, query: number, words: Texts["masks"]) => string[]} */
function said(kind, { n, nLayers, tokens }, query, words) {
  return reached(kind, n, query, nLayers).map((known, layer) => {
    const named = known.length <= NAMED ? known.map((at) => isolated(tokens[at])).join(" ") : "";
    return words.reached(layer + 1, known.length, n, named);
  });
}

/** @type {(all: Prediction[], query: number) => Answer | null} */
function answerOf(all, query) {
  const found = all.find(({ token }) => token === query) ?? all.find(({ token }) => token === null) ?? all[0];
  return found ? { label: found.labels[0], share: found.shares[0] ?? 0 } : null;
}
