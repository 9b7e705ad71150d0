// Step 1: the text as tokens, each with its place and its number in the vocabulary.

import { caption, el } from "../core/dom.js";
import { isolated } from "../core/token_names.js";
import { oneStop } from "../views/one_stop.js";
import { asksFor } from "./cover.js";
import { EncoderMap } from "./encoder_map.js";
import { PatchGrid } from "./patch_grid.js";

/** @import { Acts, Shown, StepView } from "./types.d.ts" */

const MOST = 128; // cards at a time

/** @implements {StepView} */
export class TokensStep {
  cards = el("div", { class: "viz-learn-cards" });
  note = caption();
  patches = new PatchGrid();
  map = new EncoderMap();
  node = el("div", {}, this.cards, this.patches.node, this.note, this.map.node);

  constructor(/** @type {Acts} */ { choose }) {
    this.choose = choose;
    oneStop(this.cards);
  }

  /** @param {Shown} shown */
  headline({ run, numbers, texts: { tokens } }) {
    const said = run.grid ? tokens.picture : numbers.ids ? tokens.headline : tokens.named;
    const [before, after] = said("\u0000").split("\u0000");
    return [before, el("span", asksFor("n-tokens"), String(run.n)), after];
  }

  /** @param {Shown} shownRun */
  show(shownRun) {
    const { run, place, numbers, texts } = shownRun;
    this.patches.show(shownRun);
    this.map.show(shownRun);
    const words = texts.tokens;
    const shown = Math.min(run.n, MOST);
    const cards = Array.from({ length: shown }, (_, at) => {
      const id = numbers.ids?.[at];
      const facts = [`${words.position} ${at}`, ...(id === undefined ? [] : [`${words.id} ${id}`])];
      return el(
        "button",
        {
          type: "button",
          class: `viz-learn-card${run.special[at] ? " viz-learn-special" : ""}`,
          "aria-pressed": String(at === place.query),
          onclick: () => this.choose({ query: at }),
        },
        el("b", { dir: "auto" }, isolated(run.tokens[at])),
        ...facts.map((fact) => el("small", {}, fact)),
      );
    });
    this.cards.replaceChildren(...(run.grid ? [] : cards)); // its patches are chosen in the picture
    const plain = numbers.ids ? words.note : words.namedNote;
    const note = run.grid
      ? words.pictureNote(run.grid.rows, run.grid.cols, run.tokens.slice(0, run.grid.prefix).map(isolated).join(" "))
      : plain;
    this.note.textContent = run.n > shown ? `${note} ${words.more(run.n - shown)}` : note;
  }
}
