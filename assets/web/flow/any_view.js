// Any view of the package as its Plotly figure, with controls made from what the view says it takes.

import { el } from "../core/dom.js";
import { Figure } from "../views/plotly_figure.js";

const LISTED = 130; // numbers that a list offers; more are typed

export class AnyView {
  constructor(selection) {
    this.selection = selection;
    this.view = el("select", {
      onchange: () => {
        this.#fill();
        this.draw();
      },
    });
    this.controls = el("span", { class: "viz-flow-answer" });
    this.figure = new Figure("A view of the run");
    this.about = el("p", { class: "viz-caption" });
    this.node = el(
      "details",
      { class: "viz-any", ontoggle: () => this.draw() },
      el("summary", {}, "Any view as a Plotly figure"),
      el("div", { class: "viz-controls" }, el("label", { class: "viz-control" }, "View", this.view), this.controls),
      this.about,
      this.figure.node,
    );
  }

  show(run, views) {
    const before = this.view.value;
    Object.assign(this, { run, views });
    this.view.replaceChildren(
      ...Object.entries(views).map(([name, { title, missing }]) =>
        el("option", { value: name, disabled: Boolean(missing) }, missing ? `${title}: ${missing}` : title),
      ),
    );
    this.view.value = views[before] && !views[before].missing ? before : "attention_map";
    this.#fill();
    this.draw();
  }

  // Nothing is computed for what nobody looks at.
  draw() {
    if (!this.run || !this.node.open || !this.node.clientWidth) return;
    const given = Object.entries(this.inputs)
      .map(([name, input]) => [name, input.value.trim()])
      .filter(([, value]) => value !== "");
    this.figure.show(this.run, `${this.view.value}?${new URLSearchParams(given)}`);
  }

  #fill() {
    this.inputs = {};
    const { controls, source, measured } = this.views[this.view.value];
    this.about.textContent = measured ? `Source: ${source}` : "";
    this.controls.replaceChildren(
      ...controls.map((control) => {
        const input = this.#input(control);
        input.dataset.control = control.name;
        this.inputs[control.name] = input;
        return el("label", { class: "viz-control" }, control.label, input);
      }),
    );
  }

  // Begins at what is selected on the page, where the view has it.
  #input(control) {
    const { choices, words, most } = control;
    const onchange = () => this.draw();
    const selected = this.selection[control.name];
    const start =
      control.default === null
        ? ""
        : control.name in this.selection &&
            (words.includes(selected) || (typeof selected === "number" && selected <= most))
          ? selected
          : control.default;
    if (choices.length || (most !== null && most < LISTED)) {
      const tokens = control.counts === "token" ? this.run.tokens : null;
      const numbers = choices.length
        ? []
        : Array.from({ length: most + 1 }, (_, at) =>
            el("option", { value: at }, tokens ? `${at} ${tokens[at]}` : String(at)),
          );
      const automatic = control.default === null ? [el("option", { value: "" }, "automatic")] : [];
      const select = el(
        "select",
        { onchange },
        ...automatic,
        ...[...choices, ...words].map((word) => el("option", { value: word }, word || "automatic")),
        ...numbers,
      );
      select.value = String(start);
      return select;
    }
    const placeholder = control.default === null ? "automatic" : "";
    if (most === null || words.length)
      return el("input", { type: "text", class: "viz-flow-typed", value: start, placeholder, onchange });
    return el("input", {
      type: "number",
      class: "viz-flow-typed",
      min: 0,
      max: most,
      step: 1,
      value: start,
      placeholder,
      onchange,
    });
  }
}
