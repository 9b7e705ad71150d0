// How large the effect of what was removed is beside that of every other head or word.

import { changedRun, codesOf } from "../core/changed_run.js";
import { Latest } from "../core/latest.js";
import { streamed } from "../core/streamed.js";
import { toldApart } from "../core/token_names.js";
import { changed } from "./routes_layout.js";

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
    const most = Math.max(...all);
    const rank = 1 + all.filter((each) => each > Math.abs(own)).length;
    const what = word ? `Hiding ${toldApart(effect.names, layer)}` : `Removing ${code.slice(1)}`;
    const beside = `${Math.round((100 * Math.abs(own)) / most)}% of the largest, rank ${rank} of ${all.length}`;
    return `${what} alone changes the result by ${changed(own, effect)} (${beside}).`;
  });
  return said.join(" ");
}
