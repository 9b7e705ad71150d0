// What poolings make of one input: each one's vector, each token's share of the chosen one, two texts, padding.

import { current } from "../core/app_state.js";
import { button, caption, el, query, rowWith } from "../core/dom.js";
import { linkedOf } from "../core/link_notes.js";
import { View } from "../core/view.js";
import { heads } from "../views/headed.js";
import { oneStop } from "../views/one_stop.js";
import { learned } from "./learn.js";
import { Padding } from "./padding.js";
import { besideOthers, called, fixed, madeOf, OWN, ownOrNot } from "./results.js";
import { Shares } from "./token_shares.js";
import { TwoTexts } from "./two_texts.js";

/** @import { Acts } from "../views/token_choice.js" */

const [METHOD, SECOND] = ["pool.method", "pool.text"]; // in the link
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

export class Poolings extends View {
  picked = current.selection.noted(METHOD); // the method that the person, or the link, chose; else the model's own
  method = "";
  /** @type {Pooled | null} */
  found = null;
  #name = ""; // of what is asked for: the run, the layer and the learned query
  lead = el("span");
  rows = oneStop(el("tbody"));
  beside = el("p");
  own = el("p", { class: "viz-caption", role: "status" });
  left = el("ul", { class: "viz-notes" });
  shareTitle = el("h4");
  shareText = caption();
  padding = new Padding();
  texts = new TwoTexts(
    { of: (run) => linkedOf(run, SECOND), note: (text) => current.selection.note({ [SECOND]: text }) },
    (name) => this.#pick(name),
  );
  #asked = this.latest((sentence) => this.#refused(sentence));

  constructor(/** @type {Acts} */ acts) {
    super();
    current.selection.restored(METHOD, () => this.#noted(), this.signal);
    this.shares = new Shares("Each token's share", acts);
    const parts = [this.shareTitle, this.shareText, this.shares.node];
    this.node = el("section", { class: "viz-pool-chosen", "aria-label": "Each token's contribution" }, ...parts);
    this.all = el(
      "details",
      { class: "viz-folded viz-hidden-more viz-of-one", open: Boolean(this.picked) },
      el("summary", {}, "All poolings of these states, side by side"),
      el("div", {}, this.beside, this.#methods()),
    );
    this.paled = [this.node, this.all]; // of the layer before until the new numbers come
  }

  #methods() {
    const table = el("table", { class: "viz-pool-table viz-pool-methods" }, heads(...METHODS), this.rows);
    const scrolled = el("div", { class: "viz-pool-scroll" }, table);
    return el("section", { "aria-label": "Methods" }, scrolled, this.own, this.left);
  }

  /** Show a run after so many blocks, and a token that is chosen in it.
   * @type {(run: Run, layer: number, token: number) => unknown} */
  show(run, layer, token) {
    const query = learned.value ? `&learned=${learned.value.key}` : "";
    const name = `${run.key}:${layer}${query}`;
    this.shares.pick(token);
    if (name === this.#name) return this.#follow();
    const pause = this.run === run ? PAUSE : 0;
    Object.assign(this, { run });
    if (!run.hasModel) return this.#refused(run.unsplit);
    this.#name = name;
    this.behind();
    return this.#asked.run(
      async (fresh) => {
        this.found = await fresh(run.json(`pooled?layer=${layer}${query}`));
        this.behind(false);
        this.draw();
        this.painted(`${run.key}:${layer}:${this.found?.shares.attention ? "learned" : ""}`);
      },
      { pause },
    );
  }

  #refused(/** @type {string} */ sentence) {
    const { run } = this;
    Object.assign(this, { found: null });
    this.#name = "";
    this.behind(false);
    this.lead.textContent = this.shareTitle.textContent = this.shareText.textContent = "";
    if (run) this.shares.show({ run, values: [], say: (at) => run.named(at), unit: "", why: sentence });
  }

  // The questions that are in sight.
  #follow() {
    const { run, found, method } = this;
    if (!run || !found) return;
    if (this.padding.node.clientWidth) this.padding.show(run, found);
    this.texts.show(run, { layer: found.layer, method });
  }

  draw() {
    const [{ found }, { run }] = [this, this];
    if (!found || !run) return;
    const names = new Set(found.methods.map(({ name }) => name));
    this.method = [this.picked, OWN, "mean"].find((name) => names.has(name)) ?? "mean";
    this.own.textContent = ownOrNot(found.own, this.method);
    this.rows.replaceChildren(...found.methods.map((method) => this.#row(method)));
    this.left.replaceChildren(
      ...Object.entries(found.leftOut).map(([name, why]) => el("li", {}, el("strong", {}, name), `: ${why}`)),
    );
    this.beside.textContent = besideOthers(this.method, found);
    this.#drawShares(run, found);
    this.#follow();
  }

  #pick(/** @type {string} */ name) {
    current.selection.note({ [METHOD]: name });
    this.#noted();
  }

  #noted() {
    this.picked = current.selection.noted(METHOD);
    this.draw();
  }

  #row(/** @type {Pooled["methods"][number]} */ { name, what, numbers, norm, toMean }) {
    const chosen = name === this.method;
    const choose = () => {
      this.#pick(name);
      query(this.rows, `[data-method="${name}"] button`).focus();
    };
    return rowWith(
      { "data-method": name, class: chosen ? "viz-chosen-row" : "", onclick: choose },
      button(called(name), () => {}, { "aria-pressed": String(chosen) }),
      el("td", { class: "viz-pool-what" }, what),
      ...[String(numbers), fixed(norm), fixed(toMean, 4)],
    );
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
    const parts = method === "max" || looked || !values ? [] : values;
    this.lead.textContent = parts.length ? madeOf(run.tokens, method, parts, !run.grid) : "";
    const unit = looked ? "attention weight, share of the query's total" : "share of the vector; they sum to 1";
    const said = (/** @type {number} */ at) =>
      method === "max" ? ` wins ${wins[at]} of ${width} dimensions` : `: ${fixed(values?.[at], 4)}`;
    const why = values ? "" : method === OWN ? NO_PARTS : NO_SHARES;
    const say = (/** @type {number} */ at) => run.named(at) + (values ? said(at) : "");
    this.shares.show({ run, values: values ?? [], say, unit, why });
  }
}
