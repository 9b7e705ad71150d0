// The package's own figures of the states, as their places name this tab: norms and updates, PCA, logit lens.

import { caption, controls, el } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { View } from "../core/view.js";
import { Figure } from "../views/plotly_figure.js";
import { ViewControls } from "../views/view_controls.js";

/** @import { State } from "./token_similarity.js" */

const DRAWN = "similarity"; // the slot of what the tab draws itself
const SHARED = ["hide_special", "token"]; // chosen in the tab for all of them
const ANSWERS = "logit_lens"; // and of what a model without a prediction head has not

class StateFigure extends View {
  controls = new ViewControls(() => this.load());
  /** @type {Record<string, string>} */
  shared = {}; // what the tab has chosen for all of them
  about = caption();
  choices = controls(this.controls.node);
  node = el("section", { class: "viz-hidden-panel" });

  constructor(/** @type {ViewDescription} */ view) {
    super();
    this.view = view;
    this.figure = new Figure(view.title);
    this.views = [this.figure];
  }

  /** Another run, and what the view is of it. @param {Run} run @param {ViewDescription} view */
  enter(run, view) {
    [this.run, this.view] = [run, view];
    this.about.textContent = view.missing ? `${view.title}: ${view.missing}` : view.look;
    this.node.replaceChildren(this.about, ...(view.missing ? [] : [this.choices, this.figure.node]));
    const own = view.controls
      .filter(({ name }) => !SHARED.includes(name) && (name !== "task" || run.tasks.length > 1))
      .map((control) => (control.name === "task" ? { ...control, choices: run.tasks } : control));
    this.controls.show(run, own, ({ default: usual, choices }) => usual || choices[0]);
    for (const [name, field] of Object.entries(this.controls.fields))
      inLink(`hidden.${name === "show" ? view.name : name}`, field, this.signal);
    return this;
  }

  load() {
    if (!this.run || this.view.missing) return null;
    const taken = this.view.controls.map(({ name }) => name);
    const shared = Object.entries(this.shared).filter(([name]) => taken.includes(name));
    const given = { ...this.controls.values(), ...Object.fromEntries(shared) };
    return this.figure.show(this.run, `${this.view.name}?${new URLSearchParams(given)}`);
  }
}

export class StateFigures extends View {
  /** @type {StateFigure[]} */
  views = [];
  /** @type {Record<string, StateFigure>} */
  #known = {}; // by their views
  node = el("div", { class: "viz-hidden-panels" });
  #asked = this.latest((sentence) => this.node.replaceChildren(caption(sentence)));

  show(/** @type {State} */ { run, token, hide }) {
    return this.#asked.run(async (fresh) => {
      const views = await fresh(run.viewsAt("vectors"));
      if (this.run !== run) {
        const there = views.filter(({ place }) => place.slot !== DRAWN && (place.slot !== ANSWERS || run.tasks.length));
        Object.assign(this, { run });
        this.views = there.map((view) => {
          this.#known[view.name] ??= new StateFigure(view);
          return this.#known[view.name].enter(run, view);
        });
        this.node.replaceChildren(...this.views.map(({ node }) => node));
      }
      const shared = { token: String(token), hide_special: hide ? "yes" : "no" };
      for (const figure of this.views) Object.assign(figure, { shared }).load();
    });
  }
}
