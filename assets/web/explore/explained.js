// The question and its answer: how it got there, and what each head has to do with it, in one of three measures.

import { steadily } from "../core/changed_banner.js";
import { strongestAt } from "../core/colors.js";
import { codesOf } from "../core/changed_run.js";
import { button, el } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { DEFAULTS } from "../core/selection_address.js";
import { quoted, toldApart } from "../core/token_names.js";
import { View } from "../core/view.js";
import { Work } from "../views/work.js";
import { MeasuredHeads } from "./measured_heads.js";
import { MEASURES, MeasureSwitch, missing, offered } from "./measures.js";
import { PictureRoutes } from "../views/picture_routes.js";
import { Question } from "./question.js";
import { SeveralHeads, StandIn, Yardstick } from "./effects.js";
import { routesSaves } from "./routes_files.js";
import { addsUp, aloneSaid, answerSaid, effectSaid, looksSaid, strongestHead } from "./answers.js";
import { RoutesView } from "../views/routes_view.js";
import { ShareMaps } from "./share_maps.js";
import { WHOLE } from "./tiles.js";

const ALL_TOKENS = "The picture and the heads count every token by itself, hidden ones and parts of words, too.";
const HOW = "How it got there";
const PAUSE = 140; // ms without another choice before the server is asked

/** Emits when there is another answer, or none. @extends {View<[]>} */
export class Explained extends View {
  #latest = this.latest((sentence) => this.#fail(sentence));
  #leading = this.latest((sentence) => this.#fail(sentence)); // beside an answer that may be on its way
  #work = new Work(this.signal);
  /** @type {Run | null} */ run = null;
  /** @type {Found | null} */ found = null; // what carried the score, whatever measure is shown
  #told = ""; // the question of which the answer stands there
  /** @type {Run | null} */ #answered = null;
  #answeredQuery = -1;
  #headline = ""; // the answer in the measure that is shown
  #query = -1; // of which the question is, where it is of the chosen token
  token = -1; // whose final state is asked about; -1 where something else is
  /** @type {Found | null} */ effect = null; // and what changes without each head, once it is measured
  /** @type {Map<string, Found>} */ #measured = new Map(); // slow answers of this run, by measure and question
  yardstick = new Yardstick(() => this.tell());
  standIn = new StandIn(() => this.ask(0), this.signal);
  said = el("h2", { class: "viz-lead viz-answer", "aria-live": "polite" });
  how = el("p", { class: "viz-measure-said viz-caption" });
  told = el("p", { class: "viz-caption viz-explained-told", role: "status" });

  /** @param {PageSelection} selection @param {PairLinksView} pair @param {Reference} reference
   * @param {(place: HeadPlace | null) => unknown} aim at a head whose map the next click may choose */
  constructor(selection, pair, reference, aim) {
    super(selection);
    this.question = new Question(() => this.ask(), reference);
    if (!(selection.measure in MEASURES)) selection.measure = DEFAULTS.measure; // of a link
    this.maps = new ShareMaps(selection, () => this.question.against.captioned, this.signal);
    this.switch = new MeasureSwitch(selection, this.signal);
    const say = (/** @type {string} */ sentence) => this.told.replaceChildren(sentence);
    const token = (/** @type {number} */ at) => this.#askOf(at);
    const link = (/** @type {Found["edges"][0]} */ { layer, head, query, key }) =>
      selection.set({ layer, head, query, key });
    this.routes = new RoutesView({ token, link, say });
    inLink("flow.least", this.routes.slide, this.signal);
    this.pictures = new PictureRoutes(token);
    this.heads = new MeasuredHeads(selection, pair, say, aim);
    this.saves = routesSaves(() => {
      const { drawing } = this.run?.grid ? this.pictures : this.routes;
      const { measure } = selection;
      const others = `attribution/routes/KIND?measure=${measure}${measure === "effect" ? this.standIn.asked : ""}&`;
      const path = (measure === "contribution" ? "figure/routes.KIND?" : others) + this.#told;
      const against = measure === "attention" ? "" : this.question.against.captioned;
      return { drawing, title: this.#headline, run: this.run, against, measure, path };
    });
    this.several = new SeveralHeads(selection);
    this.heads.node.append(this.several.node);
    this.views = [this.routes, this.pictures, this.heads, this.several];
    const drawn = [this.#work.node, this.routes.node, this.pictures.node, this.told];
    const head = el("div", { class: "viz-how-head" }, el("h3", {}, HOW), this.routes.least, this.saves);
    this.node = el("section", { class: "viz-how", "aria-label": HOW }, head, ...drawn);
    this.paled = [this.said, this.node, this.heads.node];
    const choices = [this.switch.node, reference.change, this.standIn.node];
    this.measures = el("div", { class: "viz-measured" }, ...choices, this.how);
    reference.measures.on(() => this.run && this.question.against.follow() && this.ask(), this.signal);
    selection.on((changed) => {
      if (changed.has("question")) this.question.again();
      if ((changed.has("measure") || changed.has("question")) && this.run) this.ask(0);
      else if (changed.has("query") && this.run && this.#query !== selection.query) this.ask();
    }, this.signal);
  }

  // Another run: what is here is of the one before.
  enter(/** @type {Run} */ run) {
    if (this.run !== run) {
      this.question.enter(run);
      this.#measured.clear();
      this.maps.ask(null, "");
    }
    this.run = run;
    this.selection.measure = offered(run, this.selection.measure);
    for (const begun of [this.#latest, this.#leading, this.#work]) begun.stop();
    this.switch.mark();
    this.said.classList.add("viz-stale");
    this.behind();
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    return this.ask(0);
  }

  /** The question's words, which the map needs too; null while something is to be typed, or nothing can be split.
   * @type {(run: Run, fresh: Fresh) => Promise<Record<string, string> | null>} */
  async prepare(run, fresh) {
    const { query } = this.selection;
    await this.question.show(run, query, fresh);
    if (run.unsplit) {
      this.#query = this.token = query;
      return { of: "state", token: String(query) };
    }
    const options = this.question.options();
    if (!options) return null;
    this.#query = this.question.ofQuery ? query : -1;
    if (options.token && !run.valid[Number(options.token)]) {
      this.#fail(`${quoted(run.tokens[Number(options.token)])} is padding, which has no final state; choose a word.`);
      return null;
    }
    this.token = options.of === "state" && !options.against ? Number(options.token) : -1;
    this.maps.ask(run, String(new URLSearchParams(options)));
    return options;
  }

  ask(pause = PAUSE) {
    const { run } = this;
    if (!run) return null;
    this.switch.allow((measure) => missing(run, measure), run.unsplit);
    return this.#latest.run((fresh) => this.#ask(run, fresh), { pause });
  }

  /** @type {(run: Run, fresh: Fresh) => Promise<void>} */
  async #ask(run, fresh) {
    const { measure, placed } = this.selection;
    const options = await this.prepare(run, fresh);
    if (!options) return;
    const asked = String(new URLSearchParams(options));
    if (asked !== this.#told) this.behind(); // the answer that stands there is of another question
    const answer = /** @type {Promise<Found> | null} */ (run.unsplit ? null : run.json(`attribution?${asked}&told=1`));
    const found = await fresh(answer);
    const follows = asked !== this.#told && this.#follows(run);
    this.#told = asked;
    this.#answer(found);
    await this.#lead(run, found, fresh, follows, placed);
    this.standIn.offer(run, this.question.against.twin);
    const of = measure === "effect" ? asked + this.standIn.asked : asked;
    const shown = await fresh(this.#measure(run, measure, of, found));
    if (!shown) return void this.selection.set({ measure: "contribution" }); // canceled, or refused with its reason
    this.effect = this.#measured.get(`effect:${asked}`) ?? null;
    this.yardstick.show(run, options);
    this.tell();
    this.#draw(run, shown, "token" in options ? Number(options.token) : -1);
    this.several.show(run, measure === "effect" ? shown : null, of);
    this.painted(`${run.key}:${measure}:${of}`);
  }

  /** The answer in a measure. @type {(run: Run, name: string, asked: string, found: Found | null) => Promise<Found | null>} */
  async #measure(run, name, asked, found) {
    if (name === "contribution") return found;
    const { working } = MEASURES[name];
    const known = this.#measured.get(`${name}:${asked}`);
    if (known) return known;
    this.behind();
    if (!working) return run.json(`attribution?measure=${name}&${asked}`);
    const url = run.url(`attribution/${name}?${asked}`);
    const shown = /** @type {Found | null} */ (await this.#work.run(working, url));
    if (shown) this.#measured.set(`${name}:${asked}`, shown);
    if (shown) this.yardstick.keep(run, asked, shown);
    return shown;
  }

  /** The question of the answer that stands there, as an address has it; "" of none. */
  get asked() {
    return this.found ? this.#told : "";
  }

  #answer(/** @type {Found | null} */ found) {
    [this.found, this.effect] = [found, null];
    this.switch.mark();
    this.said.classList.remove("viz-stale");
    this.node.hidden = this.heads.node.hidden = false;
    if (found && this.selection.measure === "contribution") {
      const name = (/** @type {number} */ at) => toldApart(found.names, at);
      const { why = "", query } = this.run?.opening ?? {};
      const more = this.token >= 0 && this.token === query ? why : "";
      this.#say(answerSaid(found, name, this.token, removedHeads(this.run), this.question.against.named), more);
    }
    [this.#answered, this.#answeredQuery] = [this.run, this.#query];
    this.tell();
  }

  // The answer, whose heads are ways to them; below another one of this text, what was clicked stays in place.
  #say(/** @type {[text: string, strong: boolean][]} */ parts, more = "") {
    this.#headline = parts.map(([text]) => text).join("");
    const { barred } = this.question.against;
    const small = more && !barred ? [el("small", { class: "viz-caption" }, more)] : [];
    if (barred) parts = [[`${barred} Below is this run alone.`, false]];
    const said = [...marked(parts, (name) => this.#toHead(name)), ...small];
    const same = this.#answered?.plainKey === this.run?.plainKey;
    if (same && this.#answered !== this.run) steadily(() => this.said.replaceChildren(...said), this.measures);
    else this.said.replaceChildren(...said);
  }

  /** @type {(run: Run, shown: Found, token: number) => void} */
  #draw(run, shown, token) {
    const { measure } = this.selection;
    const { how } = MEASURES[measure];
    this.behind(false);
    this.standIn.node.hidden = measure !== "effect";
    const { doing } = this.standIn;
    const name = (/** @type {number} */ at) => toldApart(shown.names, at);
    const said = {
      attention: () => looksSaid(shown, name, shown.start ?? -1),
      effect: () => effectSaid(shown, name, doing),
    };
    if (measure in said) this.#say(said[/** @type {keyof typeof said} */ (measure)]());
    this.how.textContent = [run.unsplit, how].filter(Boolean).join(" ");
    const picture = run.grid !== null;
    this.routes.node.hidden = picture;
    this.pictures.node.hidden = !picture;
    if (picture) this.pictures.show(run, shown, token);
    else this.routes.show(run, shown, token);
    if (picture) this.routes.least.hidden = true;
    if (measure !== "attention") this.maps.found(shown);
    const { hide, words } = this.selection;
    const kept = hide || words ? ALL_TOKENS : "";
    const alone = shown.alone && this.question.ofQuery ? aloneSaid(shown.alone, this.#query) : "";
    this.told.textContent = (measure === "contribution" ? [addsUp(shown), alone, kept] : [kept])
      .filter(Boolean)
      .join(" ");
    this.heads.show(run, shown, doing);
  }

  // To a head that the answer names, and there to what stands out.
  #toHead(/** @type {string} */ name) {
    const { run, found } = this;
    const [layer, head] = name.split(".").map(Number);
    if (run && found && strongestHead(found.heads).name === name)
      this.#leading.run((fresh) => this.#lead(run, found, fresh, true));
    else this.selection.set({ layer, head });
  }

  // Ask of a token's final state from now on.
  #askOf(/** @type {number} */ query) {
    const other = this.question.askOfToken();
    if (query !== this.selection.query) this.selection.ask(query);
    else if (other) this.ask();
  }

  // Whether the chosen head is the one that the answer before told of: then it is that of the next answer, too. A person
  // who chose another keeps it, or a query by its place, as on the map, and what was clicked to change this run stays
  // under the pointer.
  #follows(/** @type {Run} */ run) {
    const { found, selection } = this;
    const same = run === this.#answered;
    const changed = !same && run.plainKey === this.#answered?.plainKey;
    const placed = same && this.#query !== this.#answeredQuery && selection.asked < 0;
    const named = found !== null && strongestHead(found.heads).name === selection.name;
    return selection.isLed(run.key) || (named && !changed && !placed);
  }

  /** Choose what stands out of a token that was asked about, or of another answer that the chosen head follows: the head
   * that brings most and the link by which it does, or what the chosen heads look at most; where nothing was `placed` since.
   * @type {(run: Run, found: Found | null, fresh: Fresh, follows: boolean, placed?: number) => Promise<void>} */
  async #lead(run, found, fresh, follows, placed = this.selection.placed) {
    const { selection, question } = this;
    const { asked, measure } = selection;
    if (asked < 0 && !(follows && found)) return;
    const units = run.shown(selection);
    const [row, n, own] = [units.places[selection.query], units.length, question.ofQuery];
    const split = row >= 0 && n <= WHOLE && (follows || (own && measure !== "attention"));
    const place = found && (follows || split) ? strongestHead(found.heads) : selection;
    const { layer, head } = place;
    const view = { ...selection, layer, head };
    /** @type {Span[]} */ const [all, asks] = [[0, n], own ? [row, row + 1] : [0, n]]; // which rows are asked about
    const shares = split ? this.maps.shares(run, view, asks, all) : run.shownRow(view);
    const at = strongestAt((await fresh(shares)).values);
    if (placed !== selection.placed) return; // a person was quicker
    const query = split && !own && at >= 0 ? units[Math.floor(at / n)].tokens[0] : selection.query;
    const chosen = { layer, head, ...(at >= 0 && { query, key: units[at % n].tokens[0] }) };
    if (follows) selection.lead(chosen);
    else if (at >= 0) selection.set(chosen);
  }

  // Why there is no answer, in place of it.
  #fail(/** @type {string} */ sentence) {
    this.found = this.effect = null;
    this.said.classList.remove("viz-stale");
    this.behind(false);
    this.maps.ask(this.run, ""); // the map is of weights then
    this.switch.mark(DEFAULTS.measure);
    this.node.hidden = this.heads.node.hidden = true;
    this.how.replaceChildren();
    this.said.replaceChildren(el("span", { class: "viz-caption" }, sentence));
    this.painted(`${this.run?.key}:`);
    this.tell();
  }
}

/** The names of the heads that a run lacks. @type {(run: Run | null) => string[]} */
const removedHeads = (run) => codesOf(run).flatMap((code) => (code.startsWith("h") ? code.slice(1) : []));

/** @type {(parts: [text: string, strong: boolean][], toHead: (name: string) => unknown) => (string | Node)[]} */
const marked = (parts, toHead) =>
  parts.map(([text, strong]) => {
    if (!strong) return text;
    const leads = /^\d+\.\d+$/.test(text);
    const more = { class: "viz-to-head", title: `Choose head ${text}` };
    return el("b", {}, leads ? button(text, () => toHead(text), more) : text);
  });
