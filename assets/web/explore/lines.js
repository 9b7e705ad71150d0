// Lines between tokens: queries on the left, keys on the right, any set of one layer's heads.

import { caption, context2d, control, controls, css, el, fit, isDark, onWidth, options, slider } from "../core/dom.js";
import { canvasPng } from "../views/canvas_png.js";
import { fullHeight, fullScreen } from "../views/full_screen.js";
import { STEPS } from "../views/one_stop.js";
import { saveRow } from "../views/save_row.js";
import { headsOf } from "../core/selection_address.js";
import { AllLines, arrange, drawLines, drawNames, headColor, ROW } from "./lines_drawing.js";
import { byToken, countSentence, leastOf, linked, PAIRS, strongest, tokenSentence } from "./strongest_lines.js";
import { mapPart, WHOLE } from "./tiles.js";
import { numbered } from "../core/token_names.js";
import { View } from "../core/view.js";

/** @typedef {{ head: Head, rows: number[], values: Float32Array }} HeadMap weights from `rows`, places among the
 *   shown tokens, to every shown token */

const TALLEST = 640;
const WIDEST = 760;
const MANY = 30000; // lines that take too long to be drawn at every step of a scroll
const STILL = 120; // milliseconds without a scroll, after which they are
const QUICK = 1200; // drawn of one token's lines while the pointer moves
const REST = 80; // milliseconds without a move, after which all of them are
const PAIR_NAMES = { all: "all", AA: "A → A", AB: "A → B", BA: "B → A", BB: "B → B" };
const ABOUT =
  "The lines are of the chosen heads. Width and opacity grow with the square root of the weight. Each head has its own color. A line shows where a head " +
  "looks, not why the model answers as it does.";
const RELOADING = ["layer", "head", "hide", "renorm", "words"];

export class LinesView extends View {
  #latest;
  #scrolling = this.latest();
  #resting = this.latest();
  #all = new AllLines();
  #asked = ""; // which maps
  #loaded = "";
  #long = false;
  #laid = "";
  #moving = false;
  #revealed = "";
  #version = 0;
  #frame = 0;
  #least = 0;
  /** @type {Token | null} */ #only = null;
  /** @type {LineSet[]} */ #sets = [];
  /** @type {HeadMap[]} */ maps = [];
  /** @type {Shown} */ index = Object.assign([], { places: new Int32Array() });
  plan = arrange([], 0, 0, []);
  share = slider("viz-share", "Strongest lines up to", 90, "% of each query's weight", () => this.#choose());
  pair = el("select", { id: "viz-pair", onchange: () => this.#choose() }, ...options(Object.entries(PAIR_NAMES)));
  pairs = control("From text → to text", this.pair);
  heads = el("span", { class: "viz-lines-heads" }); // each in its color
  counted = el("p", { class: "viz-caption", id: "viz-lines-count", role: "status" });
  told = el("p", { class: "viz-caption viz-lines-told" });
  canvas = el("canvas", {
    class: "viz-lines-canvas",
    tabindex: "0",
    role: "img",
    onpointermove: (event) => this.#isolate(this.#place(event)),
    onpointerleave: (event) => event.pointerType === "touch" || this.#isolate(null),
    onblur: () => this.#isolate(null),
    onfocus: ({ currentTarget }) => currentTarget.matches(":focus-visible") && this.#lookAt(this.selection.query),
    onclick: (event) => this.#pick(this.#place(event)),
    onkeydown: (event) => this.#key(event),
  });
  context = context2d(this.canvas);
  spacer = el("div");
  scroll = el("div", { class: "viz-lines-scroll", onscroll: () => this.#scrolled() }, this.canvas, this.spacer);

  constructor(/** @type {PageSelection} */ selection, /** @type {(sentence: string) => void} */ say) {
    super(selection);
    this.say = say;
    this.#latest = this.latest(say);
    const titles = ["Query (who looks)", "Key (who is looked at)"].map((title) => el("span", {}, title));
    this.node = el(
      "details",
      { class: "viz-lines", ontoggle: () => this.#load() },
      ...[el("summary", {}, "Lines between tokens"), controls(this.heads, this.pairs, this.share.node), this.counted],
      ...[el("div", { class: "viz-lines-columns" }, ...titles), this.scroll, this.told, caption(ABOUT)],
      saveRow("Save these lines", [["PNG", "The visible lines as a picture", () => this.#picture()]]),
    );
    const open = fullScreen(this.node, () => {
      this.node.open = true;
      this.draw();
    });
    this.node.children[0].after(open);
    selection.on((changed) => this.#changed(changed), this.signal);
    onWidth(this.node, () => this.draw());
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    this.pairs.hidden = !(run.segments.includes(0) && run.segments.includes(1));
    this.pair.value = "all";
    this.scroll.scrollTop = 0;
    return this.#load();
  }

  // Anything that changes comes here; a frame draws once, however often it was asked.
  draw() {
    if (this.#frame || !this.run || !this.node.open) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.run && this.#ready && this.node.clientWidth) this.#paint(this.run);
    });
  }

  // Whether the lines are of the maps that were asked for last.
  get #ready() {
    return this.#loaded !== "" && this.#loaded === this.#asked;
  }

  // Many lines wait until the scroll has come to rest; the names move at once.
  #scrolled() {
    this.#moving = this.#sets.reduce((total, { weight }) => total + weight.length, 0) > MANY;
    const rested = () => {
      this.#moving = false;
      this.draw();
    };
    if (this.#moving) this.#scrolling.run(rested, { pause: STILL });
    this.draw();
  }

  #changed(/** @type {Set<string>} */ changed) {
    if (!this.run) return;
    if (RELOADING.some((name) => changed.has(name)) || (this.#long && changed.has("query"))) this.#load();
    else this.draw();
  }

  // Fetch the chosen heads' maps; nothing while the section is closed.
  async #load() {
    const { selection } = this;
    const run = this.run;
    if (!run || !this.node.open) return;
    const index = run.shown(selection);
    const chosen = headsOf(selection.head);
    const heads = chosen.length ? chosen : [selection.head];
    const long = index.length > WHOLE;
    const asked = [run.key, selection.layer, heads, selection.kept, long ? selection.query : ""].join(":");
    this.#asked = asked;
    await this.#latest.run(async (fresh) => {
      this.maps = await fresh(Promise.all(heads.map((head) => headMap(run, { ...selection, head }, index))));
      if (index.length !== this.index.length) this.#isolate(null);
      [this.index, this.#long, this.#loaded] = [index, long, asked];
      this.#choose();
    });
  }

  #picture() {
    return canvasPng(this.canvas, `${this.run?.model}-${this.selection.name}-lines`);
  }

  // Choose the lines to be drawn, and say how many they are.
  #choose() {
    const { index } = this;
    const [run, share, pair] = [this.run, Number(this.share.input.value) / 100, PAIRS[this.pair.value]];
    if (!run || !this.#ready) return;
    const keys = index.map(({ tokens }) => run.segments[tokens[0]]);
    this.#sets = this.maps.map(({ head, rows, values }) => {
      const found = strongest(values, share, pair, { rows: rows.map((at) => keys[at]), keys });
      const query = found.query.map((row) => rows[row]);
      const by = { query: byToken(query, keys.length), key: byToken(found.key, keys.length) };
      return { ...found, head, query, by };
    });
    this.#version++;
    this.counted.textContent = countSentence(this.#sets, this.selection, this.#long);
    if (this.#only) this.told.textContent = this.#sentence(this.#only);
    this.draw();
  }

  #paint(/** @type {Run} */ run) {
    const { index, selection } = this;
    this.#layout(run);
    const named = this.maps.map(({ head }) => el("b", { style: `color: ${headColor(head)}` }, String(head)));
    this.heads.replaceChildren(
      `Layer ${selection.layer}, head `,
      ...named.flatMap((one, at) => (at ? [", ", one] : one)),
    );
    const [query, key] = [index.places[selection.query], index.places[selection.key]];
    this.#reveal(`${run.key}:${selection.query}`, query);
    this.plan.scroll = this.scroll.scrollTop;
    this.context.clearRect(0, 0, this.plan.width, this.plan.height);
    const all = `${this.#laid}:${this.#loaded}:${this.#version}:${this.plan.scroll}:${isDark()}`;
    if (this.#only) drawLines(this.context, this.plan, this.#sets, this.#only, this.#least);
    else if (!this.#moving) this.#all.copy(this.context, this.plan, this.#sets, all);
    const colors = { query: css("--viz-mark", this.node), key: css("--viz-mark-key", this.node) };
    drawNames(this.context, this.plan, { query, key, colors }, this.#only && linked(this.#sets, this.#only));
    const said = this.#sentence({ side: "query", at: query });
    this.canvas.setAttribute("aria-label", `Lines between tokens. ${said} Arrow keys move the query.`);
    this.painted(`${this.#loaded}:${this.#version}`);
  }

  #layout(/** @type {Run} */ run) {
    const { index } = this;
    const alone = fullHeight(this.scroll);
    const width = Math.min(alone ? Infinity : WIDEST, this.scroll.offsetWidth - 16);
    const height = Math.max(ROW, Math.min(alone || TALLEST, index.length * ROW));
    const laid = `${run.key}:${this.selection.kept}:${width}:${height}`;
    if (this.#laid === laid) return;
    const texts = index.map(({ tokens }) => run.segments[tokens[0]]);
    const starts = [texts.indexOf(0), texts.indexOf(1)]; // the first row of each of two texts
    const names = index.map(({ name }) => name);
    this.plan = arrange(names, width, height, starts.includes(-1) ? [] : starts);
    this.context = fit(this.canvas, width, height);
    this.spacer.style.height = `${index.length * ROW - height}px`;
    this.node.style.setProperty("--viz-lines-width", `${width}px`);
    this.#laid = laid;
  }

  // Bring the chosen query into sight, once for each choice.
  #reveal(/** @type {string} */ choice, /** @type {number} */ at) {
    const { scroll, plan } = this;
    if (this.#revealed === choice || at < 0) return;
    this.#revealed = choice;
    const outside = at * ROW < scroll.scrollTop || (at + 1) * ROW > scroll.scrollTop + plan.height;
    if (outside) scroll.scrollTop = at * ROW - plan.height / 2;
  }

  #sentence(/** @type {Token} */ only) {
    const { index, selection } = this;
    if (only.at < 0) return "The chosen query is hidden.";
    const { tokens, name } = index[only.at];
    if (this.#long && only.side === "query" && index.places[selection.query] !== only.at)
      return `Query ${numbered(tokens[0], name)}: click to draw its lines.`;
    return tokenSentence(this.#sets, only, selection.layer, index);
  }

  // Draw the strongest lines first, and all once the pointer rests.
  #isolate(/** @type {Token | null} */ only) {
    if (this.#only?.side === only?.side && this.#only?.at === only?.at) return;
    this.#only = only;
    this.#least = only ? leastOf(this.#sets, only, QUICK) : 0;
    const rested = () => {
      this.#least = 0;
      this.draw();
    };
    if (this.#least) this.#resting.run(rested, { pause: REST });
    else this.#resting.stop();
    this.told.textContent = only ? this.#sentence(only) : "";
    if (only) this.say(this.told.textContent);
    this.draw();
  }

  #pick(/** @type {Token | null} */ place) {
    if (place) this.selection.set({ [place.side]: this.index[place.at].tokens[0] });
    this.#isolate(place);
  }

  /** The token under the pointer, or null between the columns. @returns {Token | null} */
  #place(/** @type {MouseEvent} */ event) {
    const { plan, index } = this;
    if (!this.#laid || !this.#ready) return null;
    const page = this.canvas.getBoundingClientRect();
    const [x, at] = [event.clientX - page.left, Math.floor((event.clientY - page.top + plan.scroll) / ROW)];
    if (at < 0 || at >= index.length || (x > plan.left && x < plan.right)) return null;
    return { side: x <= plan.left ? "query" : "key", at };
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const { index } = this;
    const last = index.length - 1;
    const now = index.places[this.selection.query] ?? 0;
    const by = STEPS[event.key];
    if (event.key === "Escape") return this.#isolate(null);
    if (!by || last < 0) return;
    event.preventDefault();
    const [query] = index[Math.max(0, Math.min(last, now + by))].tokens;
    this.selection.set({ query });
    this.#lookAt(query);
  }

  #lookAt(/** @type {number} */ token) {
    const at = this.index.places[token] ?? -1;
    if (at < 0) return;
    const top = this.scroll.scrollTop;
    this.scroll.scrollTop = Math.max((at + 1) * ROW - this.plan.height, Math.min(top, at * ROW));
    this.#isolate({ side: "query", at });
  }
}

/** One head's weights: of all queries, or only the chosen one if there are many.
 * @type {(run: Run, view: MapView & { query: number }, index: Shown) => Promise<HeadMap>} */
async function headMap(run, view, index) {
  const { head, query } = view;
  const at = index.places[query];
  if (index.length && index.length <= WHOLE)
    return { head, rows: [...index.keys()], values: (await mapPart(run, view)).values };
  if (!index.length || at < 0) return { head, rows: [], values: new Float32Array() };
  return { head, rows: [at], values: (await run.shownRow(view)).values };
}
