// Lines between tokens: queries on the left, keys on the right, any set of one layer's heads.

import { el, fit, css, number, count, isDark } from "../core/dom.js";
import { inkOn } from "../core/colors.js";
import { arrange, drawLines, drawNames, headColor, Kept, parts, ROW } from "./lines_drawing.js";
import { headsOf, mapName } from "../core/selection.js";
import { byToken, eachAt, FAINT, leastOf, linked, PAIRS, strongest } from "./strongest_lines.js";

const WHOLE = 512; // up to so many tokens a map comes in one exact piece
const TALLEST = 640;
const WIDEST = 760;
const MANY = 30000; // lines that take too long to be drawn at every step of a scroll
const QUICK = 1200; // of one token's, so many are drawn while the pointer moves from one to the next
const REST = 80; // milliseconds without a move, after which all of them are
const PAIR_NAMES = { all: "all", AA: "A → A", AB: "A → B", BA: "B → A", BB: "B → B" };

export class Lines {
  constructor(selection, say) {
    Object.assign(this, { selection, say, heads: new Set(), kept: new Kept(), version: 0, only: null, sets: [] });
    this.chips = el("div", { class: "viz-chips", role: "group", "aria-label": "Heads whose lines are drawn" });
    this.share = el("input", {
      type: "range",
      id: "viz-share",
      min: 1,
      max: 100,
      value: 90,
      oninput: () => this.#choose(),
    });
    this.shareText = el("output", { for: "viz-share" });
    this.pair = el(
      "select",
      { id: "viz-pair", onchange: () => this.#choose() },
      ...Object.entries(PAIR_NAMES).map(([value, text]) => el("option", { value }, text)),
    );
    this.pairLabel = el("label", { class: "viz-control" }, "From text → to text", this.pair);
    this.counted = el("p", { class: "viz-caption", id: "viz-lines-count", role: "status" });
    this.told = el("p", { class: "viz-caption viz-lines-told" });
    this.canvas = el("canvas", { class: "viz-lines-canvas", tabindex: "0", role: "img", ...this.#gestures() });
    this.spacer = el("div", {});
    this.scroll = el("div", { class: "viz-lines-scroll", onscroll: () => this.#scrolled() }, this.canvas, this.spacer);
    this.node = el(
      "details",
      { class: "viz-lines", ontoggle: () => this.#load() },
      el("summary", {}, "Lines between tokens"),
      el(
        "div",
        { class: "viz-controls" },
        this.chips,
        this.pairLabel,
        el("label", { class: "viz-control" }, "Strongest lines up to", this.share, this.shareText),
      ),
      this.counted,
      el(
        "div",
        { class: "viz-lines-columns" },
        el("span", {}, "Query (who looks)"),
        el("span", {}, "Key (who is looked at)"),
      ),
      this.scroll,
      this.told,
      el(
        "p",
        { class: "viz-caption" },
        "Width and opacity grow with the square root of the weight. Each head has its color. A line shows where a head looks, not why the model answers as it does.",
      ),
    );
    selection.on((changed) => this.#changed(changed));
    new ResizeObserver(() => this.draw()).observe(this.node);
  }

  async show(run) {
    this.run = run;
    this.#follow();
    this.pairLabel.hidden = !(run.segments.includes(0) && run.segments.includes(1));
    this.pair.value = "all";
    this.scroll.scrollTop = 0;
    await this.#load();
  }

  // Anything that changes comes here; a frame draws once, however often it was asked.
  draw() {
    if (this.frame || !this.run || !this.node.open) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.#paint();
    });
  }

  // The middle of a token on the screen, for tests and tools.
  box(side, at) {
    const page = this.canvas.getBoundingClientRect();
    const x = side === "query" ? this.plan.left / 2 : (this.plan.right + this.plan.width) / 2;
    return [page.left + x, page.top + at * ROW + ROW / 2 - this.plan.scroll];
  }

  // Many lines wait until the scroll has come to rest; the names move at once.
  #scrolled() {
    this.moving = this.sets.reduce((total, set) => total + set.weight.length, 0) > MANY;
    clearTimeout(this.rest);
    if (this.moving)
      this.rest = setTimeout(() => {
        this.moving = false;
        this.draw();
      }, 120);
    this.draw();
  }

  #changed(changed) {
    if (!this.run) return;
    // A set that the person chose here stays; one head alone, or the page's set, follows the page.
    if (changed.has("head") && (this.heads.size === 1 || [...this.heads].join() === this.followed)) this.#follow();
    const fetches =
      ["layer", "head", "hide", "renorm", "words"].some((name) => changed.has(name)) ||
      (this.long && changed.has("query"));
    if (fetches) this.#load();
    else this.draw();
  }

  #follow() {
    const { head } = this.selection;
    const heads = headsOf(head);
    this.heads = new Set(heads.length ? heads : [head]);
    this.followed = [...this.heads].join();
  }

  // Fetch the chosen heads' maps; nothing while the section is closed.
  async #load() {
    const { run, selection } = this;
    if (!run || !this.node.open) return;
    const index = run.shown(selection);
    const heads = [...this.heads].sort((a, b) => String(a).localeCompare(String(b), "en", { numeric: true }));
    const long = index.length > WHOLE;
    const asked = [run.key, selection.layer, heads, selection.kept, long ? selection.query : ""].join(":");
    this.asked = asked;
    this.#drawChips();
    try {
      const maps = await Promise.all(heads.map((head) => this.#map(head, index, long)));
      if (this.asked !== asked) return;
      if (index.length !== this.index?.length) this.#isolate(null);
      Object.assign(this, { index, long, maps, loaded: asked });
      this.#choose();
    } catch (fault) {
      if (this.asked === asked) this.say(fault.message);
    }
  }

  // One head's weights from `rows` (places among the shown tokens) to every shown token.
  async #map(head, index, long) {
    const { run, selection } = this;
    const { layer, hide, renorm, words, query } = selection;
    const part = { layer, head, hide, renorm, words, query };
    const every = index.map((_, at) => at);
    if (!index.length) return { head, rows: [], values: new Float32Array() };
    if (!long) return { head, rows: every, values: (await run.map(part, [0, index.length], [0, index.length])).values };
    const at = index.places[query];
    return { head, rows: at < 0 ? [] : [at], values: at < 0 ? new Float32Array() : (await run.shownRow(part)).values };
  }

  // Choose the lines to be drawn, and say how many they are.
  #choose() {
    this.shareText.textContent = `${this.share.value} % of each query's weight`;
    if (!this.maps || this.loaded !== this.asked) return;
    const segments = this.index.map(({ tokens }) => this.run.segments[tokens[0]]);
    const pair = PAIRS[this.pair.value];
    this.sets = this.maps.map(({ head, rows, values }) => {
      const sides = { rows: rows.map((at) => segments[at]), keys: segments };
      const found = strongest(values, rows.length, segments.length, this.share.value / 100, pair, sides);
      const query = found.query.map((row) => rows[row]);
      const by = { query: byToken(query, segments.length), key: byToken(found.key, segments.length) };
      return { ...found, head, query, by };
    });
    this.version++;
    this.#count();
    if (this.only) this.told.textContent = this.#sentence(this.only);
    this.draw();
  }

  #count() {
    const sum = (measure) => this.sets.reduce((total, set) => total + measure(set), 0);
    const faint = sum((set) => set.faint);
    const drawn = sum((set) => set.weight.length);
    const said = [`${count(drawn)} ${drawn === 1 ? "line" : "lines"} drawn of ${count(sum((set) => set.cells))}.`];
    if (faint) said.push(`${count(faint)} more are too faint to be seen (weight below ${FAINT}).`);
    if (this.long) said.push(`With more than ${WHOLE} tokens, lines are drawn for the chosen query only.`);
    const { hide, renorm, words } = this.selection;
    if (hide)
      said.push(
        `Special tokens are hidden; shares are of the weight on the tokens shown${renorm ? ", renormalized to sum to 1" : ""}.`,
      );
    if (words) said.push("Sub-words are merged: the mean over a word's queries, the sum over its keys.");
    if (!this.heads.size) said.push("Choose a head to see its lines.");
    this.counted.textContent = said.join(" ");
  }

  #paint() {
    if (!this.index || this.loaded !== this.asked || !this.node.clientWidth) return;
    if (this.dark !== isDark()) this.#drawChips();
    const width = Math.min(WIDEST, this.node.clientWidth - 16);
    const height = Math.max(ROW, Math.min(TALLEST, this.index.length * ROW));
    const names = this.index.map(({ name }) => name);
    const laid = `${this.run.key}:${this.selection.kept}:${width}:${height}`;
    if (this.laid !== laid) {
      this.plan = { ...arrange(names, width, this.#starts()), height };
      this.context = fit(this.canvas, width, height);
      this.spacer.style.height = `${this.index.length * ROW - height}px`;
      this.node.style.setProperty("--viz-lines-width", `${width}px`);
      this.laid = laid;
    }
    this.#reveal(this.index.places[this.selection.query]);
    this.plan.scroll = this.scroll.scrollTop;
    this.context.clearRect(0, 0, width, height);
    const [query, key] = [this.index.places[this.selection.query], this.index.places[this.selection.key]];
    if (this.only) drawLines(this.context, this.plan, this.sets, this.only, this.least);
    else if (!this.moving)
      this.kept.copy(
        this.context,
        this.plan,
        this.sets,
        `${laid}:${this.loaded}:${this.version}:${this.plan.scroll}:${isDark()}`,
      );
    const colors = { query: css("--viz-mark", this.node), key: css("--viz-mark-key", this.node) };
    drawNames(this.context, this.plan, { query, key, colors }, this.only && linked(this.sets, this.only));
    this.canvas.setAttribute(
      "aria-label",
      `Lines between tokens. ${this.#sentence({ side: "query", at: query })} Arrow keys move the query.`,
    );
    this.node.dataset.painted = `${this.loaded}:${this.version}`;
  }

  // Bring the chosen query into sight, once for each choice.
  #reveal(at) {
    const choice = `${this.run.key}:${this.selection.query}`;
    if (this.revealed === choice || at < 0) return;
    this.revealed = choice;
    const {
      scroll,
      plan: { height },
    } = this;
    if (at * ROW < scroll.scrollTop || (at + 1) * ROW > scroll.scrollTop + height)
      scroll.scrollTop = at * ROW - height / 2;
  }

  // The first row of each of two texts.
  #starts() {
    const texts = this.index.map(({ tokens }) => this.run.segments[tokens[0]]);
    const [a, b] = [texts.indexOf(0), texts.indexOf(1)];
    return a < 0 || b < 0 ? [] : [a, b];
  }

  // How many lines one token has, and the strongest of them.
  #sentence(only) {
    if (only.at < 0) return "The chosen query is hidden.";
    const name = (at) => `${this.index[at].tokens[0]} “${this.index[at].name}”`;
    if (this.long && only.side === "query" && this.index.places[this.selection.query] !== only.at)
      return `Query ${name(only.at)}: click to draw its lines.`;
    let [lines, best, other, head] = [0, 0, null, null];
    const far = only.side === "query" ? "key" : "query";
    for (const set of this.sets)
      eachAt(set, only, (i) => {
        lines++;
        if (set.weight[i] > best) [best, other, head] = [set.weight[i], set[far][i], set.head];
      });
    const most = lines
      ? `, the strongest ${far === "key" ? "to" : "from"} ${far} ${name(other)} (${typeof head === "number" ? "head " : ""}${mapName(this.selection.layer, head)}: ${number(best)})`
      : "";
    return `${only.side === "query" ? "Query" : "Key"} ${name(only.at)}: ${lines} ${lines === 1 ? "line" : "lines"}${most}.`;
  }

  #isolate(only) {
    if (this.only?.side === only?.side && this.only?.at === only?.at) return;
    this.only = only;
    this.#hurry();
    this.told.textContent = only ? this.#sentence(only) : "";
    if (only) this.say(this.told.textContent);
    this.draw();
  }

  // Of many lines the strongest first, all as soon as the pointer rests.
  #hurry() {
    this.least = this.only ? leastOf(this.sets, this.only, QUICK) : 0;
    clearTimeout(this.resting);
    if (this.least)
      this.resting = setTimeout(() => {
        this.least = 0;
        this.draw();
      }, REST);
  }

  #gestures() {
    return {
      onpointermove: (event) => this.#isolate(this.#place(event)),
      onpointerleave: (event) => event.pointerType === "touch" || this.#isolate(null),
      onblur: () => this.#isolate(null),
      onfocus: () => this.canvas.matches(":focus-visible") && this.#lookAt(this.selection.query),
      onclick: (event) => this.#pick(this.#place(event)),
      onkeydown: (event) => this.#key(event),
    };
  }

  #pick(place) {
    if (place) this.selection.set({ [place.side]: this.index[place.at].tokens[0] });
    this.#isolate(place);
  }

  // The token under the pointer, or null between the columns.
  #place(event) {
    if (!this.plan || this.loaded !== this.asked) return null;
    const page = this.canvas.getBoundingClientRect();
    const [x, at] = [event.clientX - page.left, Math.floor((event.clientY - page.top + this.plan.scroll) / ROW)];
    if (at < 0 || at >= this.index.length || (x > this.plan.left && x < this.plan.right)) return null;
    return { side: x <= this.plan.left ? "query" : "key", at };
  }

  #key(event) {
    const last = (this.index?.length ?? 0) - 1;
    const now = this.index?.places[this.selection.query] ?? 0;
    const moves = { ArrowUp: now - 1, ArrowLeft: now - 1, ArrowDown: now + 1, ArrowRight: now + 1, Home: 0, End: last };
    if (event.key === "Escape") return this.#isolate(null);
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(last, moves[event.key]));
    this.selection.set({ query: this.index[at].tokens[0] });
    this.#lookAt(this.index[at].tokens[0]);
  }

  #lookAt(token) {
    const at = this.index?.places[token] ?? -1;
    if (at < 0) return;
    const top = this.scroll.scrollTop;
    this.scroll.scrollTop = Math.max((at + 1) * ROW - this.plan.height, Math.min(top, at * ROW));
    this.#isolate({ side: "query", at });
  }

  #drawChips() {
    this.dark = isDark();
    const listed = [...new Set([...Array(this.run.nHeads).keys(), ...this.heads])];
    const set = (heads) => {
      this.heads = new Set(heads);
      this.#load();
    };
    const toggle = (head) =>
      set(this.heads.has(head) ? [...this.heads].filter((other) => other !== head) : [...this.heads, head]);
    const chip = (head) => {
      const node = el(
        "button",
        {
          type: "button",
          class: "viz-chip",
          "data-line-head": head,
          "aria-pressed": String(this.heads.has(head)),
          title: `Head ${this.selection.layer}.${head}`,
          onclick: () => toggle(head),
        },
        String(head),
      );
      node.style.setProperty("--viz-head", headColor(head));
      node.style.setProperty("--viz-head-ink", inkOn(parts(headColor(head))));
      return node;
    };
    const several = (text, heads) =>
      el("button", { type: "button", class: "viz-small", "data-line-heads": text, onclick: () => set(heads) }, text);
    const held = this.chips.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.chips.replaceChildren(
      `Heads of layer ${this.selection.layer}`,
      ...listed.map(chip),
      several("all", Array(this.run.nHeads).keys()),
      several("none", []),
    );
    [...this.chips.children].find((node) => node.textContent === held)?.focus();
  }
}
