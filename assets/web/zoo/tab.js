// The Mask zoo tab: every planted mask bug with its symptom, its picture, its audit and its cure.

import { el, onTheme } from "../core/dom.js";
import { Audit } from "./audit.js";
import { CodeLine, Lines } from "./code.js";
import { SpecimenList } from "./specimen_list.js";
import { Quiz } from "./quiz.js";
import { json } from "./requests.js";

// Called by the page once; it needs no run.
export function mount(root) {
  window.vizZoo = new Zoo(root); // so that a script or a test can ask what is shown
}

class Zoo {
  constructor(root) {
    this.root = root;
    this.begun = el("p", { class: "viz-empty", role: "status" }, "Loading the specimens …");
    root.replaceChildren(this.begun);
    onTheme(() => this.audit?.draw());
    this.#load();
  }

  async #load() {
    try {
      const { sections, seeds, own_code: code, command } = await json("");
      this.sections = sections;
      this.specimens = sections.flatMap((section) => section.specimens);
      this.#build(seeds, code, command);
      this.open(this.specimens[0].identifier);
    } catch (fault) {
      const again = el("button", { type: "button", class: "viz-small", onclick: () => this.#load() }, "Try again");
      this.root.replaceChildren(el("div", { class: "viz-alert", role: "alert" }, fault.message, " ", again));
    }
  }

  #build(seeds, code, command) {
    this.list = new SpecimenList(
      this.sections,
      (identifier) => this.open(identifier),
      () => this.surprise(),
    );
    this.audit = new Audit(seeds);
    this.quiz = new Quiz(
      this.specimens,
      () => this.#reveal(),
      () => this.surprise(),
    );
    this.head = el("div", { class: "viz-zoo-head" });
    this.lines = new Lines();
    const own = el(
      "section",
      { class: "viz-zoo-box", "aria-label": "In your own code" },
      el("h3", {}, "In your own code"),
      el(
        "p",
        {},
        "intent says who may look at whom: True = may look, rows = queries. make_mask is the function of yours that makes the mask you pass; model(x, passed) is called with it.",
      ),
      new CodeLine("audit your own model", code).node,
      el(
        "p",
        {},
        "Or in a terminal or a CI job; masks() returns these keywords as a dict, and the exit status is 1 where the audit fails:",
      ),
      new CodeLine("audit in a terminal", command).node,
    );
    this.detail = el(
      "div",
      { class: "viz-zoo-detail" },
      this.quiz.node,
      this.head,
      this.lines.node,
      this.audit.node,
      own,
    );
    this.root.replaceChildren(el("div", { class: "viz-zoo" }, this.list.node, this.detail));
  }

  // Show a specimen and audit its wrong line.
  open(identifier) {
    this.quiz.close();
    this.#describe(identifier);
    this.#top();
    return this.audit.show(this.shown);
  }

  // A random one, without its name.
  surprise() {
    const specimen = this.quiz.draw(this.shown);
    this.list.mark(null);
    for (const node of [this.head, this.lines.node]) node.hidden = true;
    this.shown = specimen;
    this.#top();
    return this.audit.show(specimen, { masked: true, done: (picture) => this.quiz.begin(picture) });
  }

  // Its beginning comes into sight where the page was scrolled past it.
  #top() {
    if (this.detail.getBoundingClientRect().top < 0) this.detail.scrollIntoView({ block: "start" });
  }

  #reveal() {
    this.#describe(this.shown.identifier);
    this.audit.unmask();
  }

  #describe(identifier) {
    const specimen = this.specimens.find((each) => each.identifier === identifier);
    this.shown = specimen;
    this.list.mark(identifier);
    const line = (title, text) => el("p", {}, el("strong", {}, `${title} `), text);
    this.head.replaceChildren(
      el(
        "h3",
        { class: "viz-zoo-title" },
        el("span", { class: "viz-zoo-id" }, specimen.identifier),
        " ",
        specimen.title,
      ),
      line("Symptom.", specimen.symptom),
      line("In the wild.", specimen.story),
      ...(specimen.missed
        ? [el("p", { class: "viz-zoo-missed" }, el("strong", {}, "Not caught. "), specimen.missed)]
        : []),
    );
    this.lines.show(specimen);
    for (const node of [this.head, this.lines.node]) node.hidden = false;
  }
}
