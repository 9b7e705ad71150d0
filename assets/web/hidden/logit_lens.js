// What the head would say after every number of blocks, as a table of layers × tokens.

import { el } from "../core/dom.js";
import { inkOn, makeScale, rgbText, shade } from "../core/colors.js";
import { named, passed } from "./results.js";

const WHOLE = -1; // the place of a head that speaks of the whole input

export class Lens {
  constructor({ hover, choose, layer, tell }) {
    Object.assign(this, { hover, choose, layer, tell });
    this.table = el("table", { class: "viz-hidden-lens" });
    this.table.addEventListener("pointerover", (event) => this.#pointed(event.target.closest("td")));
    this.table.addEventListener("pointerleave", () => this.#pointed(null));
    this.table.addEventListener("click", (event) => this.#clicked(event.target.closest("td, th")));
    this.node = el(
      "div",
      { class: "viz-hidden-scroll", tabindex: "0", role: "region", "aria-label": "The head read off every layer" },
      this.table,
    );
  }

  show({ run, found, layer, token, hovered }) {
    if (this.found !== found || this.dark !== document.body.className) this.#build(run, found);
    this.sync(layer, token);
    this.mark(hovered);
  }

  // The row of the layer that is shown, and the chosen token's column.
  sync(layer, token) {
    this.table.querySelectorAll("tbody tr").forEach((row, at) => row.classList.toggle("viz-hidden-here", at === layer));
    for (const cell of this.table.querySelectorAll("[data-token]"))
      cell.classList.toggle("viz-hidden-chosen", Number(cell.dataset.token) === token);
  }

  mark(hovered) {
    for (const cell of this.table.querySelectorAll("[data-token]"))
      cell.classList.toggle("viz-pointed", hovered !== null && Number(cell.dataset.token) === hovered);
  }

  #build(run, found) {
    Object.assign(this, { run, found, dark: document.body.className });
    const scale = found.unit === "probability" ? { ...makeScale("shared", 1), high: 1 } : null;
    const head = found.tokens.map((token) =>
      el(
        "th",
        { scope: "col", ...(token === WHOLE ? {} : { "data-token": token }) },
        el("bdi", {}, this.#place(token)),
      ),
    );
    const rows = found.labels.map((places, layer) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", "data-layer": layer }, String(layer)),
        ...places.map((labels, place) => this.#cell(layer, place, labels[0], scale)),
      ),
    );
    this.table.replaceChildren(
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("td", {}),
          el(
            "th",
            { scope: "colgroup", colspan: found.tokens.length, class: "viz-hidden-axis" },
            found.tokens[0] === WHOLE ? "Whole input" : "Token",
          ),
        ),
        el("tr", {}, el("th", { scope: "col", class: "viz-hidden-axis" }, "Blocks passed"), ...head),
      ),
      el("tbody", {}, ...rows),
    );
  }

  #cell(layer, place, label, scale) {
    const share = this.found.shares[layer][place][0];
    const token = this.found.tokens[place];
    const color = scale && share !== null ? shade(share, scale) : null;
    return el(
      "td",
      {
        ...(token === WHOLE ? {} : { "data-token": token }),
        "data-layer": layer,
        "data-place": place,
        ...(color ? { style: `background:${rgbText(color)};color:${inkOn(color)}` } : {}),
      },
      el("bdi", {}, label),
      el("small", {}, share === null ? "?" : share.toFixed(2)),
    );
  }

  #place(token) {
    return token === WHOLE ? "all tokens" : this.run.tokens[token];
  }

  sentence(layer, place) {
    const { found, run } = this;
    const ranked = found.labels[layer][place].map(
      (label, rank) => `“${label}” ${found.shares[layer][place][rank]?.toFixed(4) ?? "?"}`,
    );
    const where = found.tokens[place] === WHOLE ? "The whole input" : named(run, found.tokens[place]);
    const answer = found.labels.at(-1)[place][0];
    return `${where}, ${passed(layer)}: ${ranked.slice(0, 3).join(", ")}; the output's answer “${answer}” ${found.finals[layer][place]?.toFixed(4) ?? "?"} (${found.unit})`;
  }

  #pointed(cell) {
    if (cell?.dataset.place === undefined) {
      this.hover(null);
      return this.tell("");
    }
    this.hover(cell.dataset.token === undefined ? null : Number(cell.dataset.token));
    this.tell(this.sentence(Number(cell.dataset.layer), Number(cell.dataset.place)));
  }

  #clicked(cell) {
    if (cell?.dataset.layer !== undefined) this.layer(Number(cell.dataset.layer));
    if (cell?.dataset.token !== undefined) this.choose(Number(cell.dataset.token));
  }
}
