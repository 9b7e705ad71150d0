// The words or the picture themselves, shaded by where one token looks, or by who looks at it.

import { el, number } from "./dom.js";
import { HeadsStrip } from "./heads_strip.js";
import { Picture } from "./picture.js";
import { Player } from "./player.js";
import { COLUMN, gradient, MEASURES, scaleOf, scaleText } from "./shading.js";
import { Words } from "./words.js";

const WHOLE = 512; // up to so many tokens the whole map is here, and any row or column at once
const PATIENCE = 60; // milliseconds the pointer rests before a row is asked for
const TOLD = 3;
const PARTS = 16;

export class Source {
  constructor(selection, say) {
    Object.assign(this, { selection, say, pointed: null, direction: "looks" });
    const acts = { preview: (unit) => this.#preview(unit), choose: (unit) => this.#choose(unit) };
    this.words = new Words({ label: "The tokens. Arrow keys move, Enter chooses.", ...acts });
    this.picture = new Picture(acts);
    this.strip = new HeadsStrip(selection);
    this.player = new Player(selection, () => this.loading);
    this.title = el("h3", {});
    this.measure = el("select", { id: "viz-shade-by", onchange: () => this.#turn(this.direction) },
      ...Object.entries(MEASURES).map(([value, { title }]) => el("option", { value }, title)));
    this.told = el("p", { class: "viz-source-told", role: "status" });
    this.bar = el("i", { class: "viz-stat-bar" });
    this.low = el("span", {});
    this.high = el("span", {});
    this.scaleLine = el("p", { class: "viz-caption viz-stat-scale" }, this.low, this.bar, this.high);
    this.says = el("p", { class: "viz-caption viz-says" });
    this.body = el("div", { class: "viz-source-body" });
    this.node = el("section", { class: "viz-source", "aria-label": "The words or the picture in place" },
      this.title, this.#controls(), this.player.node, this.body, this.told, this.scaleLine, this.says, this.strip.node);
    selection.on(() => this.run && this.load());
    new ResizeObserver(() => this.run?.grid && this.row && this.draw()).observe(this.node);
  }

  async show(run) {
    Object.assign(this, { run, image: null, units: null, row: null, asked: null, pointed: null });
    this.strip.show(run, null);
    const image = run.grid ? await picture(run.url("picture.png")) : null;
    if (this.run !== run) return;
    this.image = image;
    this.measure.querySelector("[value=relevance]").disabled = !run.tasks.length;
    if (!run.tasks.length && this.measure.value === "relevance") this.measure.value = "weight";
    this.body.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.body.replaceChildren(...(run.grid ? [this.picture.node] : [this.words.text, this.words.parts]));
    this.player.show(run);
    this.strip.show(run, image);
    await this.load();
  }

  load() {
    this.loading = this.#load();
    return this.loading;
  }

  // Everything again, from what is known already.
  draw() {
    if (!this.row) return;
    const { run, selection, units } = this;
    if (run.grid) this.picture.layout();
    else this.words.show(units, run.segments, this.chosen);
    this.title.textContent = this.#heading(this.chosen);
    this.says.textContent = this.#kind().says;
    this.view.mark(...(run.grid ? [this.#unitOf(selection.query), this.#unitOf(selection.key), this.chosen] : [this.chosen]));
    this.#paint(this.row, this.chosen, (unit) => this.#cell(unit));
    this.told.textContent = this.#sentence(this.chosen, this.row);
    this.strip.draw();
  }

  get view() {
    return this.run.grid ? this.picture : this.words;
  }

  // The middle of a patch on the screen, for tests and tools.
  box(token) {
    return this.picture.box(this.#unitOf(token));
  }

  async #load() {
    const { run, selection, direction } = this;
    const measure = this.measure.value;
    this.#list();
    const token = direction === "who" ? selection.key : selection.query;
    const asked = [run.key, measure, direction, selection.kept, selection.name, token].join(":");
    if (this.asked !== asked) this.stop?.abort();
    this.asked = asked;
    this.strip.load().catch((fault) => this.say(fault.message));
    try {
      await this.#fetch(asked, token, measure);
    } catch (fault) {
      if (this.asked === asked) this.#fail(fault);
    }
  }

  async #fetch(asked, token, measure) {
    const { run, selection } = this;
    const { length } = this.units;
    const whole = measure === "weight" && length && length <= WHOLE ? await run.map(selection, [0, length], [0, length]) : null;
    if (this.asked !== asked) return;
    this.whole = whole?.values;
    const [{ values, answer }, parts] = await this.#wait(Promise.all([this.#values(token), this.#parts(token)]));
    if (this.asked !== asked) return;
    Object.assign(this, { row: values, answer, parts, token, chosen: this.#unitOf(token) });
    this.draw();
    this.node.dataset.painted = asked;
  }

  // What takes a while is announced; nothing moves when it comes.
  async #wait(values) {
    const timer = setTimeout(() => { this.told.textContent = "Computing …"; }, PATIENCE);
    return values.finally(() => clearTimeout(timer));
  }

  // A number for each unit; at once where the whole map is here.
  async #values(token) {
    const { run, selection } = this;
    const unit = this.#unitOf(token);
    if (this.whole && unit >= 0) return { values: this.#fromWhole(unit) };
    if (this.measure.value !== "weight") return this.#measured(token);
    if (this.direction === "looks") return run.shownRow({ ...selection, query: token });
    this.stop = new AbortController();
    return run.shownColumn({ ...selection, key: token }, this.stop.signal);
  }

  async #measured(query) {
    this.stop = new AbortController();
    const { values, answer } = await this.run.measured(this.measure.value, { ...this.selection, query }, this.stop.signal);
    return { answer, values: Float32Array.from(this.units, ({ tokens }) => values[tokens[0]]) };
  }

  // Where sub-words are merged, the numbers of those of the chosen word, for the chips to tell.
  async #parts(token) {
    const { run, selection, direction } = this;
    if (!this.#merges) return null;
    const single = { ...selection, words: false };
    const { tokens } = this.units[this.#unitOf(token)] ?? { tokens: [token] };
    const each = await Promise.all(tokens.map((one) => (direction === "who" ? run.shownColumn({ ...single, key: one }) : run.shownRow({ ...single, query: one }))));
    return tokens.map((one, at) => ({ token: one, values: each[at].values }));
  }

  #fromWhole(unit) {
    const n = this.units.length;
    if (this.direction === "looks") return this.whole.subarray(unit * n, (unit + 1) * n);
    return Float32Array.from({ length: n }, (_, query) => this.whole[query * n + unit]);
  }

  // A row or column shown for as long as the pointer or the focus rests on a token.
  #preview(unit) {
    if (unit === this.pointed) return;
    this.pointed = unit;
    clearTimeout(this.resting);
    cancelAnimationFrame(this.frame);
    const show = (values) => this.pointed === unit && this.#show(unit, values);
    const fail = (fault) => { if (this.pointed === unit) this.told.textContent = fault.message; };
    if (unit === null || this.whole) this.frame = requestAnimationFrame(() => show(unit === null ? this.row : this.#fromWhole(unit)));
    else if (this.measure.value === "value" || (this.measure.value === "weight" && this.direction === "looks")) {
      this.resting = setTimeout(() => this.#values(this.units[unit].tokens[0]).then(({ values }) => show(values)).catch(fail), PATIENCE);
    } else this.told.textContent = `${this.#name(unit, this.direction === "who" ? "key" : "query")}: click to compute it.`;
  }

  #show(unit, values) {
    if (!values) return;
    this.view.point(unit);
    this.#paint(values, unit ?? this.chosen, unit === null ? (one) => this.#cell(one) : undefined);
    this.told.textContent = this.#sentence(unit ?? this.chosen, values);
    this.node.dataset.previewed = unit ?? "";
  }

  #paint(values, unit, titles) {
    const { run, selection } = this;
    const shared = ["layer", "all"].includes(selection.scale) ? run.largest(selection.scale, selection.layer) : null;
    const scale = scaleOf(this.measure.value, selection.scale, values, unit, shared);
    const { unit: name } = this.#kind();
    const text = scaleText(scale, name, values);
    const what = this.direction === "who" ? { sum: "weight", of: "column" } : { sum: this.measure.value === "weight" ? "weight" : "measure", of: "row" };
    if (run.grid) this.picture.paint(values, scale, { ...what, unit: name }, titles);
    else this.words.paint(values, scale, titles);
    this.low.textContent = run.grid ? "" : number(scale.low);
    this.bar.hidden = Boolean(run.grid);
    this.bar.style.background = gradient("right", scale);
    this.high.textContent = run.grid ? `Colors: ${text}` : `${number(scale.high)} ${text}`;
  }

  #choose(unit) {
    this.selection.set({ [this.direction === "who" ? "key" : "query"]: this.units[unit].tokens[0] });
  }

  #turn(direction) {
    if (this.measure.value !== "weight") direction = "looks";
    this.direction = direction;
    for (const button of this.switch.children) button.setAttribute("aria-pressed", String(button.dataset.direction === direction));
    const only = this.measure.value !== "weight";
    this.switch.lastChild.disabled = only;
    this.switch.lastChild.title = only ? "Columns are there for attention weights only" : "";
    if (this.run) this.load();
  }

  // Other measures are a token's own: their sub-words stay apart.
  get #merges() {
    return this.selection.words && this.measure.value === "weight";
  }

  #list() {
    const { run, selection } = this;
    const units = run.shown({ hide: selection.hide, words: this.#merges });
    if (this.units === units) return;
    this.units = units;
    if (run.grid) this.picture.show(run, this.image, units);
  }

  #unitOf(token) {
    return this.units.places[token];
  }

  #kind() {
    if (this.direction === "who") return COLUMN;
    const kind = MEASURES[this.measure.value];
    return this.measure.value === "relevance" ? { ...kind, says: `Of the answer ${this.answer}. ${kind.says}` } : kind;
  }

  #name(unit, side) {
    const { name, tokens } = this.units[unit] ?? { name: this.run.tokens[this.token], tokens: [this.token] };
    return `${side} ${tokens.length > 1 ? `${tokens[0]}–${tokens.at(-1)}` : tokens[0]} “${name}”`;
  }

  #heading(unit) {
    const { layer, name } = this.selection;
    if (this.direction === "who") return `Who looks at ${this.#name(unit, "key")} (${name})`;
    const query = this.#name(unit, "query");
    return {
      weight: `Where ${query} looks (${name})`,
      value: `What each key adds to ${query} (${name})`,
      rollout: `Rollout of ${query}, up to layer ${layer}`,
      relevance: `Relevance read at ${query}, up to layer ${layer}`,
    }[this.measure.value];
  }

  // The number of one chip, with both of its ends.
  #cell(unit) {
    const [query, key] = this.direction === "who" ? [unit, this.chosen] : [this.chosen, unit];
    return `${this.selection.name}  ${this.#name(query, "query")} → ${this.#name(key, "key")}: ${number(this.row[unit])}${this.#partsOf(unit)}`;
  }

  // The exact numbers of the sub-words that meet in a chip, where one of the two words has several.
  #partsOf(unit) {
    const { run, parts, selection } = this;
    const { tokens } = this.units[unit];
    if (!parts || tokens.length * parts.length === 1) return "";
    const { places } = run.shown({ hide: selection.hide, words: false });
    const pair = (one, other) => (this.direction === "who" ? `${other} → ${one}` : `${one} → ${other}`);
    const name = (token) => `${token} “${run.tokens[token]}”`;
    return "\n" + parts.flatMap(({ token, values }) => tokens.map((other) => `${pair(name(token), name(other))}: ${number(values[places[other]])}`)).slice(0, PARTS).join("\n");
  }

  // The strongest of what is shown.
  #sentence(unit, values) {
    const who = this.direction === "who";
    const order = [...values.keys()].filter((at) => values[at] > 0).sort((a, b) => values[b] - values[a]).slice(0, TOLD);
    const listed = order.map((at) => `${this.#name(at, who ? "query" : "key")} ${number(values[at])}`).join(", ");
    const verb = who ? "is looked at most by" : this.measure.value === "weight" ? "looks most at" : "has most from";
    return `${this.#name(unit, who ? "key" : "query")} ${verb} ${listed || "nothing"}`;
  }

  #fail(fault) {
    this.row = null;
    this.view.paint(null);
    this.told.textContent = fault.message;
  }

  #controls() {
    const turn = (direction, text) => el("button", { type: "button", class: "viz-small", "data-direction": direction, "aria-pressed": String(direction === this.direction), onclick: () => this.#turn(direction) }, text);
    this.switch = el("span", { class: "viz-switch", role: "group", "aria-label": "Shaded by" }, turn("looks", "where it looks"), turn("who", "who looks at it"));
    return el("div", { class: "viz-controls" }, this.switch, el("label", { class: "viz-control" }, "Shade by", this.measure));
  }
}

// The picture, or null where the run kept none: its patches are shown all the same.
async function picture(url) {
  const image = new Image();
  image.src = url;
  return image.decode().then(() => image, () => null);
}
