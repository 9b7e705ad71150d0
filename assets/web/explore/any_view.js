// Any view of the package as its Plotly figure, with controls made from what the view says it takes.

import { caption, control, controls, el } from "../core/dom.js";
import { View } from "../core/view.js";
import { Figure } from "../views/plotly_figure.js";
import { ViewControls } from "../views/view_controls.js";

/** @type {Record<string, string>} */
const SWITCHES = { hide_special: "hide", renormalize: "renorm", words: "words" }; // of a view by those of the page

export class AnyView extends View {
  #latest = this.latest((sentence) => this.figure.fail(sentence));
  /** @type {Run | null} */
  #of = null; // of which the views are offered
  /** @type {Views} */
  offered = {};
  view = el("select", {
    onchange: () => {
      this.#fill();
      this.load();
    },
  });
  controls = new ViewControls(() => this.load());
  figure = new Figure("A view of the run");
  about = caption();
  views = [this.figure];
  node = el(
    "details",
    { class: "viz-any", ontoggle: () => this.open() },
    el("summary", {}, "Any view as a Plotly figure"),
    controls(control("View", this.view), this.controls.node),
    this.about,
    this.figure.node,
  );

  show(/** @type {Run} */ run) {
    this.run = run;
    return this.open();
  }

  // What there is to draw is asked for by whoever opens it.
  open() {
    const { run } = this;
    if (!run || !this.node.open) return null;
    if (this.#of === run) return this.load();
    return this.#latest.run(async (fresh) => {
      this.#offer(await fresh(run.views()));
      this.#of = run;
      this.load();
    });
  }

  #offer(/** @type {Views} */ views) {
    const before = this.view.value;
    this.offered = views;
    const all = Object.values(views);
    this.view.replaceChildren(
      ...all.map(({ name, title, missing }) =>
        el("option", { value: name, disabled: Boolean(missing) }, missing ? `${title}: ${missing}` : title),
      ),
    );
    const there = all.filter(({ missing }) => !missing);
    this.view.value = (there.find(({ name }) => name === before) ?? there[0]).name;
    this.#fill();
  }

  // Views out of sight compute nothing.
  load() {
    if (!this.run || !this.node.open || !this.node.clientWidth) return;
    this.figure.show(this.run, `${this.view.value}?${new URLSearchParams(this.controls.values())}`);
  }

  #fill() {
    if (!this.run) return;
    const { controls, look, source } = this.offered[this.view.value];
    this.about.textContent = [look, source && `Source: ${source}.`].filter(Boolean).join(" ");
    this.controls.show(this.run, controls, (control) => startOf(control, this.selection));
  }
}

/** A control begins at what is selected on the page, where the view has it.
 * @type {(control: ViewControl, selection: object) => string | number} */
export function startOf(control, selection) {
  const usual = control.default ?? "";
  const switched = Object.entries(selection).find(([name]) => name === SWITCHES[control.name])?.[1];
  if (typeof switched === "boolean") return switched ? "yes" : "no";
  const selected = Object.entries(selection).find(([name]) => name === control.name)?.[1];
  const has =
    control.words.includes(selected) ||
    (typeof selected === "number" && control.most !== null && selected <= control.most);
  return has && control.default !== null ? selected : usual;
}
