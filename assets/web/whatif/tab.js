// The What if tab: the model run again without a head, a word or a link, and what that changes.

import { current } from "../core/app_state.js";
import { hiding } from "../core/change_codes.js";
import { changedRun, codesOf } from "../core/changed_run.js";
import { button, caption, control, el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { withoutMask } from "../core/masked_banner.js";
import { headsOf } from "../core/selection_address.js";
import { TabShell } from "../core/tab_shell.js";
import { AgainstAttention } from "./against_attention.js";
import { headCode } from "./codes.js";
import { Finding } from "./finding.js";
import { HeadsPanel } from "./heads_panel.js";
import { headEffects, offered, tokenEffects } from "./requests.js";
import { Texts } from "./texts.js";
import { TokenTable } from "./token_table.js";
import { usualHeads } from "./usual_heads.js";
import { WordRow } from "./word_row.js";
import { linkedHeads, linkedTwin, linkedWay, noteHeads, noteTwin, noteWay } from "./way_link.js";
import { unitOf } from "./wording.js";
import { Work } from "../views/work.js";

/** @import { Fresh } from "../core/latest.js" */
/** @import { HeadEffects, TokenEffects, WhatIfOffered } from "../core/payloads.d.ts" */
/** @import { HeadPlace } from "./codes.js" */
/** @import { Run } from "../core/run.js" */

const SHORT = 128; // tokens; a longer run is measured when it is asked for

// Called by the page once; the run and the selection are those of all tabs.
export function mount(/** @type {HTMLElement} */ root) {
  window.vizWhatif = new WhatIfTab(root); // so that a script or a test can ask what is shown
}

class WhatIfTab extends TabShell {
  #asked = new Latest((sentence) => {
    this.plain = null; // so that it is tried again when it is seen again
    this.fail(sentence);
  });
  /** @type {Run | null} in which nothing is changed */
  plain = null;
  /** @type {WhatIfOffered | null} */
  offer = null;
  /** @type {string[]} the codes of what is changed in the shown run */
  changes = [];
  /** @type {HeadPlace[]} */
  chosen = [];
  way = { measure: "", how: "zero" };
  tokensHow = "attention";
  /** @type {Map<string, HeadEffects>} of this plain run */
  known = new Map();
  /** @type {HeadEffects | null} */
  effects = null;
  finding = new Finding(() => this.#measure());
  words = new WordRow((codes) => this.#change(codes));
  measures = el("select", { id: "viz-whatif-measure" });
  measuring = control("Measured:", this.measures);
  measured = caption(); // what the chosen one is
  heads = new HeadsPanel({
    choose: (heads) => this.#choose(heads),
    how: (how) => this.#remeasure({ how }),
    remove: () => this.#change(this.chosen.map(headCode), (sentence) => this.heads.say(sentence)),
  });
  against = new AgainstAttention(
    (place) => this.#choose([place]),
    (codes) => this.#change(codes),
  );
  tokens = new TokenTable({
    how: (how) => {
      this.tokensHow = how;
      noteWay(this.way, this.tokensHow, this.offer?.usual);
      this.#hide();
    },
    hide: (tokens) => this.#change(hiding(tokens)),
    start: () => this.#hide(),
  });
  hiding = new Work(); // words are hidden while heads are removed, or after
  texts = new Texts((place) => this.#choose([place]));

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-whatif");
    this.words.line.append(this.measuring, this.measured);
    this.finding.wait.append(this.hiding.node);
    this.words.legend.after(this.finding.wait);
    this.measures.addEventListener("change", () => this.#remeasure({ measure: this.measures.value }));
    this.body.append(
      ...[this.finding.node, this.words.node],
      el("div", { class: "viz-whatif-columns" }, this.heads.node, this.against.node, this.tokens.node),
      this.texts.node,
    );
    current.selection.on((names) => this.root.clientWidth && this.plain && this.#selected(names));
    this.open();
  }

  /** @override @param {Run} run */
  show(run) {
    this.body.hidden = !this.plain;
    const other = this.plain?.key !== run.plainKey;
    this.#dim(other); // shows another text, where a click would change a wrong word
    if (other) this.#asked.run((fresh) => this.#enter(run, fresh));
    else if (this.offer?.missing) this.#refuse(run, this.offer.missing);
    else this.#mark(run);
  }

  /** @override */
  redraw() {
    for (const part of [this.heads, this.words, this.against, this.texts]) part.draw();
  }

  /** @type {(run: Run, fresh: Fresh) => Promise<void>} */
  async #enter(run, fresh) {
    const first = !this.plain;
    const plain = await fresh(changedRun.plainOf(run));
    const offer = await fresh(offered(plain));
    Object.assign(this, { plain, offer, effects: null, known: new Map() });
    this.#openOn(linkedHeads(run));
    this.#dim(false);
    if (offer.missing) return this.#refuse(run, offer.missing);
    this.body.hidden = false;
    if (first && current.selection.tab === "whatif") this.root.scrollIntoView(); // as a link opens it
    Object.assign(this, linkedWay(run, offer));
    this.tokens.how.value = this.tokensHow;
    this.measures.replaceChildren(
      ...options(offer.measures.map(({ name, title }) => /** @type {const} */ ([name, title]))),
    );
    this.measures.value = this.way.measure;
    noteWay(this.way, this.tokensHow, this.offer?.usual);
    this.measuring.hidden = offer.measures.length < 2;
    this.words.enter(plain);
    this.texts.enter(plain, offer.text, this.way);
    this.#begin();
    const twin = linkedTwin(run);
    if (twin) this.heads.patchFrom(twin);
    else noteTwin("");
    this.#mark(run);
    if (plain.n <= SHORT) await this.#measure();
  }

  // A run with a mask leads to the one without.
  #refuse(/** @type {Run} */ run, /** @type {string} */ sentence) {
    this.fail(sentence);
    if (run.masked)
      this.fault.append(
        " ",
        button("Open the run without its mask", () => this.#openPlain(run)),
      );
  }

  #openPlain(/** @type {Run} */ run) {
    this.#asked.run(async (fresh) => {
      const plain = await fresh(withoutMask(run));
      if (plain) current.enter(plain);
    });
  }

  // Another measure, or another stand-in for a head.
  #remeasure(/** @type {Partial<typeof this.way>} */ changes) {
    const { plain, offer, way } = this;
    if (!plain || !offer) return;
    this.way = { ...way, ...changes };
    noteWay(this.way, this.tokensHow, this.offer?.usual);
    this.texts.enter(plain, offer.text, this.way);
    this.#begin();
    this.#mark();
    if (this.known.has(this.#of) || plain.n <= SHORT) this.#measure();
  }

  #dim(/** @type {boolean} */ on) {
    this.body.inert = on;
    this.body.classList.toggle("viz-stale", on);
  }

  // Reset all parts before measuring.
  #begin() {
    const { plain, offer } = this;
    if (!plain || !offer) return;
    this.effects = null;
    this.measured.textContent = offer.measures.find(({ name }) => name === this.way.measure)?.about ?? "";
    delete this.body.dataset.painted;
    const long = plain.n > SHORT;
    for (const work of [this.finding.work, this.hiding]) work.stop();
    this.finding.enter(plain.n);
    this.finding.start.hidden = !long;
    this.heads.enter(plain, offer, this.way);
    this.tokens.enter(plain, long);
    this.against.enter();
  }

  get #of() {
    return `${this.way.measure}:${this.way.how}`;
  }

  async #measure() {
    const { plain, way } = this;
    if (!plain) return;
    this.finding.start.hidden = true;
    const of = this.#of;
    const effects =
      this.known.get(of) ??
      (await this.finding.work.run("Removing each head", (tell, signal) => headEffects(plain, way, tell, signal)));
    if (plain !== this.plain || of !== this.#of) return;
    this.finding.start.hidden = Boolean(effects);
    if (!effects) return;
    this.known.set(of, effects);
    this.#found(plain, effects);
    if (plain.n <= SHORT) await this.#hide();
  }

  /** @type {(plain: Run, effects: HeadEffects) => void} */
  #found(plain, effects) {
    this.effects = effects;
    this.finding.show(effects);
    this.heads.show(effects);
    this.texts.answer = effects.untouched.answer;
    if (!this.chosen.length) this.#openOn(usualHeads(this.changes, effects));
    this.against.show(plain, effects, current.selection);
    this.#mark();
    this.body.dataset.painted = `${plain.key}:${this.#of}`;
  }

  // Each word hidden, one at a time.
  async #hide() {
    const { plain } = this;
    if (!plain) return;
    const way = { measure: this.way.measure, how: this.tokensHow };
    delete this.tokens.node.dataset.painted;
    const found = /** @type {TokenEffects | null} */ (
      await this.hiding.run(`${way.how === "mask" ? "Masking" : "Hiding"} each ${unitOf(plain)}`, (tell, signal) =>
        tokenEffects(plain, way, tell, signal),
      )
    );
    if (!found || plain !== this.plain) return;
    this.words.show(found, way.how);
    this.tokens.show(found, way.how);
    this.words.mark(this.changes);
    this.tokens.node.dataset.painted = `${plain.key}:${way.measure}:${way.how}`;
  }

  // Chosen by a link or the run, not by a person.
  #openOn(/** @type {HeadPlace[]} */ heads) {
    this.chosen = heads;
    if (heads.length > 1) this.heads.together.checked = true;
  }

  #choose(/** @type {HeadPlace[]} */ heads) {
    this.chosen = heads;
    const last = heads[heads.length - 1];
    if (last) current.selection.set(last);
    this.#mark();
  }

  #selected(/** @type {Set<string>} */ names) {
    const { layer, head, query } = current.selection;
    const [first, ...others] = headsOf(head);
    const here =
      first !== undefined && !others.length && this.chosen.some((at) => at.layer === layer && at.head === first);
    if ((names.has("layer") || names.has("head")) && first !== undefined && !here) {
      this.chosen = [first, ...others].map((each) => ({ layer, head: each }));
      this.#mark();
    }
    if (names.has("query")) this.tokens.mark(query);
    if (this.plain && this.effects && (names.has("query") || names.has("key")))
      this.against.show(this.plain, this.effects, current.selection);
  }

  // In line with the shown run and with the chosen heads.
  #mark(run = this.run) {
    const { plain, chosen, way } = this;
    if (!plain || !run) return;
    this.body.classList.remove("viz-whatif-changing");
    this.changes = codesOf(run);
    noteHeads(chosen, usualHeads(this.changes, this.effects));
    this.words.mark(this.changes);
    this.heads.mark(plain, chosen, this.changes, way);
    this.texts.mark(chosen);
    this.against.mark(plain, chosen, way.how, this.changes);
  }

  // Make these changes of the plain run too, on all tabs; or take them back where all are made.
  #change(/** @type {string[]} */ codes, tell = (/** @type {string} */ sentence) => this.words.tell(sentence)) {
    this.body.classList.add("viz-whatif-changing");
    changedRun.toggleInPlain(codes, (sentence) => {
      tell(sentence);
      if (!sentence.startsWith("Running")) this.body.classList.remove("viz-whatif-changing");
    });
  }
}
