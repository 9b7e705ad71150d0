// Above all tabs, while a run is shown that was made with a mask: which mask, and the way back.

import { current } from "./app_state.js";
import { openTab, steadily } from "./changed_banner.js";
import { button, el } from "./dom.js";
import { Latest } from "./latest.js";
import { Run } from "./run.js";
import { json } from "./server.js";

export class MaskedBanner {
  #asked = new Latest((sentence) => this.#tell(sentence));
  chip = button("", () => this.#leave(), { class: "viz-small viz-change", id: "viz-masked-chip" });
  told = el("span", { class: "viz-changed-told", role: "status" });
  node = el(
    "section",
    { class: "viz-masking", "aria-label": "Masked run", hidden: true },
    el(
      "div",
      { class: "viz-changed-line" },
      el("b", {}, "Masked run"),
      el("span", { class: "viz-changes", role: "group", "aria-label": "Mask" }, this.chip),
      button("Remove the mask", () => this.#leave(), {
        id: "viz-unmask",
        title: "Go back to the run without a mask; until then, all tabs show this one",
      }),
      this.told,
    ),
  );

  constructor(/** @type {HTMLElement} */ root) {
    root.append(this.node);
    current.on((run) => this.#enter(run));
  }

  #enter(/** @type {Run | null} */ run) {
    this.#asked.stop();
    this.#tell("");
    const masked = run?.masked ?? "";
    steadily(() => {
      this.node.hidden = !masked;
      this.chip.textContent = `mask: ${masked} ✕`;
      this.chip.title = `Remove the mask: ${masked}`;
    });
    this.node.dataset.painted = run?.key ?? "";
  }

  #leave() {
    const { run } = current;
    if (!run?.masked) return;
    return this.#asked.run(async (fresh) => {
      const plain = await fresh(withoutMask(run));
      if (!plain) return;
      const focused = this.node.contains(document.activeElement);
      current.enter(plain);
      if (focused) openTab()?.focus({ preventScroll: true });
    });
  }

  #tell(/** @type {string} */ sentence) {
    this.told.textContent = sentence;
  }
}

/** The run without the mask that a run was made with. @type {(run: Run) => Promise<Run | null>} */
async function withoutMask(run) {
  /** @type {MasksOffered} */ const { plain, alone } = await json(run.url("mask/offered"));
  const found = run.changed ? plain : (alone ?? plain); // without its padding too, unless changes count it
  return found ? new Run(found) : null;
}
