// Exports: a single click saves the map next to it; the panel below saves a page, the run, code and more.

import { button, control, controls, el, options } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { ask } from "../core/server.js";
import { saveRow } from "../views/save_row.js";
import { paperPng, paperSvg } from "./paper_figure.js";

/** @import { AttentionMap, Selection } from "./types.d.ts" */

const SAVING = 1500; // milliseconds that a browser may take to begin
const WIDTHS = { 84: "one column, 84 mm", 174: "two columns, 174 mm" }; // as most journals have them
const WEIGHTS =
  "Holds the weights of this run, not their change and no shares; choose Attention, or turn off “Show the change”, first";
const TITLE = "More exports";

export class ExportPanel {
  #latest = new Latest((sentence) => this.said.replaceChildren(sentence)); // only what was pressed last is told of
  /** @type {Run | null} */ #run = null;
  /** @type {{ button: HTMLButtonElement, link: HTMLAnchorElement } | null} */ #offered = null;
  /** @type {Map<HTMLButtonElement, string>} */ #plainOnly = new Map(); // what cannot hold a change, and its title
  said = el("span", { class: "viz-caption", role: "status" });
  width = el("select", { id: "viz-paper-width" }, ...options(Object.entries(WIDTHS)));
  row = saveRow("Save this map", [
    ["PNG", "The visible part of this map as a picture for a paper, 400 dpi", () => this.#drawn("PNG")],
    ["SVG", "The same as SVG; its text stays text", () => this.#drawn("SVG")],
    ["CSV", "This map as a table", () => this.#whole("csv")],
  ]);
  node = el(
    "details",
    { class: "viz-take viz-folded", "aria-label": TITLE },
    el("summary", {}, TITLE),
    controls(
      this.#plain(this.#file("Page (HTML)", "html", "All heads and this map in one file that opens offline")),
      this.#plain(this.#file("CSV, one row", "csv", "Where the chosen query looks, as a table", true)),
      this.#plain(this.#file("npz", "npz", "This map for NumPy")),
      this.#picture("PNG", "The visible part of this map as a picture for a paper, 400 dpi"),
      this.#picture("SVG", "The same as SVG; its text stays text"),
      control("Picture width", this.width),
      this.#file("Saved run", "safetensors", "The whole run: viz_encoder.Trace.load, or viz-encoder serve"),
      this.#plain(this.#button("Copy Python", "Code that computes this map again", (fresh) => this.#code(fresh))),
      this.said,
    ),
  );

  constructor(/** @type {Selection} */ selection, /** @type {AttentionMap} */ map) {
    this.selection = selection;
    this.map = map;
    // A prepared file shows the old view.
    selection.on(() => this.#offered && this.#withdraw("The view has changed; prepare the file again."));
  }

  show(/** @type {Run} */ run) {
    this.#run = run;
    this.#withdraw("");
  }

  // Formats that only hold weights are disabled while the map shows something else.
  sync() {
    const change = this.map.signed !== null;
    for (const [made, title] of this.#plainOnly) {
      if (made.disabled !== change && this.#offered) this.#withdraw("The view has changed; prepare the file again.");
      [made.disabled, made.title] = [change, change ? WEIGHTS : title];
    }
  }

  #plain(/** @type {HTMLButtonElement} */ made) {
    this.#plainOnly.set(made, made.title);
    return made;
  }

  /** @type {(text: string, title: string, act: (fresh: Fresh, pressed: HTMLButtonElement) => unknown) => HTMLButtonElement} */
  #button(text, title, act) {
    const press = (/** @type {HTMLButtonElement} */ pressed) => {
      if (!this.#run) return;
      this.#withdraw("Preparing …");
      this.#latest.run((fresh) => act(fresh, pressed));
    };
    return button(text, (event) => press(event.currentTarget), { title });
  }

  /** @type {(text: string, kind: string, title: string, row?: boolean) => HTMLButtonElement} */
  #file(text, kind, title, row) {
    return this.#button(text, title, async (fresh, pressed) => {
      const { blob, name } = await fresh(this.#whole(kind, row)); // so that its size is known before it is saved
      this.#offer(blob, name, pressed);
    });
  }

  async #whole(/** @type {string} */ kind, row = false) {
    const response = await this.#fetch(kind, row);
    const name = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? `run.${kind}`;
    return { blob: await response.blob(), name };
  }

  #picture(/** @type {"PNG" | "SVG"} */ kind, /** @type {string} */ title) {
    return this.#button(kind, title, async (fresh, pressed) => {
      const drawn = await fresh(this.#drawn(kind));
      if (drawn) this.#offer(drawn.blob, drawn.name, pressed);
    });
  }

  async #drawn(/** @type {"PNG" | "SVG"} */ kind) {
    if (!this.#run) return null;
    const width = Number(this.width.value);
    const svg = paperSvg(this.map, this.#run, width);
    const signed = this.map.signed ? `-${this.map.signed.noun}` : "";
    const stem = `${this.#run.model}-${this.selection.name}${signed}-${this.selection.kept}`.replace(
      /[^A-Za-z0-9_.+-]+/g,
      "-",
    );
    const blob = kind === "SVG" ? new Blob([svg], { type: "image/svg+xml" }) : await paperPng(svg, width);
    return { blob, name: `${stem}.${kind.toLowerCase()}` };
  }

  // The buttons as they were.
  #withdraw(/** @type {string} */ text) {
    const offered = this.#offered;
    this.#latest.stop();
    this.#offered = null;
    this.said.textContent = text;
    if (!offered) return;
    const held = document.activeElement === offered.link;
    offered.button.hidden = false;
    offered.link.remove();
    URL.revokeObjectURL(offered.link.href);
    if (held) offered.button.focus();
  }

  /** @type {(kind: string, row?: boolean) => Promise<Response>} */
  #fetch(kind, row = false) {
    const signed = row || !this.#run ? "" : this.map.signed?.file(kind);
    if (signed && this.#run) return ask(this.#run.url(signed));
    const { layer, head, query, hide, renorm, words, scale } = this.selection;
    const page = kind === "html"; // which opens on what is chosen here
    const more = { ...(row || page ? { query } : {}), ...(page ? { scale } : {}) };
    const asked = { layer, head, hide_special: hide, renormalize: renorm, words, ...more };
    const texts = Object.entries(asked).map(([name, value]) => [name, String(value)]);
    return ask(`${this.#run?.url(`take/${kind}`)}?${new URLSearchParams(texts)}`);
  }

  // The second step stands where the first was: the button becomes a link that saves the file.
  #offer(/** @type {Blob} */ blob, /** @type {string} */ name, /** @type {HTMLButtonElement} */ button) {
    const { size: bytes } = blob;
    const size = bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
    const told = () => this.#offered?.link === link && this.#withdraw(`Downloaded ${name} (${size}).`);
    const at = { href: URL.createObjectURL(blob), download: name, class: "viz-small viz-save", title: `Save ${name}` };
    /** @type {HTMLAnchorElement} */
    const link = el("a", { ...at, onclick: () => setTimeout(told, SAVING) }, `Save ${size}`);
    const held = document.activeElement === button || document.activeElement === document.body;
    button.after(link);
    button.hidden = true;
    this.#offered = { button, link };
    this.said.textContent = `${name} is ready: press “Save ${size}”.`;
    if (held) link.focus({ preventScroll: true });
  }

  async #code(/** @type {Fresh} */ fresh) {
    const response = await fresh(this.#fetch("py"));
    await this.#copy(await fresh(response.text()), "The code");
  }

  async #copy(/** @type {string} */ text, /** @type {string} */ what) {
    try {
      await navigator.clipboard.writeText(text);
      this.said.textContent = `${what} was copied.`;
    } catch {
      // Without permission or a secure page, show it selected, to copy by hand.
      const area = el("textarea", { class: "viz-code", rows: "5", readonly: true, "aria-label": what });
      area.value = text;
      this.said.replaceChildren(area);
      area.select();
    }
  }
}
