// A panel of the Hidden states tab: heading, what is measured, its body, and its files.

import { el } from "../core/dom.js";
import { savePicture } from "../views/plotly_figure.js";
import { ask } from "./results.js";

const PATIENCE = 80; // ms before the panel says that it is computing

export class Panel {
  // With `pointed`, a line is kept for what is under the pointer.
  constructor({ name, title, measures, pointed = false }) {
    this.slots = {};
    this.said = el("p", { class: "viz-caption viz-hidden-said", role: "status" });
    this.told = el("p", { class: "viz-hidden-told" });
    this.body = el("div", { class: "viz-hidden-body" });
    this.measures = el("p", { class: "viz-caption viz-hidden-measures" }, measures);
    this.take = el("div", { class: "viz-figure-take", role: "group", "aria-label": `Files of ${title}` });
    this.node = el(
      "section",
      { class: "viz-hidden-panel", id: `viz-hidden-${name}`, "aria-label": title },
      el("h3", {}, title),
      this.measures,
      this.said,
      this.body,
      ...(pointed ? [this.told] : []),
      this.take,
    );
  }

  // What the answer of a path holds; null where another was asked for in its place, or it failed.
  async fetch(run, path, slot = "main") {
    const mine = { stop: new AbortController() };
    this.slots[slot]?.stop.abort();
    this.slots[slot] = mine;
    const timer = setTimeout(() => this.slots[slot] === mine && this.#busy(), PATIENCE);
    try {
      const answer = await ask(run, path, mine.stop.signal);
      if (this.slots[slot] !== mine) return null;
      this.say("");
      return answer;
    } catch (fault) {
      if (this.slots[slot] === mine) this.fail(fault.message);
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  // Drop what is under way.
  leave() {
    for (const { stop } of Object.values(this.slots)) stop.abort();
    this.slots = {};
  }

  fail(sentence) {
    this.say(sentence);
    this.node.classList.add("viz-failed");
    delete this.node.dataset.painted;
  }

  say(sentence) {
    this.said.textContent = sentence;
    this.node.classList.remove("viz-failed", "viz-busy");
  }

  // Links to tables, and buttons that draw a view of figures/ for paper; `figure` is its path.
  files(run, tables, figure) {
    const links = tables.flatMap(({ text, path }) =>
      ["csv", "npz"].map((kind) => {
        const [what, options] = path.split("?");
        return el(
          "a",
          {
            class: "viz-small viz-figure-link",
            download: "",
            "data-what": what,
            href: run.url(`hidden/take/${what}.${kind}?${options}`),
          },
          `${text}${kind === "csv" ? "CSV" : "npz"}`,
        );
      }),
    );
    const pictures = figure
      ? ["png", "svg"].map((format) =>
          el(
            "button",
            { type: "button", class: "viz-small", onclick: () => this.#picture(run, figure, format) },
            format.toUpperCase(),
          ),
        )
      : [];
    this.take.replaceChildren(...links, ...pictures);
  }

  async #picture(run, path, format) {
    this.say("Drawing the picture …");
    try {
      await savePicture(await run.json(`figure/${path}`), path.split("?")[0], format);
      this.say("");
    } catch (fault) {
      this.say(fault.message);
    }
  }

  #busy() {
    this.said.textContent = "Computing …";
    this.node.classList.add("viz-busy");
  }
}
