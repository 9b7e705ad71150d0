// What the map and its run are saved as: pictures and tables of what is drawn, code, a page, the run.

import { control, el, options } from "../core/dom.js";
import { text } from "../core/server.js";
import { fileName } from "../views/canvas_png.js";
import { fileAt, saveRow } from "../views/save_row.js";
import { paperPng, paperSvg } from "./paper_figure.js";

const WIDTHS = { 84: "one column, 84 mm", 174: "two columns, 174 mm" }; // as most journals have them

export class ExportPanel {
  /** @type {Run | null} */ #run = null;
  width = el("select", { id: "viz-paper-width" }, ...options(Object.entries(WIDTHS)));
  row = saveRow(
    "Save this map",
    [
      ["PNG", "The visible part of this map as a picture for a paper, 400 dpi", () => this.#drawn("PNG")],
      ["SVG", "The same as SVG; its text stays text", () => this.#drawn("SVG")],
      ["CSV", "This map as a table", () => this.#file("csv")],
      ["npz", "This map for NumPy", () => this.#file("npz")],
      ["Copy Python", "Code that computes this map again", () => this.#code()],
      [
        "Page (HTML)",
        "Attention of all heads, and how the answer got there (Contribution): one offline file",
        () => this.#file("html"),
      ],
      ["Saved run", "The whole run: viz_encoder.Trace.load, or viz-encoder serve", () => this.#file("safetensors")],
    ],
    control("Picture width", this.width),
  );

  /** `question` is what is asked, as the page of a run shows it.
   * @param {PageSelection} selection @param {AttentionMap} map @param {() => string} question */
  constructor(selection, map, question) {
    this.selection = selection;
    this.map = map;
    this.question = question;
  }

  show(/** @type {Run} */ run) {
    this.#run = run;
  }

  #file(/** @type {string} */ kind) {
    return fileAt(this.#path(kind));
  }

  async #drawn(/** @type {"PNG" | "SVG"} */ kind) {
    if (!this.#run) return null;
    const width = Number(this.width.value);
    const svg = new Blob([paperSvg(this.map, this.#run, width)], { type: "image/svg+xml" });
    const signed = this.map.signed ? `-${this.map.signed.words.noun}` : "";
    const stem = fileName(`${this.#run.model}-${this.selection.name}${signed}-${this.selection.kept}`);
    const blob = kind === "SVG" ? svg : await paperPng(svg, width);
    return { blob, name: `${stem}.${kind.toLowerCase()}` };
  }

  // What the map shows in place of weights is saved so; a page and a run are the same in any measure.
  #path(/** @type {string} */ kind) {
    const whole = ["html", "safetensors"].includes(kind);
    const signed = whole ? "" : this.map.signed?.file(kind);
    if (signed) return this.#run?.url(signed) ?? "";
    const { layer, head, query, key, hide, renorm, words, scale } = this.selection;
    const more = kind === "html" ? { query, key, scale } : {}; // it opens on what is chosen here
    const asked = { layer, head, hide_special: hide, renormalize: renorm, words, ...more };
    const texts = Object.entries(asked).map(([name, value]) => [name, String(value)]);
    const question = kind === "html" ? `&${this.question()}` : "";
    return `${this.#run?.url(`take/${kind}`)}?${new URLSearchParams(texts)}${question}`;
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
