// How alike the tokens are after so many blocks, whether they become one over layers, and which are nearest.

import { caption, el } from "../core/dom.js";
import { afterBlocks, STATES_AXIS } from "../core/states.js";
import { View } from "../core/view.js";
import { fullScreen } from "../views/full_screen.js";
import { section } from "../views/headed.js";
import { savePicture } from "../views/plotly_figure.js";
import { fileAt, saveRow } from "../views/save_row.js";
import { LineChart } from "./layer_chart.js";
import { Nearest } from "./nearest_tokens.js";
import { SimilarityMatrix } from "./similarity_matrix.js";

/** @import { Choice } from "../views/save_row.js" */
/** @typedef {{ run: Run, layer: number, token: number, hide: boolean }} State what is to be shown */
/** @typedef {{ hover: (token: number | null) => void, choose: (token: number) => void, layer: (at: number) => void }} Acts */
/** @typedef {[text: string, path: string]} Table what its button says, and where its numbers are */

const VIEW = "token_similarity"; // of figures/, for paper
const PATIENCE = 80; // ms before it is said that it computes
const CLEAR = 2; // hundredths of a cosine by which the lines turn
const TITLE = "Token similarity (cosine)";
const MEASURES =
  "Look for blocks of high cosine: tokens whose hidden states point the same way. The cosine ignores their lengths, and does not show that the model treats the tokens alike.";
const SMOOTHING =
  "Watch whether the mean cosine rises toward 1 and the spread falls toward 0: the tokens are becoming alike. Mean cosine: over all pairs of different tokens. Spread: ‖states − their mean‖ ÷ ‖states‖. A high cosine alone does not prove over-smoothing: states of unrelated inputs may share a direction too.";

export class TokenSimilarity extends View {
  /** @type {State | null} */
  state = null;
  #latest = this.latest((sentence) => this.#fail(sentence));
  said = el("p", { class: "viz-caption viz-hidden-said", role: "status" });
  told = el("p", { class: "viz-hidden-told" }); // of what is under the pointer
  heading = el("h4");
  lead = el("span");
  body = el("div", { class: "viz-hidden-body" });
  save = saveRow(`Files of ${TITLE}`, [
    ...this.#files(0, "Matrix "),
    ...this.#files(1, "Lines "),
    ...this.#files(2, "Nearest "),
    ...["PNG", "SVG"].map((format) => {
      /** @type {Choice} */
      const choice = [format, "A picture for paper", () => this.#picture(format.toLowerCase())];
      return choice;
    }),
  ]);

  /** `beside` stands at the end of the lines. @param {Acts} acts @param {HTMLElement} beside */
  constructor(acts, beside) {
    super();
    this.matrix = new SimilarityMatrix(acts, this.told);
    this.chart = new LineChart("Over-smoothing", { xTitle: STATES_AXIS, yTitle: "cosine, ratio", choose: acts.layer });
    this.nearest = new Nearest(acts);
    const left = el("div", {}, this.heading, this.matrix.node, this.told);
    this.body.append(left, el("div", {}, this.chart.node, caption(SMOOTHING)), beside, this.nearest.node);
    this.node = section(
      ...["viz-hidden-panel viz-of-one", TITLE, TITLE],
      ...[el("p", { class: "viz-caption viz-hidden-measures" }, MEASURES), this.said, this.body, this.save],
    );
    this.node.id = "viz-hidden-similarity";
    this.node.prepend(fullScreen(this.node));
  }

  show(/** @type {State} */ state) {
    this.state = state;
    const busy = () => {
      this.said.textContent = "Computing …";
      this.behind();
    };
    return this.#latest.run(
      async (fresh) => {
        await this.#draw(state, fresh);
        this.#say("");
        const { run, layer, hide, token } = state;
        this.painted(`${run.key}:${layer}:${hide}:${token}`);
      },
      { tell: busy, patience: PATIENCE },
    );
  }

  mark(/** @type {number | null} */ hovered) {
    this.matrix.mark(hovered);
    this.nearest.mark(hovered);
  }

  // Drop what is under way.
  leave() {
    this.#latest.stop();
  }

  #fail(/** @type {string} */ sentence) {
    this.#say(sentence);
    this.node.classList.add("viz-failed");
    this.stale();
  }

  #say(/** @type {string} */ sentence) {
    this.said.textContent = sentence;
    this.node.classList.remove("viz-failed");
    this.behind(false);
  }

  /** @type {(state: State, fresh: Fresh) => Promise<void>} */
  async #draw(state, fresh) {
    const { run, hide, layer, token } = state;
    const [matrix, lines, nearest] = pathsOf(state);
    /** @type {Promise<Numbers<{ edges: number[] }>>} */
    const numbers = run.numbers(`hidden/${matrix}`, fresh.signal);
    /** @type {Promise<OverSmoothing>} */
    const spread = run.json(`hidden/${lines}`);
    const all = Promise.all([numbers, spread, this.nearest.draw(state, nearest, fresh)]);
    const [{ values, about }, found] = await fresh(all);
    const cells = { kept: run.real(hide), values, edges: about.edges };
    this.#spread(found, layer);
    this.matrix.show(run, cells, token);
    const [, each] = cells.edges;
    const pooled = cells.kept.length >= cells.edges.length;
    const of = pooled ? `; each cell is the mean of up to ${each} × ${each} tokens` : "";
    this.heading.textContent = `Cosine of every pair of tokens ${afterBlocks(layer)}${of}`;
  }

  /** @type {(spread: OverSmoothing, layer: number) => void} */
  #spread({ cosine, apart }, layer) {
    const [cosines, aparts] = [cosine, apart].map((values) => values.map((value) => value ?? NaN));
    const lowest = Math.min(...[...cosines, ...aparts].filter(Number.isFinite));
    const lines = [
      { name: "mean cosine", values: cosines, hue: "var(--viz-a)" },
      { name: "spread", values: aparts, hue: "var(--viz-b)" },
    ];
    this.chart.show(lines, layer, lowest > -0.05 ? 0 : null, 1);
    const layers = [...new Set([0, layer, cosine.length - 1])];
    const said = layers.map((at) => `${twoDigits(cosine[at])} ${afterBlocks(at)}`);
    this.lead.textContent = `${wayOf(cosine.slice(0, layer + 1))}: mean cosine over pairs of tokens ${said.join(", ")}.`;
  }

  /** Its numbers as files. @type {(at: number, text: string) => Choice[]} */
  #files(at, text) {
    const file = (/** @type {string} */ kind) => {
      if (!this.state) throw new Error("Nothing is shown yet.");
      const [what, options] = pathsOf(this.state)[at].split("?");
      return fileAt(this.state.run.url(`hidden/take/${what}.${kind}?${options}`));
    };
    return [
      [`${text}CSV`, "These numbers as a table", () => file("csv")],
      [`${text}npz`, "The same for NumPy", () => file("npz")],
    ];
  }

  async #picture(/** @type {string} */ format) {
    if (!this.state) return null;
    const { run, layer, hide } = this.state;
    const options = new URLSearchParams({ state: String(layer), hide_special: hide ? "yes" : "no" });
    await savePicture(await run.json(`figure/${VIEW}?${options}`), VIEW, format);
    return null;
  }
}

/** Where the numbers of the matrix, of the lines and of the nearest tokens are. @param {State} state */
const pathsOf = ({ layer, hide, token }) => [
  `token_similarity?layer=${layer}&hide_special=${hide}`,
  `over_smoothing?hide_special=${hide}`,
  `nearest_tokens?token=${token}&layer=${layer}&hide_special=${hide}`,
];

/** Whether the tokens grow alike over the blocks or apart, or one and then the other, by their mean cosines.
 * @type {(cosines: Maybe[]) => string} */
export function wayOf(cosines) {
  const all = cosines.map((value) => Math.round(100 * Number(value)));
  const [first, last, low, high] = [all[0], all[all.length - 1], Math.min(...all), Math.max(...all)];
  if (Math.min(first, last) - low > CLEAR) return "The tokens grow apart, then alike";
  if (high - Math.max(first, last) > CLEAR) return "The tokens grow alike, then apart";
  return last > first ? "The tokens grow alike" : last < first ? "The tokens grow apart" : "The tokens stay as alike";
}

const twoDigits = (/** @type {Maybe} */ value) =>
  value === null ? "not defined" : value.toFixed(2).replace(/^-(?=0\.00$)/, "");
