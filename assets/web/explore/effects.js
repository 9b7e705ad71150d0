// What is told of effects beside the picture: several heads at once, what stands in for a head, and ranks.

import { changedRun, codesOf } from "../core/changed_run.js";
import { control, el, enumerated, options, status } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { inLink } from "../core/link_notes.js";
import { headsOf } from "../core/selection_address.js";
import { streamed } from "../core/streamed.js";
import { toldApart } from "../core/token_names.js";
import { View } from "../core/view.js";
import { changed } from "./answers.js";
import { shareSaid } from "../views/routes_layout.js";

export class SeveralHeads extends View {
  #latest = this.latest((sentence) => this.#say(sentence));
  node = status();

  #show = () => {};

  constructor(/** @type {PageSelection} */ selection) {
    super(selection);
    this.node.hidden = true;
    selection.on((changed) => (changed.has("head") || changed.has("layer")) && this.#show(), this.signal);
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
      this.painted(String(names));
    });
  }

  #say(/** @type {string} */ sentence) {
    this.stale();
    this.node.textContent = sentence;
  }
}

/** @type {[how: string, words: string][]} */
const HOWS = [
  ["zero", "zeros"],
  ["mean", "its mean over other texts"],
  ["patch", "its output for the twin text"],
];
const NO_TWIN = "Choose a text that differs in one word under “against”";

export class StandIn {
  select = el("select", { id: "viz-stand-in" }, ...options(HOWS));
  node = control("In place of a head:", this.select);
  #twin = "";

  /** @param {() => unknown} changed @param {AbortSignal} signal */
  constructor(changed, signal) {
    inLink("effect.how", this.select, signal).addEventListener("change", changed);
  }

  /** Offer what a run has; `twin`: a text with as many tokens. @type {(run: Run, twin: string) => void} */
  offer({ grid }, twin) {
    this.#twin = twin;
    const [, mean, patch] = this.select.options;
    mean.disabled = grid !== null;
    patch.disabled = grid !== null || !twin;
    patch.title = twin ? "" : NO_TWIN;
  }

  /** What is in place of a head: the chosen one, or zeros where a run does not have that. */
  get how() {
    const [option] = this.select.selectedOptions;
    return option.disabled ? "zero" : option.value;
  }

  /** For the address that asks for effects. */
  get asked() {
    const { how } = this;
    return how === "zero" ? "" : `&${new URLSearchParams({ how, ...(how === "patch" && { twin: this.#twin }) })}`;
  }

  get doing() {
    return this.how === "patch" ? "patching" : "removing";
  }
}

const SHORT = 128; // tokens up to which every removal is measured at once; about a second
const LONG = "For the rank of this effect among all, press Restore, then Effect.";

export class Yardstick {
  #latest = new Latest((sentence) => this.#say(sentence));
  /** @type {Map<string, Explained>} */ #known = new Map(); // the effects in plain runs, by their questions
  said = "";

  constructor(/** @type {() => unknown} */ changed) {
    this.changed = changed;
  }

  /** What was measured for the page itself. @type {(run: Run, asked: string, effect: Explained) => void} */
  keep(run, asked, effect) {
    this.#known.set(`${run.key}:${asked}`, effect);
  }

  /** Tell it of a changed run's question; nothing of a run without removed heads or hidden words.
   * @type {(run: Run, question: Record<string, string>) => void} */
  show(run, question) {
    const codes = codesOf(run).filter((code) => /^[ht]\d/.test(code));
    const asked = new URLSearchParams(question);
    if (question.against?.startsWith("run:")) asked.delete("against");
    this.#latest.stop();
    this.said = "";
    if (!codes.length || run.unsplit) return;
    this.#latest.run(async (fresh) => {
      const plain = await fresh(changedRun.plainOf(run));
      const known = this.#known.get(`${plain.key}:${asked}`);
      if (!known && plain.n > SHORT) return this.#say(LONG);
      const tell = (/** @type {number} */ done) => {
        if (!fresh.signal.aborted) this.#say(`Ranking its effect: ${Math.round(100 * done)}%`);
      };
      const url = plain.url(`attribution/effect?${asked}`);
      const asking = known ?? /** @type {Promise<Explained>} */ (streamed(url, tell, { signal: fresh.signal }));
      const effect = await fresh(asking);
      this.keep(plain, String(asked), effect);
      this.#say(ranksSaid(effect, codes));
    });
  }

  #say(/** @type {string} */ sentence) {
    this.said = sentence;
    this.changed();
  }
}

/** The effect of each removed head and hidden word alone, with its place among all of its kind.
 * @type {(effect: Explained, codes: string[]) => string} */
export function ranksSaid(effect, codes) {
  const said = codes.flatMap((code) => {
    const [layer, head] = code.slice(1).split(".").map(Number);
    const word = code.startsWith("t");
    const own = word ? effect.tokens[layer] : effect.heads[layer]?.[head];
    if (!own) return []; // not measured, as of a folded token
    const all = (word ? effect.tokens : effect.heads.flat()).flatMap((each) => (each ? Math.abs(each) : []));
    const place = 1 + all.filter((each) => each > Math.abs(own)).length;
    const part = place > 1 ? `${Math.round((100 * Math.abs(own)) / Math.max(...all))}% of the largest, ` : "";
    const rank = `${part}rank ${place} of ${all.length}`;
    const what = word ? `hiding ${toldApart(effect.names, layer)}` : `removing ${code.slice(1)}`;
    return { what, by: changed(own, effect), rank };
  });
  const [first, ...others] = said.map(({ what, by, rank }, at) =>
    at
      ? `, ${what} by ${by} (${rank})`
      : `${what[0].toUpperCase()}${what.slice(1)} ${codes.length > 1 ? "alone " : ""}changes the result by ${by} (${rank})`,
  );
  return first ? `${first}${others.join("")}.` : "";
}
