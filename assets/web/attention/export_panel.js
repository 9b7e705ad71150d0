// Take it with you: the view as a page, a table, a picture, a saved run, code or a link.

import { el } from "../core/dom.js";
import { paperPng, paperSvg } from "./paper_figure.js";

const SAVING = 1500; // milliseconds that a browser may take to begin
const WIDTHS = { 84: "one column, 84 mm", 174: "two columns, 174 mm" }; // as most journals have them

export class Take {
  constructor(selection, map) {
    Object.assign(this, { selection, map });
    this.said = el("span", { class: "viz-caption", role: "status" });
    this.width = el(
      "select",
      { id: "viz-paper-width" },
      ...Object.entries(WIDTHS).map(([value, text]) => el("option", { value }, text)),
    );
    const button = (text, title, act) =>
      el(
        "button",
        { type: "button", class: "viz-small", title, onclick: (event) => this.#try(act, event.currentTarget) },
        text,
      );
    this.node = el(
      "section",
      { class: "viz-take", "aria-label": "Take it with you" },
      el("h3", {}, "Take it with you"),
      el(
        "div",
        { class: "viz-controls" },
        button("Page (HTML)", "All heads and this map in one file that opens with no network", this.#file("html")),
        button("CSV", "This map as a table", this.#file("csv")),
        button("CSV, one row", "Where the chosen query looks, as a table", this.#file("csv", true)),
        button("npz", "This map for NumPy", this.#file("npz")),
        button("PNG", "What is in sight of this map as a picture for a paper, 400 dpi", this.#picture("png")),
        button("SVG", "The same with its text as text", this.#picture("svg")),
        el("label", { class: "viz-control" }, "Picture width", this.width),
        button("Saved run", "The whole run: viz_encoder.Trace.load, or viz-encoder serve", this.#file("safetensors")),
        button("Copy Python", "Code that computes this map again", () => this.#code()),
        button("Copy link", "A link to this view", () => this.#link()),
        this.said,
      ),
    );
    // What was prepared is of the view as it was.
    selection.on(() => this.offered && this.#withdraw("The view has changed; prepare the file again."));
  }

  show(run) {
    this.run = run;
    this.#withdraw("");
  }

  // Only what was pressed last is told of: a large file may come when another one was asked for.
  async #try(act, button) {
    if (!this.run) return;
    this.#withdraw("Preparing …");
    const asked = (this.asked = { button });
    const stale = () => this.asked !== asked;
    try {
      await act(stale, button);
    } catch (fault) {
      if (!stale()) this.said.textContent = fault.message;
    }
  }

  // The buttons as they were.
  #withdraw(text) {
    const { offered } = this;
    this.offered = this.asked = null;
    this.said.textContent = text;
    if (!offered) return;
    const held = document.activeElement === offered.link;
    offered.button.hidden = false;
    offered.link.remove();
    URL.revokeObjectURL(offered.url);
    if (held) offered.button.focus();
  }

  async #fetch(kind, row = false) {
    const { layer, head, query, hide, renorm, words, scale } = this.selection;
    const more = { ...(row ? { query } : {}), ...(kind === "html" ? { scale } : {}) };
    const asked = new URLSearchParams({ layer, head, special: !hide, renormalize: renorm, words, ...more });
    const response = await fetch(this.run.url(`take/${kind}?${asked}`));
    if (response.ok) return response;
    const fault = await response.json().catch(() => ({}));
    throw new Error(fault.message || `The server answered ${response.status}; press Run again.`);
  }

  // The file is fetched first, so that its size is known before it is saved.
  #file(kind, row) {
    return async (stale, button) => {
      const response = await this.#fetch(kind, row);
      const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? `run.${kind}`;
      const blob = await response.blob();
      if (!stale()) this.#offer(blob, name, button);
    };
  }

  #picture(kind) {
    return async (stale, button) => {
      const width = Number(this.width.value);
      const svg = paperSvg(this.map, width);
      const name = `${this.run.model}-${this.selection.name}-${this.selection.kept}.${kind}`.replace(
        /[^A-Za-z0-9_.+-]+/g,
        "-",
      );
      const blob = kind === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await paperPng(svg, width);
      if (!stale()) this.#offer(blob, name, button);
    };
  }

  // The second step stands where the first was: the button becomes a link that saves the file.
  #offer(blob, name, button) {
    const url = URL.createObjectURL(blob);
    const size =
      blob.size < 1e6 ? `${Math.max(1, Math.round(blob.size / 1e3))} kB` : `${(blob.size / 1e6).toFixed(1)} MB`;
    const saved = () =>
      setTimeout(
        () => this.offered?.link === link && this.#withdraw(`${name} (${size}) was handed to the browser.`),
        SAVING,
      );
    const link = el(
      "a",
      { href: url, download: name, class: "viz-small viz-save", title: `Save ${name}`, onclick: saved },
      `Save ${size}`,
    );
    const held = document.activeElement === button || document.activeElement === document.body;
    button.after(link);
    button.hidden = true;
    this.offered = { button, link, url };
    this.said.textContent = `${name} is ready: press “Save ${size}”.`;
    if (held) link.focus({ preventScroll: true });
  }

  #link() {
    this.selection.flush();
    return this.#copy(location.href, "The link");
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
