// Three maps on the same axes: intended, passed and observed; leaking and lost cells outlined.

import { count, css, el, number } from "../core/dom.js";
import { largest, makeScale, rgbText, shade, theme } from "../core/colors.js";
import { maskColors, swatches, TokenGrid } from "../views/mask_grid.js";

const TITLES = { intended: "Intended", passed: "Passed", observed: "Observed" };
const UNITS = {
  weights: "attention weight, share of the query’s total",
  gradients: "gradient, share of the largest in its row",
  nothing: "",
};

class Grid extends TokenGrid {
  drawOver() {
    super.drawOver();
    const { overContext: context, view } = this;
    if (!context) return;
    const cell = this.side / view.span;
    context.save();
    context.strokeStyle = css("--border-color-primary");
    context.lineWidth = 1; // a frame, for zeros may have the color of the page
    context.strokeRect(this.left - 0.5, this.top - 0.5, this.side + 1, this.side + 1);
    context.setLineDash([3, 2]);
    context.strokeStyle = css("--viz-lost", this.node);
    context.lineWidth = Math.max(1, Math.min(2, cell / 6));
    for (const at of this.dashed ?? [])
      context.strokeRect(
        this.left + ((at % view.n) - view.col) * cell + 2,
        this.top + (Math.floor(at / view.n) - view.row) * cell + 2,
        cell - 4,
        cell - 4,
      );
    context.restore();
  }
}

export class Panels {
  constructor() {
    this.choice = el("select", {
      id: "viz-zoo-picture",
      onchange: () => this.#enter(this.pictures[this.choice.value]),
    });
    this.chooser = el("label", { class: "viz-control" }, "Picture", this.choice);
    this.title = el("h4", {});
    this.facts = el("p", { class: "viz-zoo-facts" });
    this.legend = el("div", { class: "viz-mask-legend" });
    this.said = el("p", { class: "viz-readout", role: "status" });
    this.grids = {};
    this.captions = {};
    const figures = Object.keys(TITLES).map((name) => this.#figure(name));
    this.node = el(
      "div",
      { class: "viz-zoo-pictures", role: "group", "aria-label": "Intended, passed and observed" },
      this.chooser,
      this.title,
      el("div", { class: "viz-zoo-panels" }, ...figures),
      this.legend,
      this.said,
      this.facts,
    );
  }

  show({ pictures, report }) {
    Object.assign(this, { pictures, report });
    this.choice.replaceChildren(
      ...pictures.map((picture, at) =>
        el("option", { value: at }, `${at + 1} of ${pictures.length}: ${named(picture)}`),
      ),
    );
    this.chooser.hidden = pictures.length < 2;
    this.#enter(pictures[0]);
  }

  // In the colors of the theme that is on.
  draw() {
    if (this.picture) this.#fill();
  }

  #figure(name) {
    const grid = (this.grids[name] = new Grid({ label: TITLES[name], maxSide: 420, maxCell: 30 }));
    this.captions[name] = el("figcaption", {});
    this.#listen(grid);
    return el("figure", { class: "viz-zoo-panel", "data-panel": name }, this.captions[name], grid.node);
  }

  #enter(picture) {
    this.picture = picture;
    this.n = picture.intended.length;
    const flat = (rows) => rows?.flat() ?? null;
    this.parts = Object.fromEntries(["intended", "passed", "leaks", "lost"].map((name) => [name, flat(picture[name])]));
    this.parts.observed = Float64Array.from(
      flat(picture.observed) ?? new Array(this.n ** 2).fill(null),
      (value) => value ?? NaN,
    );
    const cells = (name) => [...this.parts[name].keys()].filter((at) => this.parts[name][at]);
    Object.assign(this, { leaking: cells("leaks"), losing: cells("lost") });
    const first = this.leaking[0] ?? this.losing[0] ?? 0;
    this.place = [Math.floor(first / this.n), first % this.n];
    this.#fill();
  }

  #fill() {
    const { picture, parts, grids } = this;
    const colors = maskColors();
    const scale = makeScale("head", largest(parts.observed));
    const names = Array.from({ length: this.n }, (_, at) => this.#token(at));
    const paint = {
      intended: (at) => (parts.intended[at] ? colors.allowed : colors.forbidden),
      passed: (at) => (parts.passed[at] ? colors.allowed : colors.forbidden),
      observed: (at) => shade(parts.observed[at], scale),
    };
    for (const [name, grid] of Object.entries(grids)) {
      grid.outlined = name === "observed" ? this.leaking : [];
      grid.dashed = name === "observed" ? this.losing : [];
      grid.node.hidden = name === "passed" && !parts.passed;
      if (!grid.node.hidden) grid.show(names, paint[name]);
    }
    this.title.textContent = heading(picture);
    this.#caption();
    this.#legend(colors, scale);
    this.#tellFacts();
    this.#choose(this.place);
  }

  #caption() {
    const { captions, picture } = this;
    captions.intended.textContent =
      picture.layer === null ? "Intended: of whom a token may know" : "Intended: who may look at whom";
    captions.passed.textContent = picture.passed
      ? `Passed to the model, read as “${picture.passed_as}”`
      : "Passed: nothing that can be read as a mask";
    captions.observed.textContent = {
      weights: "Observed: the weights it gave",
      gradients: "Observed: on whom outputs depend",
      nothing: "Observed: nothing, the model raised an error",
    }[picture.observed_is];
  }

  #legend(colors, scale) {
    const { picture, parts } = this;
    const { ramp, zero, masked } = theme();
    const gaps = parts.observed.some(Number.isNaN);
    const gap = { weights: "NaN", gradients: "not measured", nothing: "nothing to see" }[picture.observed_is];
    const stops = [0, 64, 128, 192, 255].map((at) => rgbText(ramp[at])).join(", ");
    const bar = el("i", { class: "viz-stat-bar", style: `background: linear-gradient(to right, ${stops})` });
    const entries = [
      [colors.allowed, "may look"],
      [colors.forbidden, "forbidden"],
      [zero, "exactly 0"],
      ["border: 2px solid var(--viz-leak)", `leaking (${count(this.leaking.length)})`],
      ["border: 2px dashed var(--viz-lost)", `allowed, gets nothing (${count(this.losing.length)})`],
    ];
    if (gaps) entries.push([masked, gap]);
    this.legend.replaceChildren(swatches(entries));
    if (picture.observed)
      this.legend.append(
        el(
          "p",
          { class: "viz-caption viz-stat-scale" },
          "Observed: 0 ",
          bar,
          ` ${number(scale.high)}, ${UNITS[picture.observed_is]}`,
        ),
      );
  }

  #tellFacts() {
    const { picture, report } = this;
    const real = picture.real
      ? `${this.n} tokens, ${picture.real.filter(Boolean).length} of them real, the others padding (·).`
      : `${this.n} tokens.`;
    const calm =
      report.verdict === "PASS"
        ? "Nothing failed; this is how it ran in eval mode."
        : picture.observed
          ? "No check drew a picture, for what fails is not in a map; this is how it ran in eval mode."
          : "The model raised an error before it attended.";
    this.facts.textContent = picture.source === "run" ? `${real} ${calm}` : real;
  }

  #token(at) {
    return this.picture.real && !this.picture.real[at] ? `${at} ·` : `${at}`;
  }

  #choose(place) {
    this.place = place;
    for (const grid of Object.values(this.grids)) {
      grid.chosen = place;
      grid.draw();
    }
    this.#tell(place);
  }

  #tell([row, col]) {
    const { picture, parts } = this;
    const at = row * this.n + col;
    const may = (part) => (parts[part] === null ? "unreadable" : parts[part][at] ? "may look" : "forbidden");
    const token = (place) => `${place}${picture.real && !picture.real[place] ? " (padding)" : ""}`;
    const missing = { weights: "weight NaN", gradients: "gradient not measured", nothing: "nothing observed" }[
      picture.observed_is
    ];
    const value = Number.isNaN(parts.observed[at])
      ? missing
      : `${picture.observed_is === "weights" ? "weight" : "gradient"} ${number(parts.observed[at])}`;
    const ends = parts.leaks[at] ? ": a leak" : parts.lost[at] ? ": it should get something" : "";
    this.said.textContent = `Query ${token(row)} → key ${token(col)}: intended ${may("intended")}, passed ${may("passed")}, ${value}${ends}.`;
    for (const [name, grid] of Object.entries(this.grids))
      grid.canvas.setAttribute("aria-label", `${TITLES[name]}. ${this.said.textContent} Arrow keys move.`);
  }

  #listen(grid) {
    const hover = (at) => {
      for (const each of Object.values(this.grids)) {
        each.hovered = at;
        each.drawOver();
      }
      this.#tell(at ?? this.place);
    };
    grid.canvas.addEventListener("pointermove", (event) => this.picture && hover(grid.place(event)));
    grid.canvas.addEventListener("pointerleave", () => this.picture && hover(null));
    grid.canvas.addEventListener("click", (event) => {
      const at = this.picture && grid.place(event);
      if (at) this.#choose(at);
    });
    grid.canvas.addEventListener("keydown", (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move || !this.picture || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.#choose(this.place.map((at, axis) => Math.min(this.n - 1, Math.max(0, at + move[axis]))));
    });
  }
}

const leaks = (picture) => picture.leaks.flat().filter(Boolean).length;

function named(picture) {
  return `${picture.title}, ${picture.intended.length} tokens, ${picture.observed_is}, ${leaks(picture)} leaking`;
}

function heading(picture) {
  const what = {
    weights: "attention weights",
    gradients: "gradients of the outputs by the inputs",
    nothing: "no weights",
  }[picture.observed_is];
  return `${picture.title}: ${what}`;
}
