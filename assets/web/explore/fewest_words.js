// The fewest words or patches whose hiding changes the model's answer, looked for when it is asked.

import { hiding } from "../core/change_codes.js";
import { changedRun } from "../core/changed_run.js";
import { button, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { streamed } from "../core/streamed.js";
import { quoted } from "../core/token_names.js";

const ANSWERS = ["masked", "classify"]; // heads whose answer can flip
const MOST = 3;

export class FewestWords {
  #latest = new Latest((sentence) => this.#say(sentence));
  #of = "";
  node = status();

  /** Offer it for an answer of the model; `task` names the head. @type {(run: Run, task: string) => void} */
  show(run, task) {
    this.node.hidden = !ANSWERS.includes(task);
    const of = `${run.key}:${task}`;
    if (of === this.#of) return;
    this.#of = of;
    this.#latest.stop();
    delete this.node.dataset.painted;
    const asked = `Which fewest ${partsOf(run)} change the answer?`;
    this.node.replaceChildren(button(asked, () => this.#find(run), { class: "viz-small" }));
  }

  #find(/** @type {Run} */ run) {
    const looking = `Looking for the fewest ${partsOf(run)} that change the answer …`;
    this.#say(looking);
    return this.#latest.run(async (fresh) => {
      const tell = (/** @type {number} */ done) => {
        if (!fresh.signal.aborted) this.#say(`${looking} ${Math.round(100 * done)}%`);
      };
      const url = run.url(`whatif/flips?most=${MOST}`);
      const { sentence, sets, tries } = /** @type {FlipsFound} */ (
        await fresh(streamed(url, tell, { signal: fresh.signal }))
      );
      const [set] = sets;
      const names = (set ?? []).map((token) => quoted(run.tokens[token])).join(" and ");
      const hide = () => changedRun.toggle(hiding(set), (said) => said && this.#say(said));
      this.#say(sentence, ...(set ? [" ", button(`Hide ${names}`, hide, { class: "viz-small" })] : []));
      this.node.dataset.painted = String(tries);
    });
  }

  #say(/** @type {(string | Node)[]} */ ...parts) {
    this.node.replaceChildren(...parts);
  }
}

export const partsOf = (/** @type {Pick<Run, "grid">} */ { grid }) => (grid ? "patches" : "words");
