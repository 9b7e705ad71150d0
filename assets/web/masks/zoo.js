// The known mask bugs: each with its symptom, its picture, its audit and its fix; or without its name, in a quiz.

import { current } from "../core/app_state.js";
import { button, el, onTheme } from "../core/dom.js";
import { sentenceOf } from "../core/latest.js";
import { json } from "../core/server.js";
import { known, View } from "../core/view.js";
import { Audit } from "./audit.js";
import { codeToCopy, Lines } from "./lines.js";
import { Quiz } from "./quiz.js";
import { SpecimenList } from "./specimen_list.js";

const NOTE = "zoo.bug"; // in the link
const OWN =
  "intent says which query may attend to which key: True = may attend, rows = queries; its comment says what is meant here. make_mask is your function that makes the mask you pass; model(x, passed) is called with it.";
const TERMINAL =
  "Or in a terminal or a CI job; masks() returns these keywords as a dict, and the exit status is 1 if the audit fails:";

/** @type {WeakMap<HTMLElement, Promise<ZooTab>>} */
const mounted = new WeakMap();

/** Show the known bugs, or the quiz, in a tab; they are fetched once.
 * @type {(root: HTMLElement, part: string, tab: View<any>) => Promise<void>} */
export async function mountZoo(root, part, tab) {
  const begin = async () => {
    root.replaceChildren(el("p", { class: "viz-empty", role: "status" }, "Loading the known bugs …"));
    const zoo = known("vizZoo", new ZooTab(root, await json("viz/zoo")));
    tab.views.push(zoo);
    return zoo;
  };
  const coming = mounted.get(root) ?? begin();
  mounted.set(root, coming);
  try {
    const zoo = await coming;
    zoo.enter(part);
  } catch (fault) {
    mounted.delete(root);
    const again = button("Try again", () => mountZoo(root, part, tab));
    root.replaceChildren(el("div", { class: "viz-alert", role: "alert" }, sentenceOf(fault), " ", again));
  }
}

export class ZooTab extends View {
  head = el("div", { class: "viz-zoo-head" });
  lines = new Lines();
  own = el("div");
  /** @type {Audit} */
  audit;

  /** @param {HTMLElement} root @param {Zoo} zoo */
  constructor(root, zoo) {
    super();
    const { sections, seeds, command } = zoo;
    this.specimens = sections.flatMap(({ specimens }) => specimens);
    this.shown = this.specimens[0];
    this.list = new SpecimenList(sections, this);
    this.audit = new Audit(seeds);
    this.quiz = new Quiz(this, zoo);
    const own = el(
      "details",
      { class: "viz-zoo-box viz-mask-folded viz-folded" },
      ...[el("summary", {}, "In your own code"), el("p", {}, OWN), this.own],
      ...[el("p", {}, TERMINAL), codeToCopy("audit in a terminal", command)],
    );
    const parts = [this.quiz.node, this.head, this.lines.node, this.audit.node, own];
    this.detail = el("div", { class: "viz-zoo-detail" }, ...parts);
    root.replaceChildren(el("div", { class: "viz-zoo" }, this.list.node, this.detail));
    onTheme(() => this.draw(), this.signal);
    this.views = [this.audit];
    const back = () =>
      this.quiz.node.hidden && this.open(current.selection.noted(NOTE) || this.specimens[0].identifier);
    current.selection.restored(NOTE, back, this.signal);
  }

  // Begin with the bug of the link, or with the quiz; either stays where it was until then.
  enter(/** @type {string} */ part) {
    if (part === "quiz" && this.quiz.node.hidden) this.surprise(true);
    if (part === "bugs" && (!this.quiz.node.hidden || !this.audit.specimen))
      this.open(current.selection.noted(NOTE) || this.shown.identifier);
  }

  // Show a specimen and audit its wrong line.
  open(/** @type {string} */ identifier) {
    this.shown = this.specimens.find((each) => each.identifier === identifier) ?? this.shown;
    this.quiz.close();
    current.selection.note({ [NOTE]: this.shown === this.specimens[0] ? "" : this.shown.identifier });
    this.#describe();
    this.#top();
    return this.audit.show(this.shown);
  }

  // A random one, or the next of the beginners' ten, without its name.
  surprise(beginners = false) {
    this.shown = this.quiz.draw(this.shown, beginners);
    current.selection.note({ [NOTE]: "" }); // the address must not tell its name
    this.list.mark(null);
    this.#writeOwn();
    this.head.hidden = this.lines.node.hidden = true;
    this.#top();
    return this.audit.show(this.shown, (picture) => this.quiz.begin(picture));
  }

  // Its beginning comes into sight where the page was scrolled past it.
  #top() {
    if (this.detail.getBoundingClientRect().top < 0) this.detail.scrollIntoView({ block: "start" });
  }

  #writeOwn() {
    this.own.replaceChildren(codeToCopy("audit your own model", this.shown.own_code));
  }

  // All there is of the one that was guessed.
  reveal() {
    this.#describe();
    this.audit.hideNames(false);
  }

  #describe() {
    const { identifier, title, symptom, story, missed } = this.shown;
    const line = (/** @type {string} */ name, /** @type {string} */ text, more = {}) =>
      el("p", more, el("strong", {}, `${name} `), text);
    this.list.mark(this.shown);
    this.head.replaceChildren(
      el("h3", { class: "viz-zoo-title" }, el("span", { class: "viz-zoo-id" }, identifier), " ", title),
      ...[line("Symptom.", symptom), line("In the wild.", story)],
      ...(missed ? [line("Not caught.", missed, { class: "viz-zoo-missed viz-warning" })] : []),
    );
    this.lines.show(this.shown);
    this.#writeOwn();
    this.head.hidden = this.lines.node.hidden = false;
  }
}
