// Heads like the chosen one: those whose rows are nearest to its own, by Jensen–Shannon distance.

import { button, caption, count, el, onSight } from "../core/dom.js";
import { View } from "../core/view.js";
import { headName, headsIn } from "../views/cells.js";

/** @typedef {HeadPlace & { value: number }} Near its value is the distance */

const PAUSE = 400; // milliseconds that a head stays chosen and this in sight, before the server is asked
const LISTED = 5;
const ONE_HEAD = "Choose one head to see which others look where it looks.";

export class SimilarHeadsView extends View {
  #latest = this.latest((sentence) => this.#say("", sentence));
  #seen = false;
  #due = false; // another head was chosen while this was out of sight
  title = el("h3");
  list = el("ol", { class: "viz-similar-list" });
  says = caption();
  node = el("section", { class: "viz-similar", "aria-label": "Heads like the chosen one" });

  constructor(/** @type {PageSelection} */ selection) {
    super(selection);
    this.node.append(this.title, this.list, this.says);
    selection.on((changed) => (changed.has("layer") || changed.has("head")) && this.load(), this.signal);
    onSight(this.node, (seen) => {
      this.#seen = seen;
      if (seen && this.#due) this.load();
    });
    this.#say("Heads like this one", "");
  }

  // Another run is on its way.
  clear() {
    super.clear();
    this.run = null;
    this.#latest.stop();
    this.#say("Heads like this one", "");
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    return this.load();
  }

  // Ask for the chosen head, once it stays chosen and the answer would be seen: the server compares maps
  // of all heads for it, and the next click would wait.
  load() {
    const { layer, head, name } = this.selection;
    const run = this.run;
    if (!run) return;
    this.#due = !this.#seen;
    if (this.#due) {
      this.#latest.stop();
      return this.#say("Heads like this one", "");
    }
    this.behind();
    return this.#latest.run(
      async (fresh) => {
        if (typeof head !== "number") return this.#say("Heads like this one", ONE_HEAD);
        const path = `similar?layer=${layer}&head=${head}`;
        const { distances, queries } = /** @type {SimilarHeads} */ (await fresh(run.json(path, fresh.signal)));
        const near = nearest(distances, { layer, head }, LISTED);
        const of =
          queries < run.valid.filter(Boolean).length
            ? `${count(queries)} queries, evenly spaced over the text`
            : "all queries";
        const says = `Jensen–Shannon distance between their rows as they ran, mean over ${of}: 0 = the same, 1 = no key in common.`;
        this.#say(`Heads like ${layer}.${head}`, says, near);
        this.painted(`${run.key}:${name}`);
      },
      { pause: PAUSE },
    );
  }

  /** @type {(title: string, says: string, near?: Near[]) => void} */
  #say(title, says, near = []) {
    this.behind(false);
    if (title) this.title.textContent = title;
    this.list.replaceChildren(...near.map((one) => this.#item(one)));
    this.says.textContent = says;
  }

  #item(/** @type {Near} */ { layer, head, value }) {
    const name = headName({ layer, head });
    const more = { "data-similar": name, title: `Show head ${name}` };
    const item = button("", () => this.selection.set({ layer, head }), more);
    item.append(el("b", {}, name), value.toFixed(2));
    return el("li", {}, item);
  }
}

/** The heads at the smallest distance, without the head itself; equal ones by layer and head.
 * @type {(distances: (number | null)[][], own: { layer: number, head: number }, most: number) => Near[]} */
export const nearest = (distances, own, most) =>
  headsIn(distances)
    .filter((one) => headName(one) !== headName(own))
    .sort((a, b) => a.value - b.value)
    .slice(0, most);
