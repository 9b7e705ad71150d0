// Why two texts are alike: the cosine as a sum over pairs of tokens, in a sentence and a map.

import { button, caption, el, onSight } from "../core/dom.js";
import { View } from "../core/view.js";
import { oneStop } from "../views/one_stop.js";
import { Figure } from "../views/plotly_figure.js";
import { alikeSaid, called, closest, fixed } from "./results.js";

/** @typedef {{ layer: number, method: string }} Pooling after how many blocks, and by which method */

const WHAT =
  "Which pairs of tokens make two pooled vectors alike: their cosine is a sum with a part for each pair, one token " +
  "from each text. Shown for the pooling and after the block chosen above.";
const NOT =
  "Look for the strongest cells; all cells sum to the cosine. These are parts of output vectors, into which the model " +
  "has mixed its whole text: a large part does not say that two words mean the same.";
const TYPE = "Type a second text, then press Compare.";

/** The text to begin with: the twin of an example's minimal pair, else none.
 * @param {{ link: Record<string, string>, swap?: [word: string, twin: string] | null }} run */
export function secondText({ link, swap }) {
  return swap && link.a && !link.b ? link.a.replaceAll(swap[0], swap[1]) : "";
}

/** The comparison as a request; null without a second text.
 * @type {(text: string, pair: boolean, pooling: Pooling) => string | null} */
export function asked(text, pair, { layer, method }) {
  const other = text.trim();
  if (!other && !pair) return null;
  return `token_pairs?${new URLSearchParams({ other, method, state: String(layer) })}`;
}

export class TwoTexts extends View {
  /** @type {Pooling} */
  pooling = { layer: -1, method: "mean" };
  seen = false; // whether it has been in sight: before, nothing is computed
  text = el("input", {
    id: "viz-pairs-text",
    type: "text",
    dir: "auto",
    placeholder: "Another text",
    "aria-describedby": "viz-pairs-first",
  });
  first = el("span", { id: "viz-pairs-first", class: "viz-caption", dir: "auto" });
  form = el(
    "form",
    { class: "viz-pairs-form" },
    el("label", { for: "viz-pairs-text" }, "Second text"),
    this.text,
    button("Compare", () => {}, { type: "submit" }),
    this.first,
  );
  lead = el("h2", { class: "viz-lead", hidden: true });
  by = oneStop(el("p", { class: "viz-pairs-by" })); // every pooling
  answer = el("p", { class: "viz-pool-answer", role: "status", hidden: true });
  notes = el("ul", { class: "viz-notes" });
  map = new Figure("Part of each pair of tokens", { caption: false });
  views = [this.map];
  result = el("div", { class: "viz-pool", hidden: true }, this.notes, this.map.node, caption(NOT));
  node = el(
    "section",
    { class: "viz-pairs viz-of-two", "aria-label": "Why two texts are alike" },
    ...[this.form, this.lead, this.by],
    el("h3", {}, "Why two texts are alike"),
    caption(WHAT),
    this.answer,
    this.result,
  );
  #asked = this.latest((sentence) => this.#none(sentence));

  /** `link` is what it has of a run's second text; `pool` chooses a pooling.
   * @param {{ of: (run: Run) => string, note: (text: string) => unknown }} link @param {(method: string) => unknown} pool */
  constructor(link, pool) {
    super();
    this.link = link;
    this.pool = pool;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const [text, usual] = [this.text.value.trim(), this.run ? secondText(this.run) : ""];
      this.link.note(text === usual ? "" : text);
      this.#load(true);
    });
    onSight(this.node, (seen) => {
      if (this.seen || !seen) return;
      this.seen = true;
      this.#load();
    });
  }

  // Show for this run; its second text stays as long as the run.
  show(/** @type {Run} */ run, /** @type {Pooling} */ pooling) {
    const other = this.run !== run;
    Object.assign(this, { run, pooling });
    this.node.hidden = run.grid !== null;
    if (other) {
      this.text.value = this.link.of(run) || secondText(run);
      this.text.placeholder = this.#pair ? "Empty: text B of this input" : "Another text";
      this.first.textContent = this.#pair
        ? "Left empty, text A and text B of this input are compared, each read alone."
        : "Compared with the text at the top of the page.";
      this.answer.hidden = this.result.hidden = this.lead.hidden = this.by.hidden = true;
    }
    if (this.seen) this.#load();
  }

  get #pair() {
    return this.run?.kind === "pair";
  }

  #load(pressed = false) {
    const [{ run }, path] = [this, asked(this.text.value, this.#pair, this.pooling)];
    if (!run || run.grid) return;
    if (!path) {
      this.#asked.stop();
      this.#none(TYPE);
      this.answer.hidden = !pressed;
      return;
    }
    this.behind(!this.lead.hidden);
    if (this.lead.hidden) this.lead.textContent = "Comparing the two texts …";
    this.lead.hidden = false;
    return this.#asked.run(async (fresh) => {
      /** @type {TokenPairs} */
      const found = await fresh(run.json(path));
      this.behind(false);
      this.#compare(found);
      if (found.why) return this.#say(found.why);
      this.#draw(found);
      this.map.show(run, path);
      this.painted(`${run.key}:${path}`);
    });
  }

  // By each pooling, the closest first; a click chooses it for what is below.
  #compare(/** @type {TokenPairs} */ { alike, usual }) {
    this.lead.hidden = this.by.hidden = false;
    this.lead.textContent = alikeSaid(alike, usual);
    this.by.replaceChildren(
      ...closest(alike, usual).map(({ name, cosine, any }) => {
        const chosen = { "aria-pressed": String(name === this.pooling.method) };
        const one = button(`${called(name)} ${fixed(cosine, 2)}`, () => this.pool(name), chosen);
        if (any !== null) one.append(el("span", { class: "viz-pairs-any" }, `, any two ${fixed(any, 2)}`));
        return one;
      }),
    );
  }

  #draw(/** @type {TokenPairs} */ found) {
    this.answer.hidden = this.result.hidden = false;
    this.answer.textContent = found.sentence;
    this.notes.replaceChildren(...found.notes.map((note) => el("li", {}, `Second text: ${note}`)));
  }

  // Nothing is compared: what was said of another text goes.
  #none(/** @type {string} */ sentence) {
    this.#say(sentence);
    this.lead.hidden = this.by.hidden = true;
  }

  // Why there is nothing to show.
  #say(/** @type {string} */ sentence) {
    this.behind(false);
    this.answer.hidden = false;
    this.answer.textContent = sentence;
    this.result.hidden = true;
    this.stale();
  }
}
