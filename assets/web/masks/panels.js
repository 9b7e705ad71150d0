// Three maps side by side on the same axes: intended, passed, observed; leaking cells outlined.

import { count, el, number } from "../core/dom.js";
import { largest, makeScale, rgbText, shade, theme } from "../core/colors.js";
import { mapName } from "../core/selection.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";
import { panels } from "./requests.js";

const TITLES = {
  intended: "Intended: your mask",
  passed: "Passed: what the layer got",
  observed: "Observed: the weights it gave",
};

export class Panels {
  // `choose` gets the query and the key that were clicked.
  constructor(choose) {
    this.choose = choose;
    this.title = el("h3", {});
    this.said = el("p", { class: "viz-readout", role: "status" });
    this.facts = el("p", { class: "viz-caption viz-mask-facts" });
    this.legend = el("div", { class: "viz-mask-legend" });
    this.grids = Object.fromEntries(
      Object.keys(TITLES).map((name) => [name, new TokenGrid({ label: TITLES[name], maxSide: 420, maxCell: 28 })]),
    );
    this.node = el(
      "section",
      { class: "viz-mask-result-part", "aria-label": "Intended, passed and observed" },
      this.title,
      el(
        "div",
        { class: "viz-mask-panels" },
        ...Object.entries(this.grids).map(([name, grid]) =>
          el("figure", { class: "viz-mask-panel", "data-panel": name }, el("figcaption", {}, TITLES[name]), grid.node),
        ),
      ),
      this.legend,
      this.said,
      this.facts,
    );
    for (const grid of Object.values(this.grids)) this.#listen(grid);
  }

  async show(run, result, { layer, head, query, key }) {
    const asked = `${run.key}:${layer}:${head}`;
    if (this.asked === asked && this.found) return this.#choose([query, key]);
    this.asked = asked;
    this.stop?.abort();
    this.stop = new AbortController();
    this.node.classList.add("viz-busy");
    try {
      const found = await panels(run, layer, head, this.stop.signal);
      if (this.asked !== asked) return;
      Object.assign(this, { run, result, found, layer, head, step: run.n / found.n });
      this.#fill([query, key]);
      this.node.dataset.painted = asked;
    } catch (fault) {
      if (this.asked === asked) this.said.textContent = fault.message;
    } finally {
      if (this.asked === asked) this.node.classList.remove("viz-busy");
    }
  }

  // In the colors of the theme that is on.
  draw() {
    if (this.found) this.#fill(this.grids.intended.chosen);
  }

  leave() {
    this.stop?.abort();
    this.asked = this.found = null;
    delete this.node.dataset.painted;
  }

  #fill(chosen) {
    const { run, found, layer, head } = this;
    const colors = maskColors();
    const scale = makeScale("head", largest(found.observed));
    const names =
      found.n === run.n
        ? run.tokens
        : Array.from(
            { length: found.n },
            (_, at) => `${Math.round(at * this.step)}–${Math.round((at + 1) * this.step) - 1}`,
          );
    const leaking = [...found.leaking.keys()].filter((at) => found.leaking[at]);
    const paint = {
      intended: (at) => (found.intended[at] ? colors.allowed : colors.forbidden),
      passed: (at) => (found.passed[at] ? colors.allowed : colors.forbidden),
      observed: (at) => shade(found.observed[at], scale),
    };
    for (const [name, grid] of Object.entries(this.grids)) {
      grid.outlined = name === "observed" ? leaking : [];
      grid.show(names, paint[name]);
    }
    this.title.textContent = `The mask in ${typeof head === "number" ? `head ${mapName(layer, head)}` : mapName(layer, head)}`;
    this.#legend(colors, scale, leaking.length);
    this.#count(leaking.length);
    this.#choose(chosen.map((at) => Math.min(at, run.n - 1)));
  }

  #legend(colors, scale, leaks) {
    const { ramp, zero } = theme();
    const stops = [0, 64, 128, 192, 255].map((at) => rgbText(ramp[at])).join(", ");
    const bar = el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` });
    this.legend.replaceChildren(
      swatches([
        [colors.allowed, "may attend"],
        [colors.forbidden, "forbidden"],
        [zero, "weight exactly 0"],
        ["border: 2px solid var(--viz-leak)", `leaking (${count(leaks)} cells)`],
      ]),
      el(
        "p",
        { class: "viz-caption viz-stat-scale" },
        "Observed: 0 ",
        bar,
        ` ${number(scale.high)}, attention weight (share of the query’s total)`,
      ),
    );
  }

  #count(leaks) {
    const { result, layer, run } = this;
    const [extra, missing] = [result.extra[layer], result.missing[layer]];
    const passed =
      extra || missing
        ? `Layer ${layer} got another mask than yours: ${count(extra)} pairs more allowed, ${count(missing)} more forbidden.`
        : `Layer ${layer} got your mask, pair by pair.`;
    const blocks =
      this.step > 1 ? ` Each cell stands for about ${Math.round(this.step)} × ${Math.round(this.step)} pairs.` : "";
    this.facts.textContent = `${passed} ${leaks ? `${count(leaks)} leaking ${leaks === 1 ? "cell" : "cells"} in this map.` : "No leak in this map."}${blocks}${this.#empty(run, result)}`;
  }

  // What queries without any key got here, from their observed rows.
  #empty(run, { empty }) {
    if (!empty.length || this.step > 1) return "";
    const sums = empty.map((row) =>
      this.found.observed.subarray(row * run.n, (row + 1) * run.n).reduce((sum, value) => sum + value, 0),
    );
    const gives = sums.every((sum) => sum === 0)
      ? "zeros: no weight on any key, so that only the residual stream carries them on"
      : "weight on keys nonetheless";
    const named = empty
      .slice(0, 5)
      .map((at) => `${at} “${run.tokens[at]}”`)
      .join(", ");
    return ` Without any key by your mask: ${named}${empty.length > 5 ? ` and ${count(empty.length - 5)} more` : ""}. This encoder gave them ${gives}.`;
  }

  // The chosen query and key, by their numbers.
  #choose([query, key]) {
    this.place = [query, key].map((at) => Math.floor(at / this.step));
    for (const grid of Object.values(this.grids)) {
      grid.chosen = this.place;
      grid.draw();
    }
    this.#tell(this.place);
  }

  #tell([row, col]) {
    const { found, run } = this;
    const at = row * found.n + col;
    const name = (place) =>
      this.step > 1 ? `around ${Math.round(place * this.step)}` : `${place} “${run.tokens[place]}”`;
    const may = (part) => (found[part][at] ? "may attend" : "forbidden");
    this.said.textContent = `Query ${name(row)} → key ${name(col)}: intended ${may("intended")}, passed ${may("passed")}, weight ${number(found.observed[at])}${found.leaking[at] ? ": a leak" : ""}.`;
    for (const [panel, grid] of Object.entries(this.grids))
      grid.canvas.setAttribute("aria-label", `${TITLES[panel]}. ${this.said.textContent} Arrow keys move.`);
  }

  #listen(grid) {
    const tokens = (place) => place.map((at) => Math.round(at * this.step));
    const hover = (at) => {
      for (const each of Object.values(this.grids)) {
        each.hovered = at;
        each.drawOver();
      }
      this.#tell(at ?? this.place);
    };
    grid.canvas.addEventListener("pointermove", (event) => this.found && hover(grid.place(event)));
    grid.canvas.addEventListener("pointerleave", () => this.found && hover(null));
    grid.canvas.addEventListener("click", (event) => {
      const at = this.found && grid.place(event);
      if (at) this.choose(...tokens(at));
    });
    grid.canvas.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move || !this.found || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.choose(...tokens(this.place.map((at, axis) => Math.min(this.found.n - 1, Math.max(0, at + move[axis])))));
    });
  }
}
