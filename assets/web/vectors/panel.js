// A panel of the Vectors tab: heading, what is measured, its body, and its files.

import { el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { fullScreen } from "../views/full_screen.js";
import { savePicture } from "../views/plotly_figure.js";
import { fileAt, saves } from "../views/save_row.js";

/** @import { Choice } from "../views/save_row.js" */

/** @typedef {{ run: Run, layer: number, token: number, hide: boolean }} State what is to be shown */
/** @typedef {{ hover: (token: number | null) => void, choose: (token: number) => void, layer: (at: number) => void }} Acts */
/** @typedef {[text: string, path: string]} Table what its link says, and where its numbers are */
/** @typedef {(state: State, fresh: Fresh) => Promise<string | null>} Draw gives what was drawn, for data-painted */

const PATIENCE = 80; // ms before the panel says that it is computing

export class Panel {
  #latest = new Latest((sentence) => this.fail(sentence));
  said = el("p", { class: "viz-caption viz-hidden-said", role: "status" });
  told = el("p", { class: "viz-hidden-told" }); // of what is under the pointer
  body = el("div", { class: "viz-hidden-body" });
  take = el("div");
  /** @type {State | null} */
  state = null;
  /** @type {number | null} */
  hovered = null;

  /** `slot` is its name, and that of the views of figures/ which draw it for paper.
   * @param {Acts} acts @param {string} slot @param {string} title @param {string} measures */
  constructor(acts, slot, title, measures) {
    this.acts = acts;
    this.slot = slot;
    this.title = title;
    const attributes = { class: "viz-hidden-panel", id: `viz-hidden-${slot}`, "aria-label": title };
    const said = el("p", { class: "viz-caption viz-hidden-measures" }, measures);
    const files = el("details", { class: "viz-figure-take viz-folded" }, el("summary", {}, "⤓ Save"), this.take);
    this.node = el("section", attributes, el("h3", {}, title), said, this.said, this.body, files);
    this.node.prepend(fullScreen(this.node, () => this.fit()));
  }

  // What a panel does: draw a state; say where its numbers are, given why its first view is missing;
  // mark the token that is pointed at; forget the colors it drew with.
  /** @type {Draw} */
  async draw() {
    return null;
  }
  /** @type {(state: State, missing: string) => Table[]} */
  tables() {
    return [];
  }
  /** @returns {Record<string, string | number>} choices of its own, by the names of its views' controls */
  choices() {
    return {};
  }
  mark(/** @type {number | null} */ hovered) {
    this.hovered = hovered;
  }
  redraw() {}
  // Draw once more in other room; its width alone is watched by the panel itself.
  fit() {}

  show(/** @type {State} */ state) {
    this.state = state;
    return this.#latest.run(
      async (fresh) => {
        const [painted] = await Promise.all([this.draw(state, fresh), this.#offer(state, fresh)]);
        this.say("");
        if (painted !== null) this.node.dataset.painted = `${state.run.key}:${painted}`;
      },
      { tell: () => this.#busy(), patience: PATIENCE },
    );
  }

  // Redraw with the panel's own choices changed.
  again() {
    if (this.state) this.show(this.state);
  }

  // Drop what is under way.
  leave() {
    this.#latest.stop();
  }

  fail(/** @type {string} */ sentence) {
    this.say(sentence);
    this.node.classList.add("viz-failed");
    delete this.node.dataset.painted;
  }

  say(/** @type {string} */ sentence) {
    this.said.textContent = sentence;
    this.node.classList.remove("viz-failed", "viz-busy");
  }

  views(/** @type {Run} */ run) {
    return run.viewsAt("vectors", this.slot);
  }

  /** Links to tables, and buttons that draw the first view that there is for paper. @type {(state: State, fresh: Fresh) => Promise<void>} */
  async #offer(state, fresh) {
    const views = await fresh(this.views(state.run));
    const view = views.find(({ missing }) => !missing);
    const tables = this.tables(state, views[0]?.missing ?? "").flatMap(([text, path]) => {
      const [what, options] = path.split("?");
      const file = (/** @type {string} */ kind) => fileAt(state.run.url(`hidden/take/${what}.${kind}?${options}`));
      return /** @type {Choice[]} */ ([
        [`${text}CSV`, "These numbers as a table", () => file("csv")],
        [`${text}npz`, "The same for NumPy", () => file("npz")],
      ]);
    });
    const pictures = ["PNG", "SVG"].map((format) => {
      const make = () => view && this.#picture(state, view, format.toLowerCase());
      return /** @type {Choice} */ ([format, "A picture for paper", make]);
    });
    const { node } = saves(`Files of ${this.title}`, [...tables, ...(view ? pictures : [])]);
    this.take.replaceChildren(node);
  }

  /** @type {(state: State, view: ViewDescription, format: string) => Promise<null>} */
  async #picture({ run, layer, token, hide }, { name: view, controls }, format) {
    /** @type {Record<string, string | number>} */
    const given = { state: layer, token, hide_special: hide ? "yes" : "no", ...this.choices() };
    const options = new URLSearchParams();
    for (const { name } of controls) if (name in given) options.set(name, String(given[name]));
    await savePicture(await run.json(`figure/${view}?${options}`), view, format);
    return null;
  }

  #busy() {
    this.said.textContent = "Computing …";
    this.node.classList.add("viz-busy");
  }
}
