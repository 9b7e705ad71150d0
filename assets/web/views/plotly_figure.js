// A Plotly figure that the server made of a run, drawn by the Plotly that is installed with it.

import { button, caption, el } from "../core/dom.js";
import { address } from "../core/server.js";
import { View } from "../core/view.js";
import { laidOut, onPaper } from "./figure_layout.js";
import { captionOf, titleOf } from "./figure_numbers.js";
import { BARE } from "./figure_room.js";
import { fullHeight, fullScreen } from "./full_screen.js";
import { tableOf } from "./figure_table.js";
import { fileAt, saves } from "./save_row.js";

/** @typedef {{ pointNumber: [row: number, col: number] }} Point */
/** @typedef {HTMLElement & { on?: (event: "plotly_click", told: (click: { points: Point[] }) => unknown) => void }} Canvas */
/** @typedef {{ react: (node: HTMLElement, data: object[], layout: object, config: object) => Promise<unknown>,
 *   purge: (node: HTMLElement) => void, downloadImage: (figure: object, options: object) => Promise<unknown> }} Plotly */

// No data may leave: hide Plotly's cloud button.
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"],
  doubleClick: "reset",
};

/** @type {Promise<Plotly> | null} */
let loading = null;

// Plotly comes once, and only when the first figure is asked for.
function plotly() {
  loading ??= new Promise((done, failed) => {
    const fault = new Error("Plotly could not be loaded; is the server still running?");
    const onload = () => done(/** @type {{ Plotly: Plotly }} */ (/** @type {unknown} */ (window)).Plotly);
    document.head.append(el("script", { src: address("viz/plotly.min.js"), onload, onerror: () => failed(fault) }));
  });
  loading.catch(() => {
    loading = null;
  });
  return loading;
}

/** Save a figure as a picture for paper. @type {(figure: FigureJson, name: string, format: string) => Promise<unknown>} */
export async function savePicture(figure, name, format) {
  const paper = onPaper(figure);
  const { width, height } = paper.layout;
  return (await plotly()).downloadImage(paper, { format, width, height, filename: name, scale: 2 });
}

export class Figure extends View {
  #latest = this.latest((sentence) => this.fail(sentence, true));
  /** @type {{ figure: FigureJson, library: Plotly, run: Run, path: string } | null} */
  #drawn = null;
  /** @type {Promise<FigureJson | null>} */
  #showing = Promise.resolve(null);
  /** @type {[Run, string] | null} */
  #last = null;
  #asked = "";
  #kind = "";
  #width = 0;
  /** @type {((point: Point) => unknown) | null} */
  onpoint = null;
  title = el("figcaption", { class: "viz-figure-title" });
  said = el("p", { class: "viz-caption viz-figure-said", role: "status" });
  retry = button("Try again", () => this.#last && this.show(...this.#last), { hidden: true });
  /** @type {Canvas} */
  canvas = el("div", { class: "viz-figure-canvas", role: "group" }); // no img: Plotly puts controls into it
  measures = caption();
  table = el("div", { hidden: true });
  toggle = button("Table", () => this.#toggleTable(), { "aria-expanded": "false" });
  files = saves("This figure's files", [
    ["PNG", "The figure as a picture for paper", () => this.#download("png")],
    ["SVG", "The same as SVG", () => this.#download("svg")],
    ["CSV", "Its numbers as a table", () => this.#numbers("csv")],
    ["npz", "Its numbers for NumPy", () => this.#numbers("npz")],
  ]);
  take = el("div", { class: "viz-figure-take" }, this.toggle, this.files.node);

  // Without `caption`, what it measures is said beside it already.
  constructor(/** @type {string} */ label, { caption = true } = {}) {
    super();
    this.caption = caption;
    this.said.textContent = label;
    this.canvas.setAttribute("aria-label", label);
    const parts = [this.title, this.said, this.retry, this.canvas, this.measures, this.take, this.table];
    this.node = el("figure", { class: "viz-figure" }, ...parts);
    this.node.prepend(fullScreen(this.node, () => this.draw()));
    new ResizeObserver(() => this.#resized()).observe(this.node);
  }

  /** Fetch and draw; `path` is the view and its options. The last call wins, and stops the others.
   * Returns the figure, or null if another was asked for or it could not be drawn.
   * @type {(run: Run, path: string) => Promise<FigureJson | null>} */
  show(run, path) {
    const asked = `${run.key}:${path}`;
    if (this.#asked === asked) return this.#showing;
    this.#asked = asked;
    this.#last = [run, path];
    this.#showing = this.#latest.run(
      async (fresh) => {
        /** @type {Promise<FigureJson>} */
        const answer = run.json(`figure/${path}`, fresh.signal);
        const [figure, library] = await fresh(Promise.all([answer, plotly()]));
        this.#drawn = { figure, library, run, path };
        this.#enter(figure);
        await fresh(this.draw());
        this.painted(asked);
        return figure;
      },
      { tell: (seconds) => this.#wait(seconds) },
    );
    return this.#showing;
  }

  clear() {
    super.clear();
    this.#asked = ""; // also what is here is asked for again
  }

  // Say why there is no figure; one that is there goes, for it is of something else.
  fail(/** @type {string} */ sentence, again = false) {
    this.#latest.stop();
    this.#asked = "";
    this.#drawn = null;
    this.stale();
    this.behind(false);
    this.node.classList.add("viz-failed");
    this.said.textContent = sentence;
    this.retry.hidden = !again;
  }

  #wait(/** @type {number} */ seconds) {
    const long = seconds ? ` ${seconds} s. Choose something else to stop waiting.` : "";
    this.said.textContent = `Computing …${long}`;
    this.retry.hidden = true;
    this.behind();
  }

  #enter(/** @type {FigureJson} */ figure) {
    const title = titleOf(figure);
    this.title.textContent = title;
    this.measures.textContent = this.caption ? captionOf(figure) : "";
    this.canvas.setAttribute("aria-label", `${title}. Press “Table” below for its numbers.`);
    this.node.classList.remove("viz-failed");
    this.behind(false);
    this.said.textContent = "";
    this.#fillTable();
  }

  // A hidden figure has no width; it is drawn when it is seen.
  async draw() {
    const width = this.canvas.clientWidth;
    if (!this.#drawn || !width) return;
    const { figure, library, path } = this.#drawn;
    const { data, layout } = laidOut(figure, width, fullHeight(this.canvas));
    // Plotly leaves parts of the old drawing where a scale turns or the kind of figure changes.
    const kind = `${path.split("?")[0]}:${width}:${layout.height}`;
    const again = this.#kind !== kind;
    if (again && this.#kind) library.purge(this.canvas);
    this.#width = width;
    this.#kind = kind;
    await library.react(this.canvas, data, layout, { ...CONFIG, displayModeBar: width < BARE ? false : "hover" });
    if (again) this.canvas.on?.("plotly_click", ({ points }) => this.onpoint?.(points[0]));
  }

  #resized() {
    if (this.canvas.clientWidth !== this.#width) requestAnimationFrame(() => this.draw());
  }

  #numbers(/** @type {string} */ kind) {
    if (!this.#drawn) return null;
    const [view, options] = this.#drawn.path.split("?");
    return fileAt(this.#drawn.run.url(`figure/${view}.${kind}${options ? `?${options}` : ""}`));
  }

  async #download(/** @type {string} */ format) {
    if (!this.#drawn) return null;
    const { figure, run, path } = this.#drawn;
    const stem = `${run.model}-${path}`.replaceAll(/[^A-Za-z0-9_.]+/g, "-"); // of which model, and what was chosen
    await savePicture(figure, stem.slice(0, 120), format);
    return null;
  }

  #toggleTable() {
    this.table.hidden = !this.table.hidden;
    this.toggle.setAttribute("aria-expanded", String(!this.table.hidden));
    this.#fillTable();
  }

  // Built only when it is looked at.
  #fillTable() {
    const drawn = this.table.hidden ? null : this.#drawn;
    this.table.replaceChildren(...(drawn ? [tableOf(drawn.figure, this.title.textContent ?? "")] : []));
  }
}
