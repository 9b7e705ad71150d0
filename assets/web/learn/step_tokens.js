// Step 1: the text as tokens, each with its place and its number in the vocabulary, or the picture as its patches; and
// the whole encoder in a line.

import { el, fit } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { isolated } from "../core/token_names.js";
import { oneStop } from "../views/one_stop.js";
import { asksFor } from "./cover.js";
import { woven } from "./sentences.js";
import { StepView } from "./step_view.js";

const MOST = 128; // cards at a time

export class TokensStep extends StepView {
  cards = oneStop(el("div", { class: "viz-learn-cards" }));
  patches = new PatchGrid(this.acts);
  map = new EncoderMap(this.acts);
  views = [this.patches, this.map];
  node = el("div", {}, this.cards, this.patches.node, this.note, this.map.node);

  headline() {
    const { run, numbers, texts } = this.shown;
    const { tokens } = texts;
    const said = run.grid ? tokens.picture : numbers.ids ? tokens.headline : tokens.named;
    return woven(said("\u0000"), el("span", asksFor("n-tokens"), String(run.n)));
  }

  draw() {
    const { run, place, numbers, texts } = this.shown;
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
          onclick: () => this.acts.choose({ query: at }),
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

class EncoderMap extends StepView {
  title = el("h4");
  parts = el("ol", { class: "viz-learn-map" });
  node = el("section", {}, this.title, this.parts, this.note);

  draw() {
    const { run, numbers, texts } = this.shown;
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

const [WIDEST, CLOSE] = [320, 120]; // pixels of the picture, and of the patch beside it

class PatchGrid extends StepView {
  #loading = new Latest();
  picture = el("canvas", { role: "img" });
  patch = el("canvas", { role: "img" });
  title = el("figcaption", { class: "viz-caption" });
  node = el("figure", { class: "viz-learn-patches", hidden: true }, this.picture, this.patch, this.title);
  /** @type {{ key: string, image: HTMLImageElement } | null} */
  found = null;

  async draw() {
    const { run } = this.shown;
    this.node.hidden = !run.grid;
    if (!run.grid) return;
    await this.#loading.run(async (fresh) => {
      if (this.found?.key !== run.key) {
        const image = await fresh(run.picture());
        this.found = image && { key: run.key, image };
      }
    });
    if (run !== this.shown.run) return; // another input is here meanwhile
    this.node.hidden = this.found?.key !== run.key;
    if (this.found && !this.node.hidden) this.#draw(this.found.image);
  }

  #draw(/** @type {HTMLImageElement} */ image) {
    const { run, place, texts } = this.shown;
    const { query } = place;
    const { rows, cols, prefix } = /** @type {NonNullable<Run["grid"]>} */ (run.grid);
    const side = Math.min(WIDEST / cols, WIDEST / rows);
    const [wide, high, at] = [side * cols, side * rows, query - prefix];
    const [row, col] = [Math.floor(at / cols), at % cols];
    const context = fit(this.picture, wide, high);
    context.imageSmoothingEnabled = false;
    context.drawImage(image, 0, 0, wide, high);
    context.strokeStyle = "#9ca3af";
    for (let line = 1; line < cols; line++) context.strokeRect(line * side, -1, 0, high + 2);
    for (let line = 1; line < rows; line++) context.strokeRect(-1, line * side, wide + 2, 0);
    this.patch.hidden = at < 0;
    this.title.textContent = at < 0 ? texts.tokens.before(run.tokens[query]) : texts.tokens.patch(query, row, col);
    this.picture.setAttribute("aria-label", texts.tokens.grid(rows, cols));
    if (at < 0) return;
    context.strokeStyle = getComputedStyle(this.node).getPropertyValue("--viz-mark") || "#d97706";
    context.lineWidth = 3;
    context.strokeRect(col * side, row * side, side, side);
    const close = fit(this.patch, CLOSE, CLOSE);
    const [x, y] = [image.naturalWidth / cols, image.naturalHeight / rows];
    close.imageSmoothingEnabled = false;
    close.drawImage(image, col * x, row * y, x, y, 0, 0, CLOSE, CLOSE);
    this.patch.setAttribute("aria-label", this.title.textContent);
  }
}
