// The run that others are compared with: this one, another text, an earlier run, a saved one, or a link's.

import { button, controls, el, options } from "../core/dom.js";
import { runText } from "../core/form.js";
import { Latest } from "../core/latest.js";
import { Run } from "../core/run.js";
import { json } from "../core/server.js";
import { MAP_CHANGE } from "./head_statistics.js";
import { named, noteReference, notedReference } from "./reference_link.js";
import { compare, offered } from "./reference_words.js";

/** @import { HeadOrder, HeadStatistics, RunDescription, Selection } from "./types.d.ts" */

const MOST_RUNS = 20; // earlier ones that are offered
const LATER = { title: "Later runs are compared with it, head by head" };

export class Reference {
  #opening = new Latest((sentence) => {
    this.#fault = sentence;
    this.#sync();
  });
  #fault = "";
  #waiting = "";
  /** @type {{ key: string, reference: HeadStatistics["reference"] } | null} what a plain run was compared with */
  #unchanged = null;
  /** @type {Map<string, Run>} */ #runs = new Map(); // made in this page, by their keys
  /** @type {Record<string, string> | "same" | null} */ #linked; // the reference of the link, until it is here
  /** @type {[statistic: string, order: string]} */ #before = ["entropy", "layer"]; // of the atlas
  keep = button("Set as reference", () => this.measures.keep(this.measures.run), LATER);
  change = button("Show the change", () => this.#turn(!this.selection.change), {
    class: "viz-small viz-pressed",
    title: "Draw the map and the atlas as now − before, and list first the heads that changed most",
  });
  forget = button("Clear reference", () => this.#forget(), { title: "Stop comparing" });
  other = el("input", {
    type: "text",
    class: "viz-other-text",
    "aria-label": "Compare with another text",
    placeholder: "Compare with another text …",
    title: "Enter runs it, with this run as the reference",
    onkeydown: (event) => this.#key(event),
  });
  earlier = el("select", {
    class: "viz-earlier",
    "aria-label": "Compare with an earlier run",
    title: "The runs made on this page",
    onchange: (event) => this.#choose(event.currentTarget.value),
  });
  file = el("input", {
    type: "file",
    class: "viz-saved-reference",
    accept: ".safetensors",
    "aria-label": "Compare with a saved run",
    onchange: () => this.#upload(),
  });
  said = el("p", { class: "viz-caption viz-reference-said", role: "status" });
  node = el(
    "div",
    { class: "viz-reference", role: "group", "aria-label": "Compare with a reference" },
    el("h3", {}, "Compare"),
    this.other,
    controls(
      this.earlier,
      el(
        "label",
        { class: "viz-small viz-file", title: "A .safetensors file from “Saved run” or trace.save" },
        "Saved run …",
        this.file,
      ),
    ),
    ...[controls(this.keep, this.change, this.forget), this.said],
  );

  /** @param {Selection} selection @param {HeadStatistics} measures @param {HeadOrder} order */
  constructor(selection, measures, order) {
    this.selection = selection;
    this.measures = measures;
    this.order = order;
    this.#linked = notedReference(selection);
    measures.on(() => this.#sync());
    order.pair.on(() => this.#sync());
    this.#sync();
  }

  // A changed run is compared with the one before it; once that is restored, all is as it was before.
  follow(/** @type {Run} */ next) {
    const { run, reference } = this.measures;
    if (run && next.changed?.plain === run.key) {
      this.#unchanged = { key: run.key, reference };
      this.measures.keep(run);
    } else if (run?.changed?.plain === next.key && reference && isSame(reference.run, next)) {
      const earlier = this.#unchanged?.key === next.key ? this.#unchanged.reference : null;
      if (!earlier) this.selection.set({ change: false });
      this.measures.compareWith(earlier);
    } else if (run?.changed && this.#isAutomatic(reference, next)) {
      this.selection.set({ change: false });
      this.measures.compareWith(this.#unchanged?.reference ?? null);
    }
  }

  /** Whether the reference is there for a change alone, and the next run is of another input.
   * @type {(reference: HeadStatistics["reference"], next: Run) => boolean} */
  #isAutomatic(reference, next) {
    const plain = this.#unchanged?.key;
    return plain !== undefined && reference?.run.key === plain && next.plainKey !== plain;
  }

  // The typed text runs in place of this one, which becomes the reference; what is chosen stays.
  #key(/** @type {KeyboardEvent} */ event) {
    const text = this.other.value.trim();
    if (event.key !== "Enter" || event.isComposing || !text || !this.measures.run) return;
    event.stopPropagation(); // Ctrl + Enter runs the form as it is
    this.measures.keep(this.measures.run);
    this.selection.held = true;
    this.other.value = "";
    runText(text);
  }

  // A run that was made here before; one that has expired is made again.
  #choose(/** @type {string} */ key) {
    const run = this.#runs.get(key);
    if (run) this.#open({ ...run.link, run: run.key });
  }

  #upload() {
    const file = this.file.files?.[0];
    if (file) this.#compareWith("Opening the saved run", () => json("viz/open/saved", { body: file }));
    this.file.value = "";
  }

  #open(/** @type {Record<string, string>} */ link) {
    return this.#compareWith("Opening the reference", () => json("viz/open/link", { body: JSON.stringify(link) }));
  }

  /** Make another run the reference, and leave this one in its place.
   * @type {(words: string, ask: () => Promise<RunDescription>) => Promise<unknown>} */
  #compareWith(words, ask) {
    const tell = (/** @type {number} */ seconds) => {
      this.#waiting = `${words} …${seconds ? ` ${seconds} s` : ""}`;
      this.#sync();
    };
    this.#fault = "";
    return this.#opening
      .run(
        async (fresh) => {
          const run = new Run(/** @type {RunDescription} */ (await fresh(ask())));
          this.#remember(run);
          await fresh(this.measures.keepOther(run));
          this.#ordered();
        },
        { tell },
      )
      .finally(() => {
        this.#waiting = "";
        this.#sync();
      });
  }

  // The comparison of the link, once the run itself is shown; with itself, once its statistics are complete.
  restore() {
    const { run } = this.measures;
    const linked = this.#linked;
    if (!linked || !run || (linked === "same" && !this.measures.complete("entropy"))) return;
    this.#linked = null;
    if (run.key !== this.selection.opened) return;
    if (linked === "same") this.measures.keep(run);
    else this.#open(linked);
  }

  // The atlas stands as the link has it, where that is by a change.
  #ordered() {
    const { stat, order } = this.selection;
    if (stat !== this.order.statistic && this.measures.names().includes(stat)) this.order.show(stat, order);
  }

  #remember(/** @type {Run} */ run) {
    if (this.#runs.get(run.key) === run) return;
    this.#runs.delete(run.key);
    this.#runs.set(run.key, run);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > MOST_RUNS) this.#runs.delete(oldest);
  }

  // The runs to choose from, the latest first, without the one that is shown.
  #offer() {
    const { run, reference } = this.measures;
    if (run) this.#remember(run);
    const earlier = [...this.#runs.values()].filter(({ key }) => key !== run?.key).toReversed();
    const told = earlier.length ? "Earlier run …" : "No earlier run yet";
    const entries = [["", told], ...earlier.map((one) => [one.key, offered(one)])];
    const wanted = JSON.stringify(entries);
    if (this.earlier.dataset.entries !== wanted) {
      this.earlier.replaceChildren(...options(/** @type {[string, string][]} */ (entries)));
      this.earlier.dataset.entries = wanted;
    }
    this.earlier.disabled = !earlier.length;
    this.earlier.value = earlier.find(({ key }) => key === reference?.run.key)?.key ?? "";
  }

  // The heads stand as they did before, once the change is shown no more.
  #turn(/** @type {boolean} */ on) {
    const { selection, order } = this;
    if (on) this.#before = [order.statistic, order.direction.value];
    selection.set({ change: on });
    if (on) order.show(MAP_CHANGE, "highest");
    else if (order.statistic === MAP_CHANGE) order.show(...this.#before);
    this.#sync();
  }

  #forget() {
    this.#opening.stop();
    this.#fault = "";
    this.selection.set({ change: false });
    this.measures.keep(null);
  }

  #sync() {
    const { reference, run, comparable } = this.measures;
    this.#offer();
    const settled = !this.#linked && !this.#waiting && (reference || !this.#fault); // else the link keeps what it has
    if (settled && run) noteReference(this.selection, reference?.run ?? null, run);
    if (this.measures.complete("entropy")) this.restore();
    this.keep.disabled = !this.measures.complete("entropy") || reference?.run === run;
    this.change.hidden = !comparable.statistics;
    this.change.ariaPressed = String(this.selection.change);
    this.forget.hidden = !reference;
    const other = run && reference && !comparable.statistics;
    const compared =
      !run || !reference
        ? ""
        : other
          ? comparable.why
          : compare(run, reference.run, this.order.pair.alignment(run, reference.run));
    const said = reference
      ? `Reference: ${named(reference.run)}. ${compared}`
      : "Set a run as reference, then run another text or model to see which heads changed.";
    const told = this.#waiting || [this.#fault, this.#fault && !reference ? "" : said].filter(Boolean).join(" ");
    if (told !== this.said.textContent) this.said.textContent = told;
  }
}

// A link's own run is made again beside the reference that the link holds.
const isSame = (/** @type {Run} */ one, /** @type {Run} */ other) =>
  one.key === other.key || JSON.stringify(one.link) === JSON.stringify(other.link);
