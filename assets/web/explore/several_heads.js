// Several chosen heads removed at once, beside the sum of what each one changes alone.

import { enumerated, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { headsOf } from "../core/selection_address.js";
import { shareSaid } from "./routes_layout.js";

/** @import { Selection } from "./types.d.ts" */

export class SeveralHeads {
  #latest = new Latest((sentence) => this.#say(sentence));
  node = status();

  #show = () => {};

  constructor(/** @type {Selection} */ selection) {
    this.selection = selection;
    this.node.hidden = true;
    selection.on((changed) => (changed.has("head") || changed.has("layer")) && this.#show());
  }

  /** The effect of the chosen heads together; nothing where one head is chosen, or no effect is shown. `asked`: the
   * question, with what stands in for a head. @type {(run: Run, effect: Explained | null, asked: string) => void} */
  show(run, effect, asked) {
    this.#show = () => this.show(run, effect, asked);
    const { layer, head } = this.selection;
    const heads = headsOf(head);
    this.#latest.stop();
    this.node.hidden = !effect || heads.length < 2 || asked.includes("how=patch");
    if (this.node.hidden || !effect) return;
    const names = heads.map((one) => `${layer}.${one}`);
    const said = `Heads ${enumerated(names)}`;
    this.#say(`${said} removed together …`);
    this.#latest.run(async (fresh) => {
      const url = `attribution/joint?${asked}&heads=${names}`;
      const { together } = /** @type {{ together: number }} */ (await fresh(run.json(url)));
      const sum = heads.reduce((all, one) => all + (effect.heads[layer][one] ?? 0), 0);
      const [all, apart] = [together, sum].map((change) => shareSaid(change, effect) || (effect.large ? "0%" : "0.00"));
      this.#say(`${said} removed together change the result by ${all}; alone, their effects add up to ${apart}.`);
      this.node.dataset.painted = String(names);
    });
  }

  #say(/** @type {string} */ sentence) {
    delete this.node.dataset.painted;
    this.node.textContent = sentence;
  }
}
