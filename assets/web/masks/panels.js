// One map of a masked run on the same axes: intended, passed, observed; leaking and blocked cells outlined.

import { theme } from "../core/colors.js";
import { caption, count, el, number } from "../core/dom.js";
import { headsOf, mapName } from "../core/selection_address.js";
import { section } from "../views/headed.js";
import { maskColors } from "../views/mask_grid.js";
import { leakTints, LOST, MaskPanels } from "../views/mask_panels.js";
import { listed } from "./mask_bits.js";
import { panels } from "./requests.js";

/** @import { Maps } from "./requests.js" */
/** @typedef {{ layer: number, head: Head, query: number, key: number }} Place */
/** @typedef {Maps & { run: Run, result: MaskResult, layer: number, head: Head, step: number, hardly: Uint8Array }} Found */

const TITLES = {
  intended: "Intended: your mask",
  passed: "Passed: what the layer got",
  observed: "Observed: the attention weights",
};

const FAINT = 0.001; // as the server counts: of a query’s weight

export class Panels extends MaskPanels {
  /** @type {Found | null} */
  found = null;
  name = "";
  title = el("h3");
  facts = caption();
  hardly = el("p", { class: "viz-caption viz-mask-faint" });
  row = el("div", { class: "viz-mask-row" }, this.figures);
  node = section(
    ...["viz-mask-result-part", "Intended, passed and observed"],
    ...[this.title, this.row, this.legend, this.said, this.facts, this.hardly],
  );
  #asked = this.latest((sentence) => {
    this.name = ""; // so that it is tried again
    this.said.textContent = sentence;
    this.behind(false);
  });

  /** `select` gets the query and the key that were clicked; `beside` stands at the end of the maps.
   * @param {(place: { query: number, key: number }) => unknown} select @param {HTMLElement} beside */
  constructor(select, beside) {
    super();
    this.row.append(beside);
    this.select = select;
    this.fullable(this.node);
  }

  /** @type {(run: Run, result: MaskResult, place: Place) => Promise<unknown> | void} */
  show(run, result, { layer, head, query, key }) {
    const name = `${run.key}:${layer}:${head}`;
    if (this.name === name && this.found) return this.#mark([query, key]);
    this.name = name;
    this.behind();
    return this.#asked.run(async (fresh) => {
      const maps = await fresh(panels(run, layer, head, fresh.signal));
      this.found = { ...maps, run, result, layer, head, step: run.n / maps.n, hardly: faintCells(maps, run) };
      this.draw();
      this.#mark([query, key]);
      this.painted(name);
    });
  }

  // In the colors of the theme that is on.
  draw() {
    const { found } = this;
    if (!found) return;
    const { run, layer, head, n, step } = found;
    const { allowed, forbidden, faint } = maskColors();
    const blocks = Array.from({ length: n }, (_, at) => `${Math.round(at * step)}–${Math.round((at + 1) * step) - 1}`);
    const [leaking, blocked] = [found.leaking, found.blocked].map((is) => [...is.keys()].filter((at) => is[at]));
    const scale = this.fill(step > 1 ? blocks : run.tokens, found, TITLES, leaking, blocked, found.hardly);
    this.title.textContent = `The mask in ${typeof head === "number" ? "head " : ""}${mapName(layer, head)}`;
    /** @type {Record<string, Rgb | string>} */
    const squares = {
      "may attend": allowed,
      forbidden,
      "weight exactly 0": theme().zero,
      [`may attend, weight under ${FAINT}`]: faint,
      [`leaking (${count(leaking.length)} cells), by weight`]: leakTints(),
      ...(blocked.length && { [`blocked although meant to be allowed (${count(blocked.length)} cells)`]: LOST }),
    };
    this.explain(squares, scale, "attention weight (share of the query’s total)");
    this.facts.textContent = factsOf(found, leaking.length);
    this.hardly.textContent = faintWords(found);
  }

  leave() {
    this.#asked.stop();
    Object.assign(this, { name: "", found: null, n: 0 });
    this.stale();
  }

  // A query and a key by their numbers.
  #mark(/** @type {number[]} */ [query, key]) {
    if (!this.found) return;
    const { step, run } = this.found;
    const cell = (/** @type {number} */ at) => Math.floor(Math.min(at, run.n - 1) / step);
    this.mark([cell(query), cell(key)]);
  }

  /** @override */
  choose(/** @type {Cell} */ [row, col]) {
    const step = this.found?.step ?? 1;
    this.select({ query: Math.round(row * step), key: Math.round(col * step) });
  }

  /** @override */
  sentence(/** @type {Cell} */ [row, col]) {
    const { found } = this;
    if (!found) return "";
    const { n, run, step, intended, passed, observed, leaking, blocked, hardly } = found;
    const at = row * n + col;
    const name = (/** @type {number} */ place) => (step > 1 ? `around ${Math.round(place * step)}` : run.named(place));
    const may = (/** @type {Float32Array} */ part) => (part[at] ? "may attend" : "forbidden");
    const kinds = {
      "a leak": leaking,
      "blocked although meant to be allowed": blocked,
      "allowed, but hardly attended to": hardly,
    };
    const kind = Object.entries(kinds).find(([, is]) => is[at])?.[0];
    return `Query ${name(row)} → key ${name(col)}: intended ${may(intended)}, passed ${may(passed)}, weight ${number(observed[at])}${kind ? `: ${kind}` : ""}.`;
  }
}

/** 1 where a cell is meant to attend, may, and all its weights are under FAINT; rows of padding alone do not count.
 * @type {(maps: Maps, run: Run) => Uint8Array} */
function faintCells({ n, intended, passed, observed, blocked }, run) {
  const step = run.n / n;
  const end = (/** @type {number} */ row) => Math.round(row * step);
  const real = Array.from({ length: n }, (_, row) => run.valid.slice(end(row), end(row + 1)).includes(true));
  const faint = (/** @type {number} */ at) =>
    passed[at] && !blocked[at] && observed[at] < FAINT && real[Math.floor(at / n)];
  return Uint8Array.from(intended, (may, at) => Number(may && faint(at)));
}

/** Number of pairs that are meant to attend and blocked, and of allowed ones with almost no weight.
 * @type {(found: Found) => string} */
function faintWords({ allowed, lost, faint }) {
  const open = allowed - lost;
  const used = faint
    ? `${count(faint)} of ${count(open)} pairs that may attend ${faint === 1 ? "has" : "have"} a weight under ${FAINT}: allowed, but hardly used, which is normal.`
    : `Each of the ${count(open)} pairs that may attend has a weight of at least ${FAINT}.`;
  if (!lost) return used;
  return `${count(lost)} of ${count(allowed)} pairs that are meant to be allowed are blocked: what was passed forbids them.${open ? ` ${used}` : ""}`;
}

/** What a map does not show. @type {(found: Found, leaks: number) => string} */
function factsOf(found, leaks) {
  const { run, result, layer, head, step } = found;
  const every = Array.from({ length: run.nHeads }, (_, at) => at);
  const heads = head === "mean" || head === "max" ? every : headsOf(head);
  const judgedIn = every.filter((at) => result.leak[layer][at] !== null || result.at[layer][at][0] >= 0);
  const inside = heads.filter((at) => judgedIn.includes(at));
  if (!inside.length) return `The mask applies only to ${result.scope.words}; leaks are not checked here.`;
  const judged =
    inside.length < heads.length
      ? ` Of these heads, the mask applies to ${inside.join(", ")}; leaks are counted only there.`
      : "";
  const [extra, missing] = [result.extra[layer], result.missing[layer]];
  const passed =
    extra || missing
      ? `Layer ${layer} got a different mask from yours: ${count(extra)} more pairs allowed, ${count(missing)} more forbidden.${run.valid.includes(false) ? " Queries that are padding are left out." : ""}`
      : `Layer ${layer} got your mask, pair by pair${judgedIn.length === every.length ? "" : `, in ${judgedIn.length === 1 ? "head" : "heads"} ${judgedIn.join(", ")}`}.`;
  const leaking = leaks
    ? `${count(leaks)} leaking ${leaks === 1 ? "cell" : "cells"} in this map.`
    : "No leak in this map.";
  const blocks = step > 1 ? ` Each cell stands for about ${Math.round(step)} × ${Math.round(step)} pairs.` : "";
  return `${passed} ${leaking}${judged}${blocks}${judged ? "" : emptyOf(found)}`;
}

// Results for queries without any key, from their observed rows.
function emptyOf(/** @type {Found} */ { run, result, observed, step }) {
  if (!result.empty.length || step > 1) return "";
  const rows = result.empty.map((row) => observed.subarray(row * run.n, (row + 1) * run.n));
  const gives = rows.every((row) => row.every((weight) => weight === 0))
    ? "zeros: no weight on any key, so only the residual stream carries them forward"
    : "weight on keys anyway";
  return ` Your mask leaves no key for ${listed(result.empty, run.tokens)}. This encoder gave them ${gives}.`;
}
