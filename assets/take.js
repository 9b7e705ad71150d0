// Take it with you: the view as a page, a table, a picture, a saved run, code or a link.

import { el } from "./dom.js";
import { paperPng, paperSvg } from "./paper.js";

const WIDTHS = { 84: "one column, 84 mm", 174: "two columns, 174 mm" }; // as most journals have them

export class Take {
  constructor(selection, map) {
    Object.assign(this, { selection, map });
    this.said = el("span", { class: "viz-caption", role: "status" });
    this.width = el("select", { id: "viz-paper-width" }, ...Object.entries(WIDTHS).map(([value, text]) => el("option", { value }, text)));
    const button = (text, title, act) => el("button", { type: "button", class: "viz-small", title, onclick: () => this.#try(act) }, text);
    this.node = el("section", { class: "viz-take", "aria-label": "Take it with you" },
      el("h3", {}, "Take it with you"),
      el("div", { class: "viz-controls" },
        button("Page (HTML)", "All heads and this map in one file that opens with no network", () => this.#file("html")),
        button("CSV", "This map as a table", () => this.#file("csv")),
        button("CSV, one row", "Where the chosen query looks, as a table", () => this.#file("csv", true)),
        button("npz", "This map for NumPy", () => this.#file("npz")),
        button("PNG", "What is in sight of this map as a picture for a paper, 400 dpi", () => this.#picture("png")),
        button("SVG", "The same with its text as text", () => this.#picture("svg")),
        el("label", { class: "viz-control" }, "Picture width", this.width),
        button("Saved run", "The whole run: viz_encoder.Trace.load, or viz-encoder serve", () => this.#file("safetensors")),
        button("Copy Python", "Code that computes this map again", () => this.#code()),
        button("Copy link", "A link to this view", () => this.#copy(location.href, "The link")),
        this.said));
  }

  show(run) {
    this.run = run;
    this.said.textContent = "";
  }

  async #try(act) {
    if (!this.run) return;
    this.said.textContent = "Preparing …";
    try {
      await act();
    } catch (fault) {
      this.said.textContent = fault.message;
    }
  }

  async #fetch(kind, row = false) {
    const { layer, head, query, hide, renorm, words } = this.selection;
    const asked = new URLSearchParams({ layer, head, special: !hide, renorm, words, ...(row ? { query } : {}) });
    const response = await fetch(this.run.url(`take/${kind}?${asked}`));
    if (response.ok) return response;
    const fault = await response.json().catch(() => ({}));
    throw new Error(fault.message || `The server answered ${response.status}; press Run again.`);
  }

  // The file is fetched first, so that its size is known before it is saved.
  async #file(kind, row) {
    const response = await this.#fetch(kind, row);
    const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? `run.${kind}`;
    this.#offer(await response.blob(), name);
  }

  async #picture(kind) {
    const width = Number(this.width.value);
    const svg = paperSvg(this.map, width);
    const blob = kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await paperPng(svg, width);
    this.#offer(blob, `${this.run.model}-${this.selection.name}-${this.selection.kept}.${kind}`.replace(/[^A-Za-z0-9_.+-]+/g, "-"));
  }

  #offer(blob, name) {
    const url = URL.createObjectURL(blob);
    const size = blob.size < 1e6 ? `${Math.max(1, Math.round(blob.size / 1e3))} kB` : `${(blob.size / 1e6).toFixed(1)} MB`;
    const link = el("a", { href: url, download: name, class: "viz-link", onclick: () => setTimeout(() => URL.revokeObjectURL(url), 60_000) }, `Save ${name} (${size})`);
    this.said.replaceChildren(link);
    link.focus();
  }

  async #code() {
    const response = await this.#fetch("py");
    await this.#copy(await response.text(), "The code");
  }

  async #copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      this.said.textContent = `${what} is on the clipboard.`;
    } catch {
      // No permission, or no secure page: show it, selected, to be copied by hand.
      const area = el("textarea", { class: "viz-code", rows: "5", readonly: true, "aria-label": what });
      area.value = text;
      this.said.replaceChildren(area);
      area.select();
    }
  }
}
