// The whole encoder in a line, from the text to the answer, with the steps that are about each part.

import { caption, el } from "../core/dom.js";

/** @import { Shown } from "./types.d.ts" */

export class EncoderMap {
  title = el("h4");
  parts = el("ol", { class: "viz-learn-map" });
  note = caption();
  node = el("section", {}, this.title, this.parts, this.note);

  /** @param {Shown} shown */
  show({ run, numbers, texts }) {
    const { map: words, steps } = texts;
    const wide = numbers.embedding?.out.length;
    const units = numbers.ffn?.after.length;
    /** @type {[name: string, about: string, said: string][]} */
    const parts = [
      [steps.tokens, "1", run.grid ? words.patches : words.tokens],
      [steps.embedding, "2", wide ? words.embedding(wide) : words.vectors],
      [words.blocks(run.nLayers), "3–7", words.block(run.nHeads) + (units ? words.units(units) : "")],
      [words.end, "8, 11", words.answer],
      [`${steps.knockout}, ${steps.masks}`, "9, 10", words.taken],
    ];
    this.title.textContent = words.title;
    this.parts.replaceChildren(
      ...parts.map(([name, about, said]) =>
        el("li", {}, el("b", {}, name), el("small", {}, words.steps(about)), el("span", {}, said)),
      ),
    );
    this.note.textContent = words.note;
  }
}
