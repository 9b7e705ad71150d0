// A run with the mask: asked for, waited for, and what it shows.

import { current } from "../core/app_state.js";
import { button, control, controls, el, options } from "../core/dom.js";
import { Run } from "../core/run.js";
import { View } from "../core/view.js";
import { headsIn } from "../views/cells.js";
import { section } from "../views/headed.js";
import { Leaks } from "./leak_map.js";
import { Mask } from "./mask_bits.js";
import { Panels } from "./panels.js";
import { result, runWith } from "./requests.js";

/** @import { Place } from "./panels.js" */

const NO_MISTAKE = "none";
const CHANGED = "The pictures below are of the run before: run with this mask to see what it does.";
const UNLIKE = "Your file's mask is too large for a link, so the run passes what you mean, not the file.";
const BITS = "z."; // begins what is passed in place of the mask
const UNTRIED = "Run with this mask to see what it changes.";

export class Result extends View {
  /** @type {Run | null} */
  plain = null; // without the mask, with the padding that it has
  /** @type {Run | null} */
  home = null; // without either
  /** @type {MaskResult | null} */
  result = null;
  /** @type {Place | null} */
  led = null; // shown in place of what is selected, until that is another
  leads = -1; // the next result begins at its largest leak where no more places than these were chosen; -1: nowhere
  mask = new Mask(0);
  scope = ""; // the code of the layers and heads that it applies in
  wrong = ""; // why what is typed is no scope
  ranWith = this.mask;
  missing = ""; // why it cannot run
  leaks = new Leaks((place) => current.selection.set(place));
  panels = new Panels((place) => current.selection.set(place), this.leaks.node);
  views = [this.leaks, this.panels];
  verdict = el("h2", { class: "viz-lead", id: "viz-mask-verdict", role: "status", hidden: true });
  sentence = el("h2", { class: "viz-lead", id: "viz-mask-sentence" }, UNTRIED);
  alone = el("p", { class: "viz-mask-alone", id: "viz-mask-alone" });
  mend = button("Apply the mask correctly", () => this.begin(NO_MISTAKE), {
    id: "viz-mask-mend",
    class: "viz-small viz-mask-run",
  });
  everywhere = button("Show this run in all tabs", () => current.enter(this.run), { id: "viz-mask-everywhere" });
  back = button("Back to the run without a mask", () => current.enter(this.home), { id: "viz-mask-back" });
  shown = el("span", { class: "viz-caption", role: "status" });
  other = el("option", { hidden: true }, "none: the file is passed");
  mistake = el("select", { id: "viz-mask-mistake", onchange: () => this.#warn() });
  start = button("Run with this mask", () => this.#run(), { id: "viz-mask-run", class: "viz-small viz-mask-run" });
  cancel = button("Stop waiting", () => this.#cancel());
  said = el("span", { class: "viz-caption", role: "status" });
  warning = el("p", { class: "viz-mask-warning viz-warning", hidden: true });
  body = el("div", { class: "viz-mask-result", hidden: true }, this.panels.node);
  bar = controls(
    ...[this.mend, control("Simulate a bug:", this.mistake), this.start, this.cancel, this.said],
    ...[this.everywhere, this.back, this.shown],
  );
  head = el("div", {}, this.verdict, this.sentence, this.alone, this.bar, this.warning);
  node = section("viz-mask-box viz-mask-result-box", "Run with the mask", this.head, this.body);
  #ofFile = NO_MISTAKE; // the mistake that passing the file is
  #unlike = false; // no mistake is
  #asked = this.latest((sentence) => this.#idle(sentence)); // on a fault the result before stays

  // `made` gets each run with a mask.
  constructor(/** @type {(run: Run) => unknown} */ made) {
    super();
    this.made = made;
  }

  /** A new run without a mask: nothing was tried on it yet.
   * @type {(plain: Run, home: Run, offered: MasksOffered) => void} */
  enter(plain, home, { mistakes, missing }) {
    if (!this.mistake.length)
      this.mistake.append(
        ...options(mistakes.map(({ name, words }) => [name, name === NO_MISTAKE ? "none" : `the code ${words}`])),
        this.other,
      );
    this.#asked.stop();
    Object.assign(this, { plain, home, missing, result: null, run: null, led: null, leads: -1 });
    this.mistake.value = NO_MISTAKE;
    for (const node of [...this.#found, this.alone, this.mend, this.back, this.shown]) node.hidden = true;
    this.sentence.textContent = UNTRIED;
    this.panels.leave();
    this.#idle(missing);
    this.#warn();
  }

  /** The mask that is painted now, and where it applies. @type {(mask: Mask, scope: string, wrong: string) => void} */
  follow(mask, scope, wrong) {
    if (this.led && !mask.equals(this.ranWith)) this.#takeBack(); // the mistake was planted by the opening, not by the user
    Object.assign(this, { mask, scope, wrong });
    this.#tell();
    this.start.disabled = this.#refused;
  }

  // What the file is that is passed; where a mistake of the code passes the same, that mistake is chosen.
  judge(/** @type {Verdict} */ { says, wrong, mistake, unlike }) {
    this.verdict.hidden = !says;
    this.verdict.textContent = says;
    this.verdict.classList.toggle("viz-mask-wrong", wrong);
    this.#ofFile = mistake || NO_MISTAKE;
    this.#choose(this.#ofFile);
    this.#unlike = unlike;
    this.#warn();
  }

  // What the run found; nothing of a mask that was changed since, whose maps stay pale below.
  #tell() {
    const { result } = this;
    if (!result) return;
    const stale = !this.mask.equals(this.ranWith) || this.scope !== this.ranIn || this.mistaken !== this.mistake.value;
    this.sentence.textContent = stale ? CHANGED : result.sentence;
    this.body.classList.toggle("viz-mask-before", stale);
    this.alone.hidden = stale || !result.alone;
    this.mend.hidden = stale || result.mistake === NO_MISTAKE;
  }

  // What is there only with a result.
  get #found() {
    return [this.body, this.everywhere];
  }

  // Scope of the shown result's mask.
  get ranIn() {
    return this.result?.scope.code ?? "";
  }

  get #refused() {
    return Boolean(this.missing || this.wrong);
  }

  // Bring all parts in line with the selection.
  show() {
    const { run, result: found, home } = this;
    if (!run || !found || !home) return;
    const place = this.led ?? current.selection;
    this.leaks.show(found, place);
    this.panels.show(run, found, place);
    const key = current.run?.key;
    this.everywhere.hidden = key === run.key;
    this.back.hidden = this.shown.hidden = key === home.key;
    this.shown.textContent = `All tabs show ${key === run.key ? "the run with this mask" : "a run with an earlier mask"}.`;
  }

  /** A result that the server holds already. @type {(run: Run, mask: Mask) => Promise<void>} */
  async fetch(run, mask) {
    await this.#take((signal) => result(run, signal), mask);
    this.#choose(this.mistaken);
    this.#warn();
  }

  // The mistake that the shown result was made with.
  get mistaken() {
    return this.result?.mistake ?? NO_MISTAKE;
  }

  /** Run with the mask that is there, and with a planted mistake where one is named. @type {(mistake: string) => Promise<void>} */
  async begin(mistake) {
    if (mistake) this.#choose(mistake);
    this.#warn();
    await this.#run();
  }

  async #run() {
    const { plain, mask, scope, mistake } = this;
    if (plain) await this.#take((signal) => runWith(plain, mask, scope, mistake.value, signal), mask);
  }

  /** @type {(work: (signal: AbortSignal) => Promise<MaskResult>, mask: Mask) => Promise<void>} */
  async #take(work, mask) {
    this.cancel.hidden = false;
    this.start.disabled = true;
    this.stale();
    const tell = (/** @type {number} */ seconds) => this.said.replaceChildren(`Running … ${seconds} s`);
    const found = await this.#asked.run((fresh) => fresh(work(fresh.signal)), { tell });
    if (found) await this.#enter(found, mask);
  }

  #cancel() {
    this.#asked.stop();
    this.#idle("Stopped waiting; nothing was changed.");
  }

  #idle(/** @type {string} */ sentence) {
    this.said.textContent = sentence;
    this.cancel.hidden = true;
    this.start.disabled = this.#refused;
  }

  /** @type {(found: MaskResult, mask: Mask) => Promise<void>} */
  async #enter(found, mask) {
    const run = new Run(found.run);
    Object.assign(this, { run, result: found, ranWith: mask });
    this.#idle("");
    this.made(run);
    if (this.leads >= 0 && !mask.equals(this.mask))
      this.#takeBack(); // another mask was chosen meanwhile
    else if (this.leads === current.selection.placed) this.led = strongestLeak(found);
    this.leads = -1;
    this.alone.textContent = found.alone;
    for (const node of this.#found) node.hidden = false;
    this.follow(this.mask, this.scope, this.wrong);
    this.show();
    this.painted(run.key);
  }

  #takeBack() {
    this.led = null;
    this.mistake.value = NO_MISTAKE;
    this.#warn();
  }

  #choose(/** @type {string} */ mistake) {
    const bits = mistake.startsWith(BITS);
    if (bits) this.other.value = mistake;
    this.other.hidden = !bits;
    this.mistake.value = mistake;
  }

  #warn() {
    const [chosen] = this.mistake.selectedOptions;
    const none = !chosen || chosen.value === NO_MISTAKE;
    const file = this.mistake.value === this.#ofFile;
    const other = chosen === this.other;
    const what = file ? "Chosen for your file: passing it is as if" : "A mistake is planted: the mask is passed, and";
    this.warning.hidden = none && !this.#unlike;
    this.warning.textContent = none
      ? UNLIKE
      : `${other ? "The file's mask is passed in place of what you mean" : `${what} ${chosen.textContent}`}. Any weight on a pair that is meant to be forbidden is a leak.`;
    this.#tell();
  }
}

/** Where the largest forbidden weight is; null where there is none. @type {(found: MaskResult) => Place | null} */
function strongestLeak({ leak, at }) {
  const most = headsIn(leak).reduce((one, other) => (other.value > one.value ? other : one), {
    layer: 0,
    head: 0,
    value: 0,
  });
  if (!most.value) return null;
  const [query, key] = at[most.layer][most.head];
  return { layer: most.layer, head: most.head, query, key };
}
