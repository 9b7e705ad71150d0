// Above all tabs, while a run is shown in which something was changed, or that was made with a mask: what, the proof of
// a change, and the way back.

import { current } from "./app_state.js";
import { changedRun } from "./changed_run.js";
import { button, el, painted } from "./dom.js";
import { Run } from "./run.js";
import { json } from "./server.js";
import { View } from "./view.js";

const BACK = { true: "Restore", false: "Remove the mask" }; // what the button says where anything is changed, or only masked

export class ChangedBanner extends View {
  #saying = this.latest((sentence) => this.#say(sentence));
  #unmasking = this.latest((sentence) => this.#tell(sentence));
  #proving = this.latest((sentence) => this.#prove({ passed: false, sentence, parts: [{ passed: false, sentence }] }));
  chips = el("span", { class: "viz-changes", role: "group", "aria-label": "Changes" });
  back = button("", () => (current.run?.changed ? changedRun.restore(this.#tell) : this.#unmask()), {
    id: "viz-restore",
  });
  title = el("b");
  told = el("span", { class: "viz-changed-told", role: "status" });
  said = el("p", { class: "viz-changed-said", role: "status" });
  sentence = el("summary", { class: "viz-changed-sentence" });
  parts = el("ul");
  proof = el("details", { class: "viz-changed-proof" }, this.sentence, this.parts);
  node = el(
    "section",
    { class: "viz-changed", "aria-label": "Changed run" },
    el("div", { class: "viz-changed-line" }, ...[this.title, this.chips], ...[this.back, this.told, this.proof]),
    this.said,
  );
  #tell = (/** @type {string} */ sentence) => this.told.replaceChildren(sentence);

  constructor(/** @type {HTMLElement} */ root) {
    super();
    this.host = root;
    this.host.append(this.node);
    this.node.hidden = true;
    current.on((run) => this.#enter(run));
  }

  #enter(/** @type {Run | null} */ run) {
    for (const asked of [this.#saying, this.#proving, this.#unmasking]) asked.stop();
    const { changes } = run?.changed ?? { changes: [] };
    const changed = changes.length > 0;
    steadily(() => {
      const focused = this.node.contains(document.activeElement);
      this.node.hidden = !changed && !run?.masked;
      const mask = run?.masked ? [this.#masked(run.masked)] : [];
      this.chips.replaceChildren(...mask, ...changes.map(({ code, words }) => this.#chip(code, words)));
      this.title.textContent = changed ? "Changed run" : "Masked run";
      this.back.textContent = BACK[`${changed}`];
      this.back.title = `Go back to the run without ${changed ? "changes" : "a mask"}; until then, all tabs show this one`;
      this.proof.hidden = !changed;
      this.said.textContent = "";
      if (focused && this.node.hidden) openTab()?.focus({ preventScroll: true });
    });
    this.#tell("");
    this.stale();
    if (run && changes.length) this.#ask(run);
  }

  #chip(/** @type {string} */ code, /** @type {string} */ words) {
    const take = () => changedRun.drop(code, this.#tell);
    const named = { class: "viz-small viz-change", "data-code": code, "aria-label": `Undo: ${words}` };
    return button(`${words} ✕`, take, { ...named, title: "Undo this change" });
  }

  #masked(/** @type {string} */ words) {
    const named = { class: "viz-small viz-change", id: "viz-masked-chip", title: `Remove the mask: ${words}` };
    return button(`mask: ${words} ✕`, () => this.#unmask(), named);
  }

  async #unmask() {
    const { run } = current;
    if (run?.masked)
      await this.#unmasking.run(async (fresh) => {
        const plain = await fresh(withoutMask(run));
        if (plain) current.enter(plain);
      });
  }

  // Fetch the effect and the proof, after the maps.
  async #ask(/** @type {Run} */ run) {
    this.#say("Comparing with the run without changes …");
    this.proof.open = false;
    this.#label("Proof", "running the model again …");
    this.parts.replaceChildren();
    await painted();
    if (run !== current.run) return;
    const saying = this.#saying.run(async (fresh) => {
      const said = /** @type {Said} */ (await fresh(run.json("whatif/said")));
      const whole = run.tasks.length ? said.sentence : ""; // what is asked about may be any state or vector
      const told = said.labels.length ? said.became : whole; // the chips say by which changes
      this.#say([run.changed?.unknown, told].filter(Boolean).join(" "), said.sentence);
    });
    const proving = this.#proving.run(async (fresh) => {
      this.#prove(/** @type {ChangeProof} */ (await fresh(run.json("whatif/proof"))));
    });
    await Promise.all([saying, proving]);
    if (run === current.run) this.painted(run.key);
  }

  #say(/** @type {string} */ sentence, title = sentence) {
    steadily(() => {
      [this.said.textContent, this.said.title] = [sentence, title];
    });
  }

  #prove(/** @type {ChangeProof} */ { passed, sentence, parts }) {
    this.#label(passed ? "✓ Proof" : "✗ Not proved", sentence);
    this.proof.dataset.passed = String(passed);
    const { notes } = current.run?.changed ?? { notes: [] };
    const told = parts.map((part) => `${part.passed ? "✓" : "✗"} ${part.sentence}`);
    this.parts.replaceChildren(...[...told, ...notes].map((each) => el("li", {}, each)));
  }

  // In short, and where there is room for it, in a sentence.
  #label(/** @type {string} */ short, /** @type {string} */ sentence) {
    delete this.proof.dataset.passed;
    this.sentence.title = sentence;
    this.sentence.replaceChildren(short, el("span", { class: "viz-changed-whole" }, `: ${sentence}`));
  }
}

export const openTab = () =>
  /** @type {HTMLElement | null} */ (document.querySelector("#viz-tabs [aria-selected=true]"));

/** Keep what is on screen in place, from `first` on, whatever height comes above it.
 * @type {(change: () => unknown, first?: Element | null) => void} */
export function steadily(change, first = document.getElementById("viz-tabs")) {
  const before = first?.getBoundingClientRect().top ?? 0;
  change();
  const by = (first?.getBoundingClientRect().top ?? 0) - before;
  if (by) window.scrollBy({ top: by, behavior: "instant" });
}

/** The run without the mask that a run was made with. @type {(run: Run) => Promise<Run | null>} */
async function withoutMask(run) {
  /** @type {MasksOffered} */ const { plain, alone } = await json(run.url("mask/offered"));
  const found = run.changed ? plain : (alone ?? plain); // without its padding too, unless changes count it
  return found ? new Run(found) : null;
}
