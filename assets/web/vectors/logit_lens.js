// Panel: what the prediction head would say after every number of blocks, as a table of layers × tokens.

import { current } from "../core/app_state.js";
import { inkOn, makeScale, rgbText, shade } from "../core/colors.js";
import { caption, control, controls, count, el, options } from "../core/dom.js";
import { afterBlocks } from "../core/states.js";
import { quoted } from "../core/token_names.js";
import { Panel } from "./panel.js";
import { bar } from "./results.js";

/** @import { Acts, Draw, Table } from "./panel.js" */
/** @typedef {{ run: Run, found: LogitLens }} Shown */

const TASK = "hidden.task"; // in the link
const WHOLE = -1; // the place of a head that speaks of the whole input
const PROBABILITY = makeScale("shared", 1);

export class LogitLensPanel extends Panel {
  /** @type {Run | null} */
  run = null;
  /** @type {Shown | null} */
  shown = null;
  around = 0; // the token about which a long text is read
  table = el("table", {
    class: "viz-hidden-logit-lens",
    onpointerover: (event) => this.#pointed(cellOf(event, "td")),
    onpointerleave: () => this.#pointed(null),
    onclick: (event) => this.#clicked(cellOf(event, "td, th")),
  });
  task = el("select", { id: "viz-hidden-task", onchange: () => this.#chose() });
  taskNode = controls(control("Prediction head", this.task));
  window = caption();
  scale = el("p", { class: "viz-caption viz-stat-scale" });

  constructor(/** @type {Acts} */ acts) {
    super(
      acts,
      "logit_lens",
      "Logit lens: predictions at each layer",
      "Look for the first row where the final answer appears. Each row applies the trained prediction head to the states after that many blocks, through the final norm if there is one. The head was trained on the last row only: it cannot read what earlier layers encode in another form.",
    );
    const region = {
      class: "viz-hidden-scroll",
      tabindex: "0",
      role: "region",
      "aria-label": "The prediction head at every layer",
    };
    this.body.append(this.taskNode, el("div", region, this.table), this.scale, this.window, this.told);
  }

  /** @override @returns {Table[]} */
  tables() {
    return [["", `logit_lens?token=${this.around}&task=${encodeURIComponent(this.task.value)}`]];
  }

  /** @override @type {Draw} */
  async draw({ run, token, layer }, fresh) {
    this.node.hidden = !run.tasks.length;
    if (this.node.hidden) return null;
    if (this.run !== run) this.#enter(run);
    const task = this.task.value;
    const known = this.shown?.run === run && this.shown.found.task === task ? this.shown.found.tokens : [];
    if (known[0] !== WHOLE && !known.includes(token)) this.around = token;
    const [[, path]] = this.tables();
    /** @type {LogitLens} */
    const found = await fresh(run.json(`hidden/${path}`, fresh.signal));
    if (this.shown?.found !== found || !this.table.tBodies.length) this.#build({ run, found });
    this.#tell(run, found);
    this.table.querySelectorAll("tbody tr").forEach((row, at) => {
      row.classList.toggle("viz-hidden-here", at === layer);
    });
    this.#toggle("viz-hidden-chosen", token);
    this.mark(this.hovered);
    return `${this.around}:${task}:${layer}`;
  }

  /** @override @param {number | null} hovered */
  mark(hovered) {
    super.mark(hovered);
    this.#toggle("viz-pointed", hovered);
  }

  /** @override */
  redraw() {
    this.table.replaceChildren();
  }

  #enter(/** @type {Run} */ run) {
    Object.assign(this, { run, shown: null });
    this.task.replaceChildren(...options(run.tasks.map((task) => [task, task])));
    this.taskNode.hidden = run.tasks.length < 2;
    const linked = current.selection.noted(TASK);
    if (run.tasks.includes(linked)) this.task.value = linked;
  }

  #chose() {
    current.selection.note({ [TASK]: this.task.selectedIndex ? this.task.value : "" });
    this.again();
  }

  /** @type {(run: Run, found: LogitLens) => void} */
  #tell(run, { tokens, unit, task }) {
    const real = run.real().length;
    const part =
      tokens.length < real && tokens[0] !== WHOLE
        ? ` ${tokens.length} of ${count(real)} tokens, around the chosen one.`
        : "";
    const masked =
      task === "masked" ? " At tokens that are not masked, this head may have had little or no training." : "";
    this.scale.hidden = unit !== "probability";
    this.scale.replaceChildren(...bar(PROBABILITY, "0", "1", "probability of the most likely label"));
    this.window.textContent = `Each cell: the most likely label and its ${unit}.${part}${masked}`;
  }

  // The column of a token.
  #toggle(/** @type {string} */ name, /** @type {number | null} */ token) {
    for (const cell of this.table.querySelectorAll("[data-token]"))
      cell.classList.toggle(name, cell.getAttribute("data-token") === String(token));
  }

  #build(/** @type {Shown} */ shown) {
    this.shown = shown;
    const { run, found } = shown;
    const whole = found.tokens[0] === WHOLE;
    const axis = { class: "viz-hidden-axis", scope: "colgroup", colspan: found.tokens.length };
    const names = found.tokens.map((token) =>
      el(
        "th",
        { scope: "col", "data-token": whole ? null : token },
        el("bdi", {}, whole ? "all tokens" : run.tokens[token]),
      ),
    );
    const rows = found.labels.map((places, layer) =>
      el(
        "tr",
        {},
        el("th", { scope: "row", "data-layer": layer }, String(layer)),
        ...places.map((_, place) => cell(found, layer, place)),
      ),
    );
    this.table.replaceChildren(
      el(
        "thead",
        {},
        el("tr", {}, el("td"), el("th", axis, whole ? "Whole input" : "Token")),
        el("tr", {}, el("th", { scope: "col", class: "viz-hidden-axis" }, "After n blocks"), ...names),
      ),
      el("tbody", {}, ...rows),
    );
  }

  #pointed(/** @type {HTMLElement | null} */ cell) {
    const { token, layer, place } = cell?.dataset ?? {};
    this.acts.hover(place === undefined || token === undefined ? null : Number(token));
    this.told.textContent =
      place === undefined || !this.shown ? "" : sentence(this.shown, Number(layer), Number(place));
  }

  #clicked(/** @type {HTMLElement | null} */ cell) {
    const { token, layer } = cell?.dataset ?? {};
    if (layer !== undefined) this.acts.layer(Number(layer));
    if (token !== undefined) this.acts.choose(Number(token));
  }
}

/** @type {(event: Event, selector: string) => HTMLElement | null} */
const cellOf = ({ target }, selector) => (target instanceof Element ? target.closest(selector) : null);

/** @type {(found: LogitLens, layer: number, place: number) => HTMLElement} */
function cell({ labels, shares, tokens, unit }, layer, place) {
  const [[label], [share]] = [labels[layer][place], shares[layer][place]];
  const token = tokens[place] === WHOLE ? null : tokens[place];
  const color = unit === "probability" && share !== null ? shade(share, PROBABILITY) : null;
  const style = color && `background:${rgbText(color)};color:${inkOn(color)}`;
  const said = el("small", {}, share === null ? "?" : share.toFixed(2));
  return el("td", { "data-token": token, "data-layer": layer, "data-place": place, style }, el("bdi", {}, label), said);
}

// The likeliest labels of a cell, and how likely it finds the output's answer.
function sentence(/** @type {Shown} */ { run, found }, /** @type {number} */ layer, /** @type {number} */ place) {
  const { labels, shares, finals, tokens, unit } = found;
  const four = (/** @type {number | null} */ value) => value?.toFixed(4) ?? "?";
  const ranked = labels[layer][place]
    .slice(0, 3)
    .map((label, rank) => `${quoted(label)} ${four(shares[layer][place][rank])}`);
  const where = tokens[place] === WHOLE ? "The whole input" : run.named(tokens[place]);
  const answer = labels[labels.length - 1][place][0];
  return `${where}, ${afterBlocks(layer)}: ${ranked.join(", ")}; the output's answer ${quoted(answer)} ${four(finals[layer][place])} (${unit})`;
}
