// A Plotly figure that the server made of a run, drawn by the Plotly that is installed with it.

import { el, onTheme } from "../core/dom.js";
import { laidOut, onPaper } from "./figure_layout.js";
import { captionOf, titleOf } from "./figure_numbers.js";
import { tableOf } from "./figure_table.js";

const PLOTLY = new URL("viz/plotly.min.js", document.baseURI).href;
// Nothing may be sent anywhere: Plotly would offer its cloud.
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"],
  doubleClick: "reset",
};
const NARROW = 480; // pixels, below which Plotly's buttons would lie over the names
const REMEMBERED = 24;
const PATIENCE = 1000; // ms until the page says how long it has been computing

let loading = null;

// Plotly comes once, and only when the first figure is asked for.
export function plotly() {
  loading ??= new Promise((done, failed) => {
    const script = el("script", {
      src: PLOTLY,
      onload: () => done(window.Plotly),
      onerror: () => failed(new Error("Plotly could not be loaded; is the server still running?")),
    });
    document.head.append(script);
  });
  loading.catch(() => {
    loading = null;
  });
  return loading;
}

const answers = new WeakMap(); // run → the latest figures of it, by path

export class Figure {
  // Without `caption`, what it measures is said beside it already.
  constructor(label, { caption = true } = {}) {
    this.caption = caption;
    this.title = el("figcaption", { class: "viz-figure-title" });
    this.said = el("p", { class: "viz-caption viz-figure-said", role: "status" }, label);
    this.retry = el(
      "button",
      { type: "button", class: "viz-small", hidden: true, onclick: () => this.#again() },
      "Try again",
    );
    this.canvas = el("div", { class: "viz-figure-canvas", role: "img", "aria-label": label });
    this.measures = el("p", { class: "viz-caption" });
    this.table = el("div", { hidden: true });
    this.take = this.#buttons();
    this.node = el(
      "figure",
      { class: "viz-figure" },
      this.title,
      this.said,
      this.retry,
      this.canvas,
      this.measures,
      this.take,
      this.table,
    );
    onTheme(() => this.#draw());
    new ResizeObserver(() => this.#resized()).observe(this.node);
  }

  // Fetch and draw; `path` is the view and its options. The last call wins, and stops the others.
  // Returns the figure, or null if another was asked for or it could not be drawn.
  async show(run, path) {
    const asked = `${run.key}:${path}`;
    if (this.asked === asked) return this.showing;
    this.asked = asked;
    this.last = [run, path];
    this.stop?.abort();
    this.stop = new AbortController();
    this.showing = this.#show(run, path, this.stop.signal);
    return this.showing;
  }

  async #show(run, path, signal) {
    const { asked } = this;
    const waiting = this.#wait();
    try {
      const [figure, library] = await Promise.all([fetched(run, path, signal), plotly()]);
      if (signal.aborted) return null;
      this.drawn = { figure, library, run, path };
      await this.#enter(asked);
      return figure;
    } catch (fault) {
      if (!signal.aborted) this.fail(fault.message, true);
      return null;
    } finally {
      clearInterval(waiting);
    }
  }

  // Say why there is no figure; one that is there goes, for it is of something else.
  fail(sentence, again = false) {
    this.stop?.abort();
    this.asked = null;
    this.drawn = null;
    delete this.node.dataset.painted;
    this.node.classList.remove("viz-busy");
    this.node.classList.toggle("viz-failed", true);
    this.said.textContent = sentence;
    this.retry.hidden = !again;
  }

  #again() {
    this.show(...this.last);
  }

  #wait() {
    const begun = Date.now();
    this.said.textContent = "Computing …";
    this.retry.hidden = true;
    this.node.classList.add("viz-busy");
    const asked = this.asked;
    return setInterval(() => {
      if (this.asked === asked)
        this.said.textContent = `Computing … ${Math.round((Date.now() - begun) / 1000)} s. Choose something else to stop waiting.`;
    }, PATIENCE);
  }

  async #enter(asked) {
    const { figure, run, path } = this.drawn;
    const title = titleOf(figure);
    this.title.textContent = title;
    this.measures.textContent = this.caption ? captionOf(figure) : "";
    this.canvas.setAttribute("aria-label", `${title}. Press “Table” below for its numbers.`);
    this.node.classList.remove("viz-busy", "viz-failed");
    this.said.textContent = "";
    const [view, options = ""] = path.split("?");
    for (const kind of ["csv", "npz"]) this[kind].href = run.url(`figure/${view}.${kind}${options && `?${options}`}`);
    this.#fillTable();
    await this.#draw();
    this.node.dataset.painted = asked;
  }

  // A hidden figure has no width; it is drawn when it is seen.
  async #draw() {
    const width = this.canvas.clientWidth;
    if (!this.drawn || !width) return;
    const { figure, library, path } = this.drawn;
    const { data, layout } = laidOut(figure, width);
    // Plotly leaves parts of the old drawing where a scale turns or the kind of figure changes.
    const kind = `${path.split("?")[0]}:${width}`;
    const again = this.kind !== kind;
    if (again && this.kind) library.purge(this.canvas);
    Object.assign(this, { width, kind });
    await library.react(this.canvas, data, layout, { ...CONFIG, displayModeBar: width < NARROW ? false : "hover" });
    if (!again) return;
    this.canvas.on("plotly_click", ({ points }) => this.onpoint?.(points[0]));
  }

  #resized() {
    if (this.canvas.clientWidth !== this.width) requestAnimationFrame(() => this.#draw());
  }

  #buttons() {
    const picture = (format) =>
      el("button", { type: "button", class: "viz-small", onclick: () => this.#download(format) }, format.toUpperCase());
    const table = (kind) =>
      (this[kind] = el("a", { class: "viz-small viz-figure-link", download: "" }, kind === "csv" ? "CSV" : "npz"));
    this.toggle = el(
      "button",
      { type: "button", class: "viz-small", "aria-expanded": "false", onclick: () => this.#toggleTable() },
      "Table",
    );
    return el(
      "div",
      { class: "viz-figure-take", role: "group", "aria-label": "This figure's numbers and files" },
      this.toggle,
      picture("png"),
      picture("svg"),
      table("csv"),
      table("npz"),
    );
  }

  #download(format) {
    if (!this.drawn) return;
    const { figure, library, path } = this.drawn;
    const paper = onPaper(figure);
    library.downloadImage(paper, {
      format,
      width: paper.layout.width,
      height: paper.layout.height,
      filename: path.split("?")[0],
      scale: 2,
    });
  }

  #toggleTable() {
    this.table.hidden = !this.table.hidden;
    this.toggle.setAttribute("aria-expanded", String(!this.table.hidden));
    this.#fillTable();
  }

  // Built only when it is looked at.
  #fillTable() {
    this.table.replaceChildren(
      ...(this.table.hidden || !this.drawn ? [] : [tableOf(this.drawn.figure, this.title.textContent)]),
    );
  }
}

export async function fetched(run, path, signal) {
  if (!answers.has(run)) answers.set(run, new Map());
  const known = answers.get(run);
  if (known.has(path)) return known.get(path);
  const response = await fetch(run.url(`figure/${path}`), { signal }).catch(() => {
    throw new Error("The server does not answer; is it still running?");
  });
  const content = await response.json().catch(() => null); // cut off, or no JSON
  if (!response.ok || !content)
    throw new Error(content?.message || `The server answered ${response.status}; press Run again.`);
  known.set(path, content);
  if (known.size > REMEMBERED) known.delete(known.keys().next().value);
  return content;
}
