// A run with the mask: asked for, waited for, and what it shows.

import { el } from "../core/dom.js";
import { current } from "../core/app_state.js";
import { Effect } from "./effect.js";
import { Guesses } from "./predictions.js";
import { Leaks } from "./leak_map.js";
import { Panels } from "./panels.js";
import { json } from "./requests.js";
import { Run } from "../core/run.js";

const TICK = 1000; // ms between two looks at the clock while it runs

export class Result {
  // `made` gets each run with a mask.
  constructor(made) {
    this.made = made;
    const choose = (query, key) => current.selection.set({ query, ...(key !== undefined && { key }) });
    this.leaks = new Leaks((layer, head) => current.selection.set({ layer, head }));
    this.panels = new Panels(choose);
    this.effect = new Effect((token) => choose(token));
    this.guesses = new Guesses();
    this.sentence = el("p", { class: "viz-mask-sentence", id: "viz-mask-sentence" });
    this.stale = el(
      "p",
      { class: "viz-caption", hidden: true },
      "The mask was changed since; run again to see its effect.",
    );
    this.body = el(
      "div",
      { class: "viz-mask-result", hidden: true },
      this.sentence,
      this.stale,
      this.#ways(),
      this.leaks.node,
      this.panels.node,
      this.effect.node,
      this.guesses.node,
    );
    this.node = el(
      "section",
      { class: "viz-mask-box", "aria-label": "Run with the mask" },
      el("h3", {}, "Run with this mask"),
      this.#bar(),
      this.body,
    );
  }

  offer(offered) {
    const chosen = this.mistake.value;
    this.mistake.replaceChildren(...offered.mistakes.map(({ name, words }) => el("option", { value: name }, words)));
    this.mistake.value = chosen || offered.mistakes[0].name;
    this.missing = offered.missing;
    this.start.disabled = Boolean(this.missing);
    this.said.textContent = this.missing;
  }

  // A new run without a mask: nothing was tried on it yet.
  enter(plain) {
    this.stop?.abort();
    Object.assign(this, { plain, result: null, run: null });
    this.body.hidden = true;
    this.panels.leave();
    this.#warn();
  }

  // The mask that is painted now.
  follow(mask) {
    this.mask = mask;
    this.stale.hidden = !this.result || mask.equals(this.ranWith);
  }

  // Bring all parts in line with the selection.
  show() {
    const { run, result, plain } = this;
    if (!result) return;
    const { selection } = current;
    this.leaks.show(result, selection);
    this.panels.show(run, result, selection);
    this.effect.show(run, result, selection.query);
    this.#where(plain);
  }

  draw() {
    if (!this.result) return;
    this.leaks.draw();
    this.panels.draw();
    this.effect.draw();
  }

  // A result that the server holds already.
  async fetch(run, mask) {
    await this.#take((signal) => json(run, "result", { signal }), mask);
  }

  #bar() {
    this.mistake = el("select", { id: "viz-mask-mistake", onchange: () => this.#warn() });
    this.start = el(
      "button",
      { type: "button", class: "viz-small viz-mask-run", id: "viz-mask-run", onclick: () => this.#run() },
      "Run with this mask",
    );
    this.cancel = el(
      "button",
      { type: "button", class: "viz-small", hidden: true, onclick: () => this.stop?.abort() },
      "Stop waiting",
    );
    this.said = el("span", { class: "viz-caption", role: "status" });
    this.warning = el("p", { class: "viz-mask-warning", hidden: true });
    return el(
      "div",
      {},
      el(
        "div",
        { class: "viz-controls" },
        el("label", { class: "viz-control" }, "What if the code …", this.mistake),
        this.start,
        this.cancel,
        this.said,
      ),
      this.warning,
    );
  }

  #ways() {
    const button = (id, words, act) => el("button", { type: "button", class: "viz-small", id, onclick: act }, words);
    this.everywhere = button("viz-mask-everywhere", "Show this run in all tabs", () => window.vizTab.show(this.run));
    this.back = button("viz-mask-back", "Back to the run without a mask", () => window.vizTab.show(this.plain));
    this.shown = el("span", { class: "viz-caption", role: "status" });
    return el("div", { class: "viz-controls" }, this.everywhere, this.back, this.shown);
  }

  // Which of the two runs all tabs show.
  #where(plain) {
    const isPlain = current.run?.key === plain.key;
    const isThis = current.run?.key === this.run.key;
    this.everywhere.disabled = isThis;
    this.back.disabled = isPlain;
    this.shown.textContent = isPlain
      ? "All tabs show the run without a mask."
      : isThis
        ? "All tabs show the run with this mask."
        : "All tabs show a run with an earlier mask.";
  }

  #warn() {
    const planted = this.mistake.value !== this.mistake.options[0]?.value && this.mistake.value !== "";
    this.warning.hidden = !planted;
    if (planted)
      this.warning.textContent = `A mistake is planted: the code that runs ${this.mistake.selectedOptions[0].textContent}. Your painted mask stays the intent, so whatever it forbids and the run does is a leak.`;
  }

  async #run() {
    const { plain, mask } = this;
    const options = new URLSearchParams({ mistake: this.mistake.value });
    await this.#take((signal) => json(plain, `run?${options}`, { body: mask.pack(), signal }), mask);
  }

  // The last one asked for wins; on a fault the result before stays.
  async #take(work, mask) {
    this.stop?.abort();
    const stop = (this.stop = new AbortController());
    const begun = Date.now();
    const waited = () => {
      this.said.textContent = `Running … ${Math.round((Date.now() - begun) / 1000)} s`;
    };
    const clock = setInterval(waited, TICK);
    waited();
    this.cancel.hidden = false;
    this.start.disabled = true;
    delete this.node.dataset.painted;
    try {
      const result = await work(stop.signal);
      if (this.stop !== stop) return;
      this.said.textContent = "";
      await this.#enter(result, mask);
    } catch (fault) {
      if (this.stop === stop)
        this.said.textContent = stop.signal.aborted ? "Stopped waiting; nothing was changed." : fault.message;
    } finally {
      clearInterval(clock);
      if (this.stop === stop) {
        this.cancel.hidden = true;
        this.start.disabled = Boolean(this.missing);
      }
    }
  }

  async #enter(result, mask) {
    Object.assign(this, { result, ranWith: mask, run: new Run(result.run) });
    this.made(this.run);
    const words = [...this.mistake.options].find(({ value }) => value === result.mistake)?.textContent;
    const planted = result.mistake !== this.mistake.options[0].value;
    this.sentence.textContent = `${planted ? `With a planted mistake (the code ${words}): ` : ""}${result.sentence}`;
    this.body.hidden = false;
    this.follow(this.mask);
    this.show();
    await this.guesses.show(this.plain, this.run);
    this.node.dataset.painted = this.run.key;
  }
}
