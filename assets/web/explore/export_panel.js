// Exports: the map is saved next to it; the panel below saves a page, the run, code and more.

import { control, el, options } from "../core/dom.js";
import { text } from "../core/server.js";
import { fileName } from "../views/canvas_png.js";
import { fileAt, saveRow, saves } from "../views/save_row.js";
import { paperPng, paperSvg } from "./paper_figure.js";

/** @import { AttentionMap, Selection } from "./types.d.ts" */

const WIDTHS = { 84: "one column, 84 mm", 174: "two columns, 174 mm" }; // as most journals have them
const WEIGHTS =
  "Holds the weights of this run, not their change and no shares; choose Attention, or turn off “Show the change”, first";
const TITLE = "More exports";
const PAGE = "Page (HTML)"; // says itself that it holds attention
const ANY = "Saved run"; // the only file that holds more than weights

export class ExportPanel {
  /** @type {Run | null} */ #run = null;
  width = el("select", { id: "viz-paper-width" }, ...options(Object.entries(WIDTHS)));
  row = saveRow(
    "Save this map",
    [
      ["PNG", "The visible part of this map as a picture for a paper, 400 dpi", () => this.#drawn("PNG")],
      ["SVG", "The same as SVG; its text stays text", () => this.#drawn("SVG")],
      ["CSV", "This map as a table", () => this.#file("csv")],
    ],
    control("Picture width", this.width),
  );
  more = saves(TITLE, [
    [PAGE, "The attention of all heads in one file that opens offline", () => this.#file("html")],
    ["npz", "This map for NumPy", () => this.#file("npz")],
    [ANY, "The whole run: viz_encoder.Trace.load, or viz-encoder serve", () => this.#file("safetensors")],
    ["Copy Python", "Code that computes this map again", () => this.#code()],
  ]);
  titles = this.more.buttons.map(({ title }) => title);
  node = el("details", { class: "viz-take viz-folded", "aria-label": TITLE }, el("summary", {}, TITLE), this.more.node);

  constructor(/** @type {Selection} */ selection, /** @type {AttentionMap} */ map) {
    this.selection = selection;
    this.map = map;
  }

  show(/** @type {Run} */ run) {
    this.#run = run;
  }

  // Formats that only hold weights are disabled while the map shows something else.
  sync() {
    const change = this.map.signed !== null;
    for (const [at, one] of this.more.buttons.entries()) {
      one.disabled = change && ![PAGE, ANY].includes(one.textContent);
      one.title = one.disabled ? WEIGHTS : this.titles[at];
    }
  }

  #file(/** @type {string} */ kind) {
    return fileAt(this.#path(kind));
  }

  async #drawn(/** @type {"PNG" | "SVG"} */ kind) {
    if (!this.#run) return null;
    const width = Number(this.width.value);
    const svg = paperSvg(this.map, this.#run, width);
    const signed = this.map.signed ? `-${this.map.signed.noun}` : "";
    const stem = fileName(`${this.#run.model}-${this.selection.name}${signed}-${this.selection.kept}`);
    const blob = kind === "SVG" ? new Blob([svg], { type: "image/svg+xml" }) : await paperPng(svg, width);
    return { blob, name: `${stem}.${kind.toLowerCase()}` };
  }

  #path(/** @type {string} */ kind) {
    const signed = this.map.signed?.file(kind);
    if (signed && this.#run) return this.#run.url(signed);
    const { layer, head, query, hide, renorm, words, scale } = this.selection;
    const more = kind === "html" ? { query, scale } : {}; // it opens on what is chosen here
    const asked = { layer, head, hide_special: hide, renormalize: renorm, words, ...more };
    const texts = Object.entries(asked).map(([name, value]) => [name, String(value)]);
    return `${this.#run?.url(`take/${kind}`)}?${new URLSearchParams(texts)}`;
  }

  // Without permission or a secure page, the code is shown selected, to copy by hand.
  async #code() {
    const code = await text(this.#path("py"));
    try {
      await navigator.clipboard.writeText(code);
      return "The code was copied.";
    } catch {
      const area = el("textarea", { class: "viz-code", rows: "5", readonly: true, "aria-label": "The code" });
      area.value = code;
      setTimeout(() => area.select());
      return area;
    }
  }
}
