// The Learn tab: one token's way through an encoder, a step at a time, with every number.

import { current } from "../core/app_state.js";
import { makeScale } from "../core/colors.js";
import { el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { headsOf } from "../core/selection_address.js";
import { TabShell } from "../core/tab_shell.js";
import { known } from "../core/view.js";
import { fullScreen, nameScreen } from "../views/full_screen.js";
import { TokenChoice } from "../views/token_choice.js";
import { oneStop } from "../views/one_stop.js";
import { moveOf } from "./lesson_keys.js";
import { BlockDrawing } from "./block_drawing.js";
import { Cover } from "./cover.js";
import { LessonOpening } from "./lesson_opening.js";
import { errorText, writeWith } from "./printed.js";
import { Question } from "./question.js";
import { seatOf, tokenNumbers } from "./requests.js";
import { AttentionStep } from "./step_attention.js";
import { spoken } from "./sentences.js";
import { STEPS, stepAt } from "./steps.js";
import { Switches } from "./switches.js";
import { languageOf, TEXTS } from "./texts.js";
import { exercisesOf } from "./tried_out.js";

/** @import { Exercise } from "./requests.js" */
/** @import { StepView } from "./step_view.js" */
/** @import { Acts, Place, Shown } from "./types.d.ts" */

const STEP = "learn.step"; // in the link
const SEED = "learn.seed";
const USUAL = 1; // the step that the tab opens on
const LANGUAGE = "learn.lang";

// Called by the page once; the run and the selection are those of all tabs.
export function mount(/** @type {HTMLElement} */ root) {
  known("vizLearn", new LearnTab(root));
}

class LearnTab extends TabShell {
  step = USUAL;
  #asked = new Latest((sentence) => this.fail(spoken(this.texts, sentence)));
  #opening = new LessonOpening(current.selection.arrived);
  #questions = new Latest(() => this.#noQuestions());
  texts = TEXTS[languageOf(current.selection.noted(LANGUAGE))];
  dim = 0;
  around = 0;
  #printed = ""; // the question for which a number was looked up
  /** @type {Shown | null} */
  shown = null;
  /** @type {Map<number, StepView>} by the number of the step, made when it is first seen */
  steps = new Map();
  bar = el("ol", { class: "viz-learn-steps" });
  sentence = el("p", { class: "viz-learn-headline", role: "status" });
  keys = el("span", { class: "viz-caption viz-learn-keys" });
  lesson = el("a", { class: "viz-caption", href: "?learn=1" });
  language = el("select", { onchange: ({ currentTarget }) => this.#speak(currentTarget.value) });
  tokens = new TokenChoice({ hover: (at) => current.hover(at), choose: (query) => current.selection.set({ query }) });
  block = new BlockDrawing((step) => this.go(step));
  numbers = el("div", { class: "viz-learn-middle" });
  beside = el("div", { class: "viz-learn-beside" });
  untrained = el("p", { class: "viz-masked", hidden: true });
  missing = el("p", { class: "viz-learn-missing", hidden: true });
  agrees = el("p", { class: "viz-caption viz-learn-agrees" });
  question = new Question(() => this.#uncover());
  switches = new Switches();
  /** @type {Acts} */
  acts = {
    choose: (place) => this.#choose(place),
    layoutChanged: () => this.#say(),
    signal: this.signal,
    asks: (id) => this.cover.asks(id),
  };

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-learn");
    this.step = stepAt(this.#opening.step || Number(current.selection.noted(STEP)) || USUAL);
    if (this.#opening.seat) current.selection.note({ [SEED]: this.#opening.seat });
    this.language.append(...options(Object.entries(TEXTS).map(([code, { language }]) => [code, language])));
    this.cover = new Cover(this.body);
    oneStop(this.bar);
    this.full = fullScreen(this.body, () => this.draw());
    const middle = el("div", { class: "viz-learn-main" }, this.untrained, this.missing, this.numbers, this.agrees);
    const aside = el("aside", { class: "viz-learn-aside" }, this.question.node, this.beside, this.switches.node);
    const tools = el("span", { class: "viz-learn-tools" }, this.keys, this.lesson, this.language, this.full);
    this.line = el("div", { class: "viz-learn-line" }, tools);
    this.left = el("div", { class: "viz-learn-left" }, this.block.node);
    this.body.append(
      ...[this.bar, this.sentence, this.line],
      el("div", { class: "viz-learn-columns" }, this.left, middle, aside),
    );
    document.addEventListener("keydown", (event) => this.#key(event), { signal: this.signal });
    current.onHover((at) => this.root.clientWidth && this.run && this.tokens.mark(at), this.signal);
    current.selection.on(() => this.root.clientWidth && this.refresh(), this.signal);
    this.#speak(languageOf(current.selection.noted(LANGUAGE)));
    const restore = () => this.go(stepAt(Number(current.selection.noted(STEP)) || USUAL));
    current.selection.restored(STEP, restore, this.signal);
    this.open();
  }

  /** A link to a step opens on the token that the model is asked for. @override @param {Run | null} run */
  entered(run) {
    const place = run && this.#opening.place(run);
    if (!place) return;
    current.selection.set(place);
    if (this.#opening.seat) this.#sit(run);
  }

  // A seat has a place of its own, from which the word that decides is followed.
  async #sit(/** @type {Run} */ run) {
    const { placed } = current.selection;
    const { text, place } = await seatOf(this.#opening.seat);
    const still = current.run === run && placed === current.selection.placed;
    if (run.link.a === text && still) current.selection.set(place);
  }

  /** @override @param {Run} run */
  show(run) {
    const { selection } = current;
    const place = this.#place(run);
    this.#mark();
    const home = run.grid ? this.left : this.line; // a picture stands over the block
    if (this.tokens.node.parentElement !== home) home.prepend(this.tokens.node);
    this.left.closest(".viz-learn")?.classList.toggle("viz-learn-pictured", Boolean(run.grid));
    this.tokens.show(run, place.query);
    this.#asked.run(async (fresh) => {
      const numbers = await fresh(tokenNumbers(run, place, fresh.signal));
      const { texts } = this;
      const key = this.#opening.key(numbers.attention?.weights) ?? place.key;
      if (key !== place.key) return selection.lead({ key });
      this.shown = { run, place, numbers, texts };
      this.draw();
      this.#note();
      this.#ask(this.shown);
    });
  }

  /** @override */
  leave() {
    for (const view of this.steps.values()) view.clear();
  }

  /** To a step by its number. @param {number} step */
  go(step) {
    if (step === this.step || step < 1 || step > STEPS.length) return;
    this.steps.get(this.step)?.clear();
    this.step = step;
    this.question.node.style.visibility = "hidden"; // it is the last step's
    this.cover.show(null);
    this.#note();
    this.#mark();
    if (this.shown) {
      this.draw();
      this.#ask(this.shown);
    }
  }

  // Keep the step in the link.
  #note() {
    current.selection.note({ [STEP]: this.step === USUAL ? "" : String(this.step) });
  }

  /** @returns {Place} */
  #place(/** @type {Run} */ run) {
    const { layer, head, query, key } = current.selection;
    const [one] = headsOf(head);
    const { dim, around } = this;
    return { layer: Math.min(layer, run.nLayers - 1), head: one ?? 0, query, key, dim, around };
  }

  draw() {
    const { shown, step } = this;
    if (!shown) return;
    const { needs } = STEPS[step - 1];
    const lacks = needs && shown.numbers[needs] === null;
    this.untrained.hidden = shown.run.weights !== "untrained";
    this.untrained.textContent = this.texts.untrained(shown.run.nLayers, shown.run.nHeads);
    this.missing.hidden = !lacks;
    this.missing.textContent = lacks ? this.texts.missing + spoken(this.texts, shown.numbers.missing[needs] ?? "") : "";
    this.block.show(shown, step);
    const view = this.#view(step);
    if (this.numbers.firstElementChild !== view.node) {
      this.numbers.replaceChildren(view.node);
      this.beside.replaceChildren(...(view.beside ? [view.beside] : []));
    }
    view.node.hidden = Boolean(lacks);
    if (!lacks) view.show(shown);
    this.switches.show(shown, view instanceof AttentionStep ? view : null);
    this.#say();
    this.painted(`${shown.run.key}:${step}`);
  }

  // The sentence over the step, and the step's place on the line of steps.
  #say() {
    const { shown, step } = this;
    if (!shown) return;
    const view = this.#view(step);
    this.sentence.replaceChildren(
      ...[this.missing.hidden ? view.headline() : this.texts.steps[STEPS[step - 1].id]].flat(),
    );
    const weights = view instanceof AttentionStep ? (view.weights ?? shown.numbers.attention?.weights) : null;
    const row = weights ? Float32Array.from(weights) : null;
    this.tokens.words.paint(row, row && makeScale("head", Math.max(...row)));
    const { agrees } = shown.numbers;
    this.agrees.textContent = agrees === null || step > 7 || step === 1 ? "" : this.texts.agrees(errorText(agrees));
  }

  #view(/** @type {number} */ step) {
    const view = this.steps.get(step) ?? new STEPS[step - 1].Step(this.acts);
    this.steps.set(step, view);
    return view;
  }

  #noQuestions() {
    this.question.show([], this.texts);
    this.cover.show([]);
  }

  #uncover() {
    this.cover.show(this.question.open);
    this.steps.get(this.step)?.asked();
    this.#print(this.question.now);
  }

  // A question about one number of a vector has come, or is the next: that number is among the printed ones.
  #print(/** @type {Exercise | undefined} */ exercise) {
    const { id = "", step = 0, cell = null } = exercise ?? {};
    const asked = `${id}:${cell}`;
    if (asked === this.#printed || (exercise && step !== this.step)) return;
    this.#printed = asked;
    if (cell === null) return;
    this.#view(this.step).print(cell);
  }

  #choose(/** @type {Partial<Place>} */ { dim, around, ...place }) {
    this.dim = dim ?? this.dim;
    this.around = around ?? this.around;
    if (Object.keys(place).length) current.selection.set(place);
    else if (dim !== undefined) this.refresh();
    else if (this.shown && around !== undefined) {
      this.shown = { ...this.shown, place: { ...this.shown.place, around } };
      this.draw();
    }
  }

  #ask(/** @type {Shown} */ { run, place }) {
    const { selection } = current;
    this.#questions.run(
      async (fresh) => {
        const found = await fresh(
          exercisesOf(run, this.step, place, selection.noted(SEED), this.language.value, fresh.signal),
        );
        this.question.show(found, this.texts, Number(selection.noted(SEED)) || 0);
      },
      { pause: 120 },
    );
  }

  #mark() {
    for (const [at, item] of [...this.bar.children].entries()) {
      item.className = at + 1 === this.step ? "viz-learn-now" : at + 1 < this.step ? "viz-learn-done" : "";
      item.firstElementChild?.setAttribute("aria-current", at + 1 === this.step ? "step" : "false");
    }
    this.bar.children[this.step - 1]?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  #speak(/** @type {string} */ code) {
    this.texts = TEXTS[languageOf(code)];
    writeWith(this.texts);
    this.language.value = languageOf(code);
    this.body.lang = this.language.value;
    current.selection.note({ [LANGUAGE]: this.language.value === "en" ? "" : this.language.value });
    const step = (/** @type {string} */ name, /** @type {number} */ at) =>
      el(
        "li",
        {},
        el(
          "button",
          { type: "button", onclick: () => this.go(at + 1) },
          el("b", {}, String(at + 1)),
          el("span", {}, name),
        ),
      );
    this.tokens.speak(this.texts.choice);
    nameScreen(this.body, this.texts.screen);
    this.language.ariaLabel = this.language.title = this.texts.languages;
    this.bar.setAttribute("aria-label", this.texts.bar);
    this.bar.replaceChildren(...STEPS.map(({ id }, at) => step(this.texts.steps[id], at)));
    this.keys.textContent = this.texts.keys;
    this.keys.title = this.texts.keysTitle;
    this.lesson.textContent = this.texts.lesson;
    this.question.show([], this.texts);
    this.cover.show(null);
    this.#mark();
    if (this.run && this.root.clientWidth) this.refresh();
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const move = this.run && this.root.clientWidth ? moveOf(event) : null;
    if (!move || !this.run) return;
    event.preventDefault();
    if (move.steps) return this.go(this.step + move.steps);
    const [{ nLayers, nHeads }, { layer, head }] = [this.run, this.#place(this.run)];
    const [next, other] = [(layer + move.layers + nLayers) % nLayers, (head + move.heads + nHeads) % nHeads];
    current.selection.set({ layer: next, head: other });
  }
}
