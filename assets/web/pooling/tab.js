// The Pooling tab, of one input: every method's vector, what each token put into it, a second text, padding.

import { current } from "../core/app_state.js";
import { button, caption, control, controls, el, query, tableHead } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { linkedOf } from "../core/link_notes.js";
import { blocksPassed } from "../core/states.js";
import { TabShell } from "../core/tab_shell.js";
import { oneStop } from "../views/one_stop.js";
import { learned } from "./learned_query.js";
import { Padding } from "./padding.js";
import { PartSwitch } from "./part_switch.js";
import { called, fixed, madeOf, OWN, ownOrNot, signedBar, tint } from "./results.js";
import { Shares } from "./token_shares.js";
import { TwoTexts } from "./two_texts.js";

const [LAYER, METHOD, SECOND] = ["pool.layer", "pool.method", "pool.text"]; // in the link
const PAUSE = 120; // ms without another choice before the server is asked
const METHODS = ["Method", "What it is", "Dim", "Norm", "Cosine to mean"];
const MAX_SHARES = "The share of dimensions in which the token has the largest value. The first of equal tokens wins.";
const LOOKS =
  "Weights of the learned query over the tokens, a mean over its heads. " +
  "A feed-forward network follows, so they are not shares of the vector.";
const SHARES =
  "How much of the vector comes from this token; a negative share points away from it. " +
  "(Its part projected onto the pooled vector, divided by the squared length.)";
const NO_SHARES =
  "The model's own pooler is a function of the whole vector; it is not a sum over tokens, so there are no shares.";

const NO_PARTS =
  "The model's own pooling takes a maximum or goes through a dense layer; it is not a sum over tokens, so there are no shares.";

/** A cosine with two digits in little room: .47, −.04, 1. @param {Maybe} value */
const short = (value) => fixed(value, 2).replace("0.", ".").replace("1.00", "1");

// Called by the page once; the run is that of all tabs.
export function mount(/** @type {HTMLElement} */ root) {
  new PoolingTab(root);
}

class PoolingTab extends TabShell {
  picked = current.selection.noted(METHOD); // the method that the person, or the link, chose; else the model's own
  method = "";
  stale = true; // not yet drawn, of this run and with the latest learned query
  /** @type {Pooled | null} */
  found = null;
  parts = new PartSwitch();
  lead = el("h2", { class: "viz-lead viz-of-one" });
  model = el("span", { class: "viz-fact" });
  layer = el("input", { type: "range", id: "viz-pool-layer", min: 0, max: 0, step: 1 });
  layerName = el("output");
  rows = oneStop(el("tbody"));
  own = el("p", { class: "viz-caption", role: "status" });
  left = el("ul", { class: "viz-notes" });
  matrix = el("table", { class: "viz-pool-matrix" });
  matrixScale = el("p", { class: "viz-caption viz-stat-scale" });
  shareTitle = el("h3");
  shareText = caption();
  shares = new Shares("Each token's share");
  texts = new TwoTexts(
    { of: (run) => linkedOf(run, SECOND), note: (text) => current.selection.note({ [SECOND]: text }) },
    (name) => this.#pick(name),
  );
  padding = new Padding();
  #asked = new Latest((sentence) => {
    this.stale = true;
    this.fault.textContent = sentence;
    this.fault.hidden = false;
  });

  constructor(/** @type {HTMLElement} */ root) {
    super(root, "viz-pool");
    this.body.append(
      el("div", { class: "viz-pool-bar" }, this.parts.node, this.#states()),
      this.lead,
      el("div", { class: "viz-pool-columns viz-of-one" }, this.#methods(), this.#alike()),
      el(
        "section",
        { class: "viz-pool-chosen viz-of-one", "aria-label": "Each token's contribution" },
        this.shareTitle,
        this.shareText,
        this.shares.node,
      ),
      this.texts.node,
      this.padding.node,
    );
    this.layer.addEventListener("input", () => {
      const { value, max } = this.layer;
      current.selection.note({ [LAYER]: value === max ? "" : value });
      if (this.run) this.#load(this.run, PAUSE);
    });
    learned.on(() => {
      this.stale = true;
      this.refresh();
    });
    this.open();
  }

  // After how many blocks; a set has its own choice of it.
  #states() {
    const node = controls(control("Hidden states", this.layer, this.layerName), this.model);
    node.classList.add("viz-pool-states");
    return node;
  }

  #methods() {
    const heads = METHODS.map((title) => el("th", { scope: "col" }, title));
    const table = el("table", { class: "viz-pool-table viz-pool-methods" }, el("thead", {}, el("tr", {}, ...heads)));
    table.append(this.rows);
    return el(
      "section",
      { "aria-label": "Methods" },
      el("div", { class: "viz-pool-scroll" }, table),
      this.own,
      this.left,
    );
  }

  #alike() {
    return el(
      "section",
      { "aria-label": "Cosine between methods" },
      el("h3", {}, "Cosine between methods"),
      el("div", { class: "viz-pool-scroll" }, this.matrix),
      this.matrixScale,
      caption("– = vectors of different widths have no cosine."),
    );
  }

  /** @override @param {Run | null} run */
  entered(run) {
    if (!run) return;
    this.model.textContent = `Model: ${run.model}`;
    this.parts.enter(run);
    this.layer.max = String(run.nLayers);
    this.layer.value = linkedOf(run, LAYER) || this.layer.max;
    if (run.key !== current.selection.opened) current.selection.note({ [LAYER]: "", [SECOND]: "" });
    this.stale = true;
  }

  /** @override @param {Run} run */
  show(run) {
    if (this.stale) this.#load(run);
  }

  /** @override */
  redraw() {
    this.#draw();
  }

  #load(/** @type {Run} */ run, pause = 0) {
    const [layer, last] = [Number(this.layer.value), Number(this.layer.max)];
    const what = layer === last ? ": the output" : "";
    this.layerName.textContent = `${blocksPassed(layer, last)}${what}`;
    this.stale = false;
    return this.#asked.run(
      async (fresh) => {
        this.#busy(true);
        const query = learned.value ? `&learned=${learned.value.key}` : "";
        /** @type {Pooled} */
        const found = await fresh(run.json(`pooled?layer=${layer}${query}`));
        this.#busy(false);
        this.found = found;
        this.fault.hidden = true;
        this.#draw();
        this.padding.show(run, found);
        this.body.dataset.painted = `${run.key}:${found.layer}:${found.shares.attention ? "learned" : ""}`;
      },
      { pause },
    );
  }

  // The numbers on screen are of the layer before until the new ones come: dimmed so long.
  #busy(/** @type {boolean} */ busy) {
    this.body.classList.toggle("viz-pool-busy", busy);
    this.body.setAttribute("aria-busy", String(busy));
  }

  #draw() {
    const [{ found }, { run }] = [this, this];
    if (!found || !run) return;
    const names = new Set(found.methods.map(({ name }) => name));
    this.method = [this.picked, OWN, "mean"].find((name) => names.has(name)) ?? "mean";
    this.own.textContent = ownOrNot(found.own, this.method);
    this.rows.replaceChildren(...found.methods.map((method) => this.#row(method)));
    this.left.replaceChildren(
      ...Object.entries(found.leftOut).map(([name, why]) => el("li", {}, el("strong", {}, name), `: ${why}`)),
    );
    this.#drawMatrix(found);
    this.#drawShares(run, found);
    this.texts.show(run, { layer: found.layer, method: this.method });
  }

  #pick(/** @type {string} */ name) {
    this.picked = name;
    current.selection.note({ [METHOD]: name });
    this.#draw();
  }

  #row(/** @type {Pooled["methods"][number]} */ { name, what, numbers, norm, toMean }) {
    const chosen = name === this.method;
    const choose = () => {
      this.#pick(name);
      query(this.rows, `[data-method="${name}"] button`).focus();
    };
    return el(
      "tr",
      { "data-method": name, class: chosen ? "viz-chosen-row" : "", onclick: choose },
      el(
        "th",
        { scope: "row" },
        button(called(name), () => {}, { "aria-pressed": String(chosen) }),
      ),
      el("td", { class: "viz-pool-what" }, what),
      ...[String(numbers), fixed(norm), fixed(toMean, 4)].map((text) => el("td", {}, text)),
    );
  }

  #drawMatrix(/** @type {Pooled} */ { methods, cosines }) {
    const names = methods.map(({ name }) => (name === OWN ? "own" : name));
    const rows = names.map((name, row) => {
      const cells = cosines[row].map((value, column) => {
        const said = value === null ? "of different widths" : `cosine ${fixed(value, 4)}`;
        return tint(el("td", { title: `${name} and ${names[column]}: ${said}` }, short(value)), value);
      });
      return el("tr", {}, el("th", { scope: "row" }, name), ...cells);
    });
    this.matrix.replaceChildren(tableHead("", ...names.map((name) => el("span", {}, name))), el("tbody", {}, ...rows));
    this.matrixScale.replaceChildren(...signedBar("−1", "1", "cosine"));
  }

  #drawShares(/** @type {Run} */ run, /** @type {Pooled} */ { looks, shares, wins, width }) {
    const { method } = this;
    const ownHead = method === "pooler";
    const values = (ownHead && looks) || shares[method];
    const looked = ownHead && looks;
    this.shareTitle.textContent = looked
      ? "Where the pooler's learned query looks"
      : `Each token's contribution to ${method === OWN ? "the model's own vector" : method}`;
    this.shareText.textContent = method === "max" ? MAX_SHARES : looked ? LOOKS : ownHead ? "" : SHARES;
    this.lead.textContent = madeOf(
      run.tokens,
      method,
      method === "max" || looked ? null : values,
      this.found,
      !run.grid,
    );
    if (!values) return this.shares.fail(method === OWN ? NO_PARTS : NO_SHARES);
    const said = (/** @type {number} */ at) =>
      method === "max" ? ` wins ${wins[at]} of ${width} dimensions` : `: ${fixed(values[at], 4)}`;
    this.shares.show({
      tokens: run.tokens,
      values,
      grid: run.grid,
      picture: run.url("picture.png"),
      say: (at) => `${run.named(at)}${said(at)}`,
      unit: looked ? "attention weight, share of the query's total" : "share of the pooled vector; the shares sum to 1",
    });
  }
}
