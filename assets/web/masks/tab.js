// The Masks tab: a mask to paint, its numbers, a run with it, its reach and its code.

import { el, onTheme } from "../core/dom.js";
import { current } from "../core/app_state.js";
import { Mask } from "./mask_bits.js";
import { Code } from "./code.js";
import { Convention } from "./convention.js";
import { EmptyRows } from "./empty_rows.js";
import { Painter } from "./painter.js";
import { Presets } from "./presets.js";
import { Reach } from "./reach.js";
import { Result } from "./result.js";
import { bits, json } from "./requests.js";
import { Run } from "../core/run.js";

const PLAIN = { name: "none", sizes: {} }; // what a run begins with

// Called by the page once; the run and the selection are those of all tabs.
export function mount(root) {
  window.vizMasks = new MasksTab(root); // so that a script or a test can ask what is shown
}

class MasksTab {
  constructor(root) {
    this.root = root;
    this.family = new Set(); // keys of the run without a mask, and of its runs with one
    this.origins = new WeakMap(); // mask → the preset that made it
    this.convention = new Convention();
    this.painter = new Painter((mask) => this.#changed(mask));
    this.presets = new Presets({ convention: () => this.convention.value, made: (mask, by) => this.#made(mask, by) });
    this.emptyRows = new EmptyRows();
    this.result = new Result((run) => this.family.add(run.key));
    this.reach = new Reach((token) => current.selection.set({ query: token }));
    this.code = new Code();
    this.empty = el("p", { class: "viz-empty" }, "Type a text or drop a picture, and press Run.");
    this.fault = el("div", { class: "viz-alert", role: "alert", hidden: true });
    this.body = el(
      "div",
      { class: "viz-masks", hidden: true },
      el(
        "div",
        { class: "viz-mask-top" },
        el(
          "section",
          { class: "viz-mask-box", "aria-label": "Mask" },
          el("h3", {}, "Mask: which queries may attend to which keys"),
          this.presets.node,
          this.painter.node,
        ),
        el("div", { class: "viz-mask-side" }, this.convention.node, this.emptyRows.node, this.code.node),
      ),
      this.result.node,
      this.reach.node,
    );
    root.replaceChildren(this.empty, this.fault, this.body);
    this.#listen();
  }

  get mask() {
    return this.painter.mask;
  }

  #listen() {
    current.on((run) => {
      this.run = run;
      this.#refresh();
    });
    current.selection.on(() => this.entered && this.#seen() && this.#follow());
    onTheme(() => this.entered && this.#redraw());
    new ResizeObserver(() => this.#look()).observe(this.root);
  }

  #seen() {
    return this.root.clientWidth > 0;
  }

  // A hidden tab asks for nothing; it is brought up to date when it is seen.
  #look() {
    const seen = this.#seen();
    if (seen && !this.visible) requestAnimationFrame(() => this.#refresh());
    if (!seen && this.visible) this.reach.leave();
    this.visible = seen;
  }

  async #refresh() {
    const { run } = this;
    this.empty.hidden = Boolean(run);
    if (!run) this.body.hidden = this.fault.hidden = true;
    if (!run || !this.#seen()) return;
    if (this.#isKnown(run)) return this.entered && this.#follow();
    this.asked = run;
    try {
      await this.#enter(run);
    } catch (fault) {
      if (this.asked !== run) return;
      this.asked = null; // so that it is tried again when it is seen again
      this.body.hidden = true;
      this.fault.textContent = fault.message;
      this.fault.hidden = false;
    }
  }

  // The run that the painting is about, with a mask or without.
  #isKnown(run) {
    return this.asked === run || this.family.has(run.key);
  }

  async #enter(run) {
    this.entered = false;
    const offered = await json(run, "offered");
    if (this.asked !== run) return;
    this.plain = offered.plain ? new Run(offered.plain) : run;
    this.family = new Set([this.plain.key, run.key]);
    const mask = offered.plain ? await bits(run, "intent") : new Mask(run.n);
    if (this.asked !== run) return;
    if (!offered.plain) this.origins.set(mask, PLAIN);
    this.fault.hidden = true;
    this.body.hidden = false;
    this.convention.offer(offered.conventions);
    this.code.offer(offered.targets);
    this.presets.show(this.plain, offered);
    this.result.offer(offered);
    this.result.enter(this.plain);
    this.reach.enter(this.plain);
    this.entered = true;
    this.painter.start(this.plain, mask, offered.painted);
    this.emptyRows.enter(this.plain);
    if (offered.plain) await this.result.fetch(run, mask);
    this.body.dataset.painted = run.key;
  }

  #made(mask, by) {
    if (by) this.origins.set(mask, by);
    if (mask.equals(this.mask)) this.presets.mark(this.#origin());
    else this.painter.put(mask);
  }

  #origin() {
    return this.origins.get(this.mask) ?? null;
  }

  #changed(mask) {
    if (!this.entered) return;
    this.presets.mark(this.#origin());
    this.convention.show(this.plain, mask);
    this.code.show(this.plain, mask, this.#origin());
    this.result.follow(mask);
    this.#follow();
  }

  // In line with the selection and with the run that all tabs show.
  #follow() {
    this.result.show();
    this.reach.show(this.mask, Math.min(current.selection.query, this.plain.n - 1));
  }

  #redraw() {
    this.convention.show(this.plain, this.mask);
    this.result.draw();
    this.reach.draw();
  }
}
