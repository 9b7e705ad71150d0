// Step 8: the model's answer for the token after each block, one block after the other when played; and how far its
// vector turns if the chosen one is hidden from all.

import { button, el, fillTable, rowWith, tableRow } from "../core/dom.js";
import { Latest, rest } from "../core/latest.js";
import { isolated } from "../core/token_names.js";
import { fixed, quoted, scrolled } from "./printed.js";
import { turnedStates } from "./requests.js";
import { StepView } from "./step_view.js";

/** @import { Texts } from "./types.d.ts" */

const [BEST, PAUSE] = [4, 900]; // answers of a row; milliseconds a block when played

export class DepthStep extends StepView {
  #asked = new Latest((sentence) => this.note.replaceChildren(sentence));
  #playing = new Latest();
  table = el("table", { class: "viz-learn-depth" });
  play = button("", () => this.#play());
  turned = new TurnedStates(this.acts);
  views = [this.turned];
  node = el("div", {}, scrolled(this.table), ...[this.play, this.note, this.turned.node]);
  /** @type {{ run: Run, key: string, rows: Prediction[] } | null} one answer a number of blocks */
  found = null;

  headline() {
    const { run, place, texts } = this.shown;
    const row = this.found?.key === keyOf(run, place.query) ? this.found.rows[run.nLayers] : null;
    if (!row) return [run.tasks.length ? texts.depth.mask : texts.depth.none];
    return texts.depth.headline(
      row.token === null ? "" : run.tokens[place.query],
      quoted(row.labels[0]),
      fixed(row.shares[0] ?? 0, 3),
      run.nLayers,
    );
  }

  async draw() {
    const { run, place, texts } = this.shown;
    this.#asked.stop(); // the answers of another token, which was left before they came
    this.play.textContent = texts.depth.play;
    const key = keyOf(run, place.query);
    if (this.found?.key === key) return this.#draw(texts);
    this.#playing.stop();
    const task = run.tasks[0];
    this.table.hidden = this.play.hidden = !task;
    this.note.textContent = task ? texts.depth.note : texts.depth.none;
    if (!task) return;
    await this.#asked.run(async (fresh) => {
      const rows = [];
      for (let layer = 0; layer <= run.nLayers; layer++) {
        const all = await fresh(run.predictions(task, layer === run.nLayers ? "" : layer));
        const own = all.find(({ token }) => token === place.query) ?? all.find(({ token }) => token === null);
        if (own) rows.push(own);
      }
      this.table.hidden = this.play.hidden = !rows.length;
      this.found = rows.length ? { run, key, rows } : null;
      this.#draw(texts);
      this.acts.layoutChanged();
    });
  }

  clear() {
    super.clear();
    this.#playing.stop();
  }

  #draw(/** @type {Texts} */ { depth: { blocks, answers, note, mask } }) {
    const rows = this.found?.rows ?? [];
    this.note.textContent = rows.length ? note : mask;
    const last = rows.at(-1)?.labels[0];
    const titles = [el("th", { scope: "col" }, blocks), el("th", { scope: "col", colspan: BEST }, answers)];
    const cell = (/** @type {string} */ label, /** @type {number} */ share) => {
      const bar = el("span", { class: "viz-learn-track" }, el("i", { style: `width:${100 * share}%` }));
      return el(
        "td",
        { class: label === last ? "viz-learn-final" : "" },
        el("bdi", {}, isolated(label)),
        ` ${fixed(share, 2)} `,
        bar, // on a track, so that those of a column begin at one edge
      );
    };
    const lines = rows.map(({ labels, shares }, at) => {
      const cells = labels.slice(0, BEST).map((label, place) => cell(label, shares[place] ?? 0));
      return rowWith({ "data-blocks": at }, String(at), ...cells);
    });
    fillTable(this.table, el("thead", {}, el("tr", {}, ...titles)), lines);
  }

  // Rows light up one after the other, as the vector goes through the blocks.
  #play() {
    const rows = [...this.table.tBodies[0].rows];
    const light = (/** @type {number} */ to) => {
      for (const [at, row] of rows.entries()) row.classList.toggle("viz-learn-later", at > to);
    };
    this.#playing.run(async (fresh) => {
      for (let at = 0; at < rows.length; at++) {
        light(at);
        await fresh(rest(PAUSE));
      }
    });
  }
}

const keyOf = (/** @type {Run} */ run, /** @type {number} */ query) => `${run.key}:${query}`;

class TurnedStates extends StepView {
  #asked = new Latest(() => {
    this.node.hidden = true;
  });
  title = el("h4");
  table = el("table", { class: "viz-learn-plain viz-learn-beside" });
  node = el("section", { hidden: true }, this.title, scrolled(this.table), this.said);

  draw() {
    const { run, place, texts } = this.shown;
    const words = texts.turned;
    this.#asked.run(async (fresh) => {
      const found = place.query === place.key ? null : await fresh(turnedStates(run, place, fresh.signal));
      this.node.hidden = !found || !("turned" in found);
      if (!found || !("turned" in found)) return;
      const [query, key] = [place.query, place.key].map((at) => quoted(run.tokens[at]));
      this.title.textContent = words.title(key, query);
      this.table.replaceChildren(
        el("tbody", {}, tableRow(texts.depth.blocks, ...found.turned.map((_, at) => String(at)))),
        el("tfoot", {}, tableRow(words.turns, ...found.turned.map((by) => fixed(by, 3)))),
      );
      const last = found.turned.length - 1;
      this.said.textContent = words.said(key, query, last, fixed(found.turned[last], 3));
    });
  }

  clear() {
    super.clear();
    this.#asked.stop();
  }
}
