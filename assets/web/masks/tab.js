// The Masks tab: a mask to check or paint, a run with it, and its code; known bugs and a quiz.

import { current } from "../core/app_state.js";
import { caption, control, controls, el, status } from "../core/dom.js";
import { sentenceOf } from "../core/latest.js";
import { Run } from "../core/run.js";
import { TabShell } from "../core/tab_shell.js";
import { known } from "../core/view.js";
import { PartSwitch } from "../views/part_switch.js";
import { Code } from "./code.js";
import { Mask } from "./mask_bits.js";
import { codeOf, MOST_CHARACTERS, maskFrom } from "./mask_link.js";
import { Painter } from "./painter.js";
import { PassedFile } from "./passed_file.js";
import { Presets } from "./presets.js";
import { intent, offered, padded } from "./requests.js";
import { Result } from "./result.js";
import { ScopeFields, scopeIn } from "./scope_fields.js";
import { stepsOf } from "./strokes.js";
import { mountZoo } from "./zoo.js";

/** @typedef {{ mask: string, pad: string, scope: string, mistake: string, ran: string }} Linked what a link has of this tab */

const noted = () => {
  const note = (/** @type {string} */ name) => current.selection.noted(`masks.${name}`);
  return { mask: note("mask"), pad: note("pad"), scope: note("scope"), mistake: note("mistake"), ran: note("ran") };
};

/** @type {Linked} what a run opens on: padding that the code forgets to mask */
const FORGOTTEN = { mask: "padding-right:padding=2", pad: "end:2", scope: "", mistake: "ignored", ran: "1" };
const SHORT = 128; // tokens; a longer run opens on no mask
/** @type {Origin} */
const PLAIN = { name: "none", sizes: {} }; // what a run begins with

const PLACE = ["layer", "head", "query", "key"];
const PARTS = {
  tab: "masks",
  note: "masks.part",
  titles: { check: "Check mine", paint: "Paint", bugs: "Known bugs", quiz: "Quiz" },
  signs: { bugs: "zoo.bug" },
};

// Called by the page once; the run and the selection are those of all tabs. The known bugs need no run.
export function mount(/** @type {HTMLElement} */ root) {
  const [mine, bugs] = [el("div", { class: "viz-of-mine" }), el("div", { class: "viz-of-bugs" })];
  const tab = known("vizMasks", new MasksTab(mine));
  const opened = (/** @type {string} */ part) => {
    if (part === "bugs" || part === "quiz") mountZoo(bugs, part, tab);
  };
  const parts = new PartSwitch(PARTS, opened, tab.signal);
  parts.node.classList.add("viz-mask-switch");
  root.replaceChildren(parts.node, mine, bugs);
  parts.openLinked();
}

class MasksTab extends TabShell {
  /** @type {Run | null} */
  plain = null; // the run without a mask, once its mask is there; with the padding that the mask is of
  /** @type {Run | null} */
  home = null; // the run without a mask and without padding
  /** @type {WeakMap<Mask, Run>} */
  runs = new WeakMap(); // mask → its run
  /** @type {Set<string>} */
  family = new Set(); // keys of the run without a mask, and of its runs with one
  /** @type {WeakMap<Mask, Origin>} */
  origins = new WeakMap();
  ready = false;
  #ran = new Mask(0); // with which the run that is shown ran; a link holds it by itself
  #ranIn = ""; // where that mask applies
  linkSaid = status();
  opens = false; // on padding that is forgotten
  #noted = { mask: "", pad: "", scope: "" }; // of the painted mask
  #linkFault = ""; // what of the link could not be used, until the mask is another
  painter = new Painter(
    (mask) => this.#changed(mask),
    (mask) => (this.runs.get(mask) ?? this.plain)?.tokens ?? [],
  );
  presets = new Presets(
    (mask, by, run) => this.#made(mask, by, run),
    () => this.passed.compare(null),
  );
  passed = new PassedFile({
    meant: () => (this.#origin() ? this.presets.meant : this.#ofFile ? null : this.#painted()),
    made: (mask, run) => this.#made(mask, null, run),
    tell: (verdict) => this.result.judge(verdict),
    dropped: () => this.ready && this.#mark(),
  });
  scope = new ScopeFields(() => this.#changed(this.mask));
  paint = el(
    "section",
    { class: "viz-mask-box viz-mask-paint", "aria-label": "Mask" },
    ...[caption("Which queries may attend to which keys"), this.scope.node, this.painter.node],
  );
  result = new Result((run) => {
    this.family.add(run.key);
    this.#noteRan();
  });
  code = new Code();
  views = [this.painter, this.result, this.code];
  #painted = async () => ({ code: await codeOf(this.mask, null) });
  #asked = this.latest((sentence) => {
    this.family.clear(); // so that it is tried again when it is seen again
    this.fail(sentence);
  });

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-masks");
    const { presets, passed } = this;
    const means = el("div", {}, controls(control("I mean:", presets.choice), presets.sizes), presets.sentence);
    const passes = el(
      "div",
      { class: "viz-mask-passes" },
      controls(el("span", {}, "I pass:"), ...passed.nodes),
      passed.says,
    );
    const named = { class: "viz-mask-check", role: "group", "aria-label": "Check mine" };
    const row = el("div", named, means, passes);
    this.body.append(
      ...[row, presets.fault, passed.fault, this.linkSaid, this.paint, this.result.node],
      this.code.node,
    );
    current.selection.on((names) => {
      if (!this.root.clientWidth) return;
      if (PLACE.some((name) => names.has(name))) this.result.led = null;
      this.#follow();
    }, this.signal);
    document.addEventListener("keydown", (event) => this.#key(event), { signal: this.signal });
    this.open();
  }

  get mask() {
    return this.painter.mask;
  }

  /** @override @param {Run} run */
  show(run) {
    this.body.hidden = !this.plain;
    if (this.family.has(run.key)) {
      const { run: made, ranWith, ranIn } = this.result;
      const own = run.key === made?.key;
      this.#ran = own ? ranWith : new Mask(run.n);
      this.#ranIn = own ? ranIn : "";
      if (this.ready) this.#note();
      return this.#follow();
    }
    this.family = new Set([run.key]);
    this.ready = this.opens = false;
    this.#asked.run((fresh) => this.#enter(run, fresh));
  }

  /** @type {(run: Run, fresh: Fresh) => Promise<void>} */
  async #enter(run, fresh) {
    const linked = run.key === current.selection.opened ? noted() : null;
    const { placed } = current.selection;
    const offer = await fresh(offered(run));
    const mask = offer.plain ? await fresh(intent(run)) : new Mask(run.n);
    const by = offer.plain ? offer.made : PLAIN;
    if (by) this.origins.set(mask, by);
    const plain = offer.plain ? new Run(offer.plain) : run;
    this.plain = plain;
    const home = offer.alone ? new Run(offer.alone) : plain;
    this.home = home;
    for (const { key } of [plain, home]) this.family.add(key);
    this.body.hidden = !this.run;
    this.code.offer(offer);
    this.result.enter(plain, home, offer);
    this.presets.show(home, offer, this.passed.means);
    this.passed.show(home, offer);
    this.passed.shown = plain;
    this.scope.start(plain, await fresh(scopeIn(plain, offer.scope)));
    this.ready = true;
    this.#ran = mask;
    this.#ranIn = offer.scope;
    this.painter.start(mask, offer.painted);
    if (offer.plain) await fresh(this.result.fetch(run, mask));
    this.opens = !offer.plain && !offer.missing && !offer.alone && !run.changed && run.n <= SHORT && this.presets.pads;
    const given = linked?.mask ? linked : this.opens ? FORGOTTEN : null;
    if (given) await this.#restore(plain, given, fresh, placed);
    this.painted(run.key);
  }

  /** The painted mask of a link, and its result where there was one; `placed` is how often a place was chosen before.
   * @type {(run: Run, linked: Linked, fresh: Fresh, placed: number) => Promise<void>} */
  async #restore(plain, { mask: code, pad, scope, mistake, ran }, fresh, placed) {
    const begun = this.mask;
    try {
      const presets = this.presets.presets.map(({ name }) => name);
      const run = pad ? await fresh(padded(plain, pad)) : plain;
      const { mask, by } = await fresh(maskFrom(code, run, presets));
      let wrong = "";
      const scoped = scopeIn(run, scope).catch((fault) => {
        wrong = `The layers and heads in this link are not used: ${sentenceOf(fault)} The mask applies to all of them.`;
      });
      const where = await fresh(scoped);
      if (this.mask !== begun) return; // another was chosen meanwhile
      this.scope.start(run, where || undefined);
      this.#made(mask, by, run);
      this.#changed(this.mask);
      this.#linkFault = wrong;
      this.#note(); // which says it
      this.result.leads = code === FORGOTTEN.mask ? placed : -1;
      if (ran && !wrong) await fresh(this.result.begin(mistake));
    } catch (fault) {
      if (fresh.signal.aborted) throw fault; // another run was entered meanwhile
      const why = sentenceOf(fault).replace(/\.$/, "");
      this.linkSaid.textContent = `The painted mask in this link is not shown: ${why}.`;
    }
  }

  // The link stores the painted mask unless the run on screen was made with it.
  async #note() {
    const { mask } = this;
    const { code: where } = this.scope.scope;
    const own = this.#isRan(mask, where);
    const code = own ? "" : await codeOf(mask, this.#origin());
    if (mask !== this.mask || where !== this.scope.scope.code) return; // another was painted meanwhile
    const pad = code && (this.plain?.link.pad ?? "");
    const none = own && this.opens && !this.run?.masked;
    this.#noted = { mask: none ? PLAIN.name : code, pad, scope: code && where };
    this.linkSaid.textContent =
      own || code
        ? this.#linkFault
        : `This mask is too large for a link, which holds at most ${MOST_CHARACTERS} characters of a mask.`;
    this.#noteRan();
  }

  #noteRan() {
    if (this.signal.aborted) return;
    const { result, ranWith, ranIn, mistaken } = this.result;
    const { code: where } = this.scope.scope;
    const ran = result !== null && ranWith.equals(this.mask) && ranIn === where && !this.#isRan(this.mask, where);
    const made = { ran: ran ? "1" : "", mistake: ran && mistaken !== "none" ? mistaken : "" };
    const now = Object.entries({ ...this.#noted, ...made });
    const asOpened =
      this.opens && now.every(([name, value]) => value === FORGOTTEN[/** @type {keyof Linked} */ (name)]);
    current.selection.note(Object.fromEntries(now.map(([name, value]) => [`masks.${name}`, asOpened ? "" : value])));
  }

  /** Whether the run that is shown ran with this mask, there. @type {(mask: Mask, where: string) => boolean} */
  #isRan(mask, where) {
    return mask.equals(this.#ran) && where === this.#ranIn;
  }

  /** @type {(mask: Mask, by: Origin | null, run: Run) => void} */
  #made(mask, by, run) {
    this.runs.set(mask, run);
    if (by) this.origins.set(mask, by);
    if (mask.equals(this.mask)) this.#mark();
    else this.painter.put(mask);
  }

  // Name what is meant, and hold the file against it, unless it is what the file holds.
  #mark() {
    const [by, file] = [this.#origin(), this.#ofFile];
    this.presets.mark(by, file);
    if (by || !file) this.passed.compare(by ?? this.#painted());
  }

  get #ofFile() {
    return this.passed.mask?.equals(this.mask) ?? false;
  }

  #origin() {
    return this.origins.get(this.mask) ?? null;
  }

  #changed(/** @type {Mask} */ mask) {
    if (!this.ready || !this.plain) return;
    const run = this.runs.get(mask) ?? this.plain;
    this.runs.set(mask, run);
    if (run !== this.plain) this.#stand(run);
    this.#linkFault = "";
    const by = this.#origin();
    const { scope, wrong } = this.scope;
    this.#mark();
    if (wrong) this.code.refuse(wrong);
    else this.code.show({ run: this.plain, mask, scope, by });
    this.result.follow(mask, scope.code, wrong);
    this.#follow();
    this.#note();
  }

  // The mask is of another run now: one with padding, or back to the one without.
  #stand(/** @type {Run} */ run) {
    this.plain = this.passed.shown = this.result.plain = run;
    this.family.add(run.key);
  }

  // Undo and redo, wherever the focus is while this tab is seen.
  #key(/** @type {KeyboardEvent} */ event) {
    const steps = this.ready && this.root.clientWidth ? stepsOf(event) : 0;
    if (!steps) return;
    event.preventDefault();
    this.presets.leave();
    this.painter.go(steps);
  }

  // In line with the selection and with the run that all tabs show.
  #follow() {
    if (this.ready && this.plain) this.result.show();
  }
}
