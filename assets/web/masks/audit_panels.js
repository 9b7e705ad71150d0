// The pictures of an audit, one at a time: intended, passed and observed; leaking and lost cells outlined.

import { theme } from "../core/colors.js";
import { control, count, el, number, options } from "../core/dom.js";
import { maskColors } from "../views/mask_grid.js";
import { leakTints, LOST, MaskPanels } from "../views/mask_panels.js";

// By observation kind: its name, heading, panel, unit, and the text when there is none.
/** @type {Record<string, Record<"name" | "heading" | "panel" | "unit" | "gap" | "none", string>>} */
const OBSERVED = {
  weights: {
    ...{ name: "weight", heading: "attention weights", panel: "the weights it gave" },
    ...{ unit: "attention weight, share of the query’s total", gap: "NaN", none: "weight NaN" },
  },
  gradients: {
    ...{ heading: "gradients of the outputs with respect to the inputs", panel: "which tokens outputs depend on" },
    ...{ name: "gradient", unit: "gradient, share of the largest in its row" },
    ...{ gap: "not measured", none: "gradient not measured" },
  },
  nothing: {
    ...{ name: "", heading: "no weights", panel: "nothing: the model raised an error" },
    ...{ unit: "", gap: "nothing to see", none: "nothing observed" },
  },
};

/** @typedef {{ picture: AuditPicture, n: number, intended: (boolean | null)[], passed: (boolean | null)[] | null,
 *   observed: Float64Array, leaks: number[], lost: number[] }} Shown cells of a square row by row, null or NaN where
 *   there is no such pair; of leaks and what is lost, their numbers */

export class Panels extends MaskPanels {
  /** @type {AuditPicture[]} */
  pictures = [];
  passing = false;
  outlined = true; // leaking and lost cells; not while a quiz asks for one
  /** @type {Shown | null} */
  parts = null;
  choice = el("select", { id: "viz-zoo-picture", onchange: (event) => this.#enter(Number(event.currentTarget.value)) });
  chooser = control("Picture", this.choice);
  title = el("h4");
  facts = el("p", { class: "viz-zoo-facts" });
  node = el(
    "div",
    { class: "viz-zoo-pictures", role: "group", "aria-label": "Intended, passed and observed" },
    ...[this.chooser, this.title, this.figures, this.legend, this.said, this.facts],
  );

  constructor() {
    super();
    this.fullable(this.node);
  }

  show(/** @type {AuditAnswer} */ { pictures, report }) {
    Object.assign(this, { pictures, passing: report.verdict === "PASS" });
    this.choice.replaceChildren(
      ...options(pictures.map((picture, at) => [at, `${at + 1} of ${pictures.length}: ${nameOf(picture)}`])),
    );
    this.chooser.hidden = pictures.length < 2;
    this.#enter(0);
  }

  #enter(/** @type {number} */ at) {
    this.parts = shownOf(this.pictures[at]);
    this.draw();
    this.#begin();
  }

  /** Outline what is wrong, or leave it to be found. @param {boolean} outlined */
  outline(outlined) {
    if (this.outlined === outlined) return;
    this.outlined = outlined;
    this.draw();
    this.#begin();
  }

  // The pair that the verdict names, where it may be told.
  #begin() {
    this.mark((this.outlined && this.parts?.picture.cell) || [0, 0]);
  }

  /** @returns {Pick<Shown, "leaks" | "lost">} */
  get #marked() {
    const { parts, outlined } = this;
    return parts && outlined ? parts : { leaks: [], lost: [] };
  }

  // In the colors of the theme that is on.
  draw() {
    if (!this.parts) return;
    const { picture, n, intended, observed } = this.parts;
    const { leaks, lost } = this.#marked;
    const gap = observed.some((value, at) => Number.isNaN(value) && intended[at] !== null);
    const seen = OBSERVED[picture.observed_is];
    const captions = {
      intended: `Intended: ${picture.observed_is === "gradients" ? "which tokens an output may depend on" : "which query may attend to which key"}`,
      passed: picture.passed
        ? `Passed to the model, read as “${picture.passed_as}”`
        : "Passed: nothing that can be read as a mask",
      observed: `Observed: ${seen.panel}`,
    };
    const names = Array.from({ length: n }, (_, at) => `${at}${isPadding(picture, at) ? " ·" : ""}`);
    const scale = this.fill(names, this.parts, captions, leaks, lost);
    const { allowed, forbidden, faint } = maskColors();
    const { zero, masked } = theme();
    this.title.textContent = `${picture.title}: ${seen.heading}`;
    const squares = {
      "may attend": allowed,
      forbidden,
      "exactly 0": zero,
      ...(this.outlined && {
        [`leaking (${count(leaks.length)})`]: leakTints(),
        [`allowed, gets nothing (${count(lost.length)})`]: LOST,
      }),
      ...(gap && { [seen.gap]: masked }),
      ...(intended.includes(null) && { "no such pair": faint }),
    };
    this.explain(squares, picture.observed && scale, seen.unit);
    this.facts.textContent = `${sizeOf(picture)}${picture.source === "run" ? ` ${this.#calm(picture)}` : ""}`;
  }

  // Why no check drew this picture.
  #calm(/** @type {AuditPicture} */ { observed }) {
    if (this.passing) return "Nothing failed; this is how it ran in eval mode.";
    return observed
      ? "The checks that failed draw no map; this one is of a run in eval mode."
      : "The model raised an error before it attended.";
  }

  /** @override */
  sentence(/** @type {Cell} */ [row, col]) {
    if (!this.parts) return "";
    const { picture, intended, passed, observed } = this.parts;
    const { leaks, lost } = this.#marked;
    const { name, none } = OBSERVED[picture.observed_is];
    const at = row * this.n + col;
    if (intended[at] === null) return `Query ${row} → key ${col}: there is no such pair.`;
    const may = (/** @type {(boolean | null)[]} */ flags) => (flags[at] ? "may attend" : "forbidden");
    const token = (/** @type {number} */ place) => `${place}${isPadding(picture, place) ? " (padding)" : ""}`;
    const value = Number.isNaN(observed[at]) ? none : `${name} ${number(observed[at])}`;
    const ends = leaks.includes(at) ? ": a leak" : lost.includes(at) ? ": it should get some weight" : "";
    return `Query ${token(row)} → key ${token(col)}: intended ${may(intended)}, passed ${passed ? may(passed) : "unreadable"}, ${value}${ends}.`;
  }
}

/** @type {(picture: AuditPicture) => Shown} */
function shownOf(picture) {
  const { intended, passed, observed, leaks, lost } = picture;
  const n = Math.max(intended.length, intended[0].length);
  /** @template T @param {T[][]} rows @returns {(T | null)[]} */
  const square = (rows) => Array.from({ length: n * n }, (_, at) => rows[Math.floor(at / n)]?.[at % n] ?? null);
  const placesOf = (/** @type {boolean[][]} */ rows) => square(rows).flatMap((is, at) => (is ? [at] : []));
  return {
    ...{ picture, n, intended: square(intended), passed: passed && square(passed) },
    ...{ leaks: placesOf(leaks), lost: placesOf(lost) },
    observed: Float64Array.from(square(observed ?? []), (value) => value ?? NaN),
  };
}

const isPadding = (/** @type {AuditPicture} */ { real }, /** @type {number} */ at) => real !== null && !real[at];

const nameOf = (/** @type {AuditPicture} */ { title, intended: [row], observed_is: observed, leaks }) =>
  `${title}, ${row.length} tokens, ${observed}, ${leaks.flat().filter(Boolean).length} leaking`;

const sizeOf = (/** @type {AuditPicture} */ { intended: [row], real }) =>
  `${row.length} tokens${real ? `, ${real.filter(Boolean).length} of them real, the rest padding (·)` : ""}.`;
