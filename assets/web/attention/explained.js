// The question and its answer: what carried it, how it got there, and what each head brings.

import { el } from "../core/dom.js";
import { Emitter } from "../core/emitter.js";
import { Latest } from "../core/latest.js";
import { ask } from "../core/server.js";
import { quoted } from "../core/token_names.js";
import { saveRow } from "../views/save_row.js";
import { HeadShares } from "./head_shares.js";
import { KnockedOut } from "./knocked_out.js";
import { PictureRoutes } from "./picture_routes.js";
import { Question } from "./question.js";
import { answerSaid } from "./routes_layout.js";
import { RoutesView } from "./routes_view.js";
import { svgFile } from "./svg_file.js";

/** @import { Explained as Found, Run, Selection } from "./types.d.ts" */

const PAUSE = 140; // ms without another choice before the server is asked
const ABOUT =
  "Share at each token after each block, and the links that moved it. Attention weights, norms and activation " +
  "factors are held as they ran; then every row and the biases after it add up to the score. It does not tell " +
  "what would happen without a token or head.";

/** Emits when there is another answer, or none. @extends {Emitter<[]>} */
export class Explained extends Emitter {
  #latest = new Latest((sentence) => this.#fail(sentence));
  /** @type {Run | null} */ run = null;
  /** @type {Found | null} */ found = null;
  #query = -1; // of which the question is, where it is of the chosen token
  question = new Question(() => this.ask());
  said = el("h2", { class: "viz-answer", "aria-live": "polite" });
  told = el("p", { class: "viz-caption viz-explained-told", role: "status" });
  knockedOut = new KnockedOut();

  constructor(/** @type {Selection} */ selection) {
    super();
    this.selection = selection;
    const say = (/** @type {string} */ sentence) => {
      this.told.textContent = sentence;
    };
    const token = (/** @type {number} */ at) => this.#token(at);
    const link = (/** @type {Found["edges"][0]} */ { layer, head, query, key }) =>
      selection.set({ layer, head, query, key });
    this.routes = new RoutesView({ token, link, say });
    this.pictures = new PictureRoutes(token);
    this.heads = new HeadShares((place) => selection.set(place), say);
    this.saves = saveRow("Save how it got there", [
      ["SVG", "The drawing", () => svgFile(this.routes.drawing, this.#stem())],
      ["CSV", "The shares, as a table", () => this.#file("csv")],
      ["npz", "The shares, for numpy", () => this.#file("npz")],
    ]);
    this.picture = el("section", { class: "viz-how", "aria-label": "How it got there" });
    const title = el("h3", {}, "How it got there");
    const drawn = [this.routes.node, this.pictures.node, this.told, this.saves];
    this.picture.append(title, el("p", { class: "viz-caption" }, ABOUT), ...drawn, this.knockedOut.node);
    const all = el("h3", {}, "All heads: what each one brings");
    this.all = el("section", { class: "viz-shares", "aria-label": "What each head brings" }, all, this.heads.node);
    selection.on((changed) => {
      if (changed.has("query") && this.run && this.#query !== selection.query) this.ask();
      if (changed.has("layer") || changed.has("head")) this.heads.mark(selection.layer, selection.head);
    });
  }

  // Another run: what is here is of the one before.
  enter(/** @type {Run} */ run) {
    if (this.run !== run) this.question.enter(run);
    this.run = run;
    this.said.classList.add("viz-stale");
    for (const node of [this.picture, this.all]) node.classList.add("viz-behind");
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    return this.ask(0);
  }

  ask(pause = PAUSE) {
    const { run } = this;
    if (!run) return null;
    this.question.node.hidden = Boolean(run.unsplit);
    if (run.unsplit) return this.#fail(run.unsplit);
    return this.#latest.run(
      async (fresh) => {
        const { query } = this.selection;
        await this.question.show(run, query, fresh);
        const options = this.question.options();
        if (!options) return;
        this.#query = this.question.ofQuery ? query : -1;
        const path = `attribution?${new URLSearchParams(options)}`;
        const found = /** @type {Found} */ (await fresh(run.json(path)));
        this.#answer(run, found, options);
        this.picture.dataset.painted = `${run.key}:${path}`;
      },
      { pause },
    );
  }

  draw() {
    this.routes.draw();
    this.pictures.draw();
    this.heads.draw();
  }

  /** @type {(run: Run, found: Found, options: Record<string, string>) => void} */
  #answer(run, found, options) {
    this.found = found;
    this.#here();
    this.picture.hidden = this.all.hidden = false;
    const token = "token" in options ? Number(options.token) : -1;
    const ofState = options.of === "state" && !options.against;
    const name = (/** @type {number} */ at) => quoted(found.names[at]);
    const parts = answerSaid(found, name, ofState ? token : -1);
    this.said.replaceChildren(...parts.map(([text, strong]) => (strong ? el("b", {}, text) : text)));
    const picture = run.grid !== null;
    this.routes.node.hidden = picture;
    this.pictures.node.hidden = !picture;
    if (picture) this.pictures.show(run, found, token);
    else this.routes.show(run, found, token);
    this.heads.show(run, found);
    this.heads.mark(this.selection.layer, this.selection.head);
    this.told.textContent = found.sentence;
    const shares = new Map(found.tokens.map((share, at) => /** @type {const} */ ([at, share])));
    this.tell();
    this.knockedOut.show({ run, options, shares });
  }

  // Ask of a token's final state from now on.
  #token(/** @type {number} */ query) {
    const other = this.question.askOfToken();
    if (query !== this.selection.query) this.selection.set({ query });
    else if (other) this.ask();
  }

  // Why there is no answer, in place of it.
  #fail(/** @type {string} */ sentence) {
    this.found = null;
    this.#here();
    this.picture.hidden = this.all.hidden = true;
    this.said.replaceChildren(el("span", { class: "viz-caption" }, sentence));
    this.picture.dataset.painted = `${this.run?.key}:`;
    this.tell();
  }

  #here() {
    this.said.classList.remove("viz-stale");
    for (const node of [this.picture, this.all]) node.classList.remove("viz-behind");
  }

  #stem() {
    return `${this.run?.model ?? "run"}-routes`;
  }

  async #file(/** @type {"csv" | "npz"} */ kind) {
    const { run } = this;
    const options = this.question.options();
    if (!run || !options) return null;
    const response = await ask(run.url(`figure/routes.${kind}?${new URLSearchParams(options)}`));
    return { blob: await response.blob(), name: `${this.#stem()}.${kind}` };
  }
}
