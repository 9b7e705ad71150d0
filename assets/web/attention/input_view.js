// The words or the picture themselves, shaded by where one token looks, or by who looks at it.

import { el, number, painted } from "../core/dom.js";
import { HeadsStrip } from "./heads_strip.js";
import { Picture } from "../views/picture_overlay.js";
import { Player } from "../views/layer_player.js";
import { Reading } from "./row_view.js";
import { gradient, MEASURES, scaleOf, scaleText } from "../views/shading.js";
import { Words } from "../views/token_strip.js";

const WHOLE = 512; // up to so many tokens the whole map is here, and any row or column at once
const PATIENCE = 60; // milliseconds the pointer rests before a row is asked for

export class Source {
  constructor(selection, say) {
    Object.assign(this, { selection, say, pointed: null, direction: "looks", reading: null });
    const acts = { preview: (unit) => this.#preview(unit), choose: (unit) => this.#choose(unit) };
    this.words = new Words({ label: "The tokens. Arrow keys move, Enter chooses.", ...acts });
    this.picture = new Picture(acts);
    this.strip = new HeadsStrip(selection);
    this.player = new Player(selection, () => this.loading);
    this.title = el("h3", {});
    this.measure = el(
      "select",
      { id: "viz-shade-by", onchange: () => this.#turn(this.direction) },
      ...Object.entries(MEASURES).map(([value, { title }]) => el("option", { value }, title)),
    );
    this.told = el("p", { class: "viz-source-told", role: "status" });
    this.bar = el("i", { class: "viz-stat-bar" });
    this.low = el("span", {});
    this.high = el("span", {});
    this.scaleLine = el("p", { class: "viz-caption viz-stat-scale" }, this.low, this.bar, this.high);
    this.says = el("p", { class: "viz-caption viz-says" });
    this.body = el("div", { class: "viz-source-body" });
    this.node = el(
      "section",
      { class: "viz-source", "aria-label": "The words or the picture in place" },
      this.title,
      this.#controls(),
      this.player.node,
      this.words.parts,
      this.body,
      this.told,
      this.scaleLine,
      this.says,
      this.strip.node,
    );
    selection.on(() => this.run && this.load());
    new ResizeObserver(() => (this.run?.grid ? this.row && this.draw() : this.words.reveal())).observe(this.node);
  }

  async show(run) {
    Object.assign(this, { run, image: null, reading: null, wanted: null, pointed: null });
    this.node.classList.add("viz-behind");
    this.strip.show(run, null);
    const image = run.grid ? await picture(run.url("picture.png")) : null;
    if (this.run !== run) return;
    this.image = image;
    this.measure.querySelector("[value=relevance]").disabled = !run.tasks.length;
    if (!run.tasks.length && this.measure.value === "relevance") this.measure.value = "weight";
    this.body.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.body.replaceChildren(run.grid ? this.picture.node : this.words.text);
    if (run.grid) this.words.parts.hidden = true;
    this.player.show(run);
    this.strip.show(run, image);
    await this.load();
  }

  load() {
    this.loading = this.#load();
    return this.loading;
  }

  // Everything again, from what is known already: all that is said is of the numbers that are here,
  // whatever has been chosen since.
  draw() {
    const { reading } = this;
    const { run, units, chosen, values } = reading;
    this.pointed = null;
    if (run.grid && this.picture.units !== units) this.picture.show(run, this.image, units);
    else if (run.grid) this.picture.layout();
    else this.words.show(units, run.segments, chosen);
    this.title.textContent = reading.heading(chosen);
    this.says.textContent = reading.kind.says;
    this.view.point(null);
    this.view.mark(
      ...(run.grid
        ? [reading.unitOf(reading.selection.query), reading.unitOf(reading.selection.key), chosen]
        : [chosen]),
    );
    if (values) this.#paint(values, chosen, (unit) => reading.cell(unit));
    else if (run.grid) this.picture.blank();
    else this.words.paint(null, null, () => "");
    this.told.textContent = values ? reading.sentence(chosen, values) : reading.fault;
    this.strip.draw(this.direction);
  }

  get row() {
    return this.reading?.values;
  }

  get view() {
    return this.run.grid ? this.picture : this.words;
  }

  // The middle of a patch on the screen, for tests and tools.
  box(token) {
    return this.picture.box(this.reading.unitOf(token));
  }

  async #load() {
    const wanted = new Reading(this.run, this.selection, this.measure.value, this.direction);
    if (this.wanted?.asked !== wanted.asked) {
      this.stop?.abort();
      this.stop = new AbortController();
    }
    this.wanted = wanted;
    this.strip.load().catch((fault) => this.say(fault.message));
    try {
      await this.#wait(this.#fetch(wanted));
    } catch (fault) {
      wanted.fault = fault.message;
      wanted.values = null;
    }
    if (wanted.whole) await painted(); // the map is of the same numbers, and comes first
    if (this.wanted !== wanted || this.run !== wanted.run) return;
    this.node.classList.remove("viz-behind");
    this.reading = wanted;
    this.draw();
    if (wanted.values) this.node.dataset.painted = wanted.asked;
  }

  async #fetch(wanted) {
    const {
      run,
      selection,
      units: { length },
    } = wanted;
    const whole =
      wanted.measure === "weight" && length && length <= WHOLE
        ? await run.map(selection, [0, length], [0, length])
        : null;
    if (this.wanted !== wanted) return;
    wanted.whole = whole?.values;
    const [row, parts] = await Promise.all([valuesOf(wanted, wanted.token, this.stop.signal), partsOf(wanted)]);
    Object.assign(wanted, row, { parts });
  }

  // What takes a while is announced, and what is still there is dimmed; nothing moves when it comes.
  async #wait(fetching) {
    const { wanted } = this;
    const start = performance.now();
    const tell = () => {
      if (this.wanted !== wanted) return;
      const seconds = Math.floor((performance.now() - start) / 1000);
      this.node.classList.add("viz-behind");
      this.told.textContent = `Computing …${seconds ? ` ${seconds} s` : ""}`;
      timer = setTimeout(tell, 1000);
    };
    let timer = setTimeout(tell, PATIENCE);
    return fetching.finally(() => clearTimeout(timer));
  }

  // A row or column shown for as long as the pointer or the focus rests on a token.
  #preview(unit) {
    const { reading } = this;
    if (!reading || unit === this.pointed) return;
    this.pointed = unit;
    clearTimeout(this.resting);
    cancelAnimationFrame(this.frame);
    const there = () => this.pointed === unit && this.reading === reading;
    const show = (values) => there() && this.#show(unit, values);
    const fail = (fault) => {
      if (there()) this.told.textContent = fault.message;
    };
    if (unit === null || reading.whole)
      this.frame = requestAnimationFrame(() => show(unit === null ? reading.values : reading.fromWhole(unit)));
    else if (reading.measure === "value" || (reading.measure === "weight" && !reading.who)) {
      this.resting = setTimeout(
        () =>
          valuesOf(reading, reading.units[unit].tokens[0])
            .then(({ values }) => show(values))
            .catch(fail),
        PATIENCE,
      );
    } else this.told.textContent = `${reading.named(unit)}: click to compute it.`;
  }

  #show(unit, values) {
    const { reading } = this;
    if (!values) return this.draw();
    const of = unit ?? reading.chosen;
    this.view.point(unit);
    this.#paint(values, of, unit === null ? (one) => reading.cell(one) : undefined);
    this.title.textContent = reading.heading(of);
    this.told.textContent = reading.sentence(of, values);
    if (unit !== null && reading.values) this.say(reading.cell(unit)); // what the chosen one has to do with it
    this.node.dataset.previewed = unit ?? "";
  }

  #paint(values, unit, titles) {
    const { run, measure, who, selection, kind } = this.reading;
    const name = this.selection.scale;
    const shared = ["layer", "all"].includes(name) ? run.largest(name, selection.layer) : null;
    const scale = scaleOf(measure, name, values, unit, shared);
    const text = scaleText(scale, kind.unit, values);
    const { first } = this.picture;
    this.bar.parentNode.hidden = Boolean(run.grid && !first);
    this.bar.style.background = gradient("right", scale);
    this.low.textContent = `${run.grid ? "Prefix tokens: " : ""}${number(scale.low)}`;
    this.high.textContent = `${number(scale.high)} ${text}`;
    if (!run.grid) {
      this.words.side = who ? "query" : "key";
      return this.words.paint(values, scale, titles);
    }
    const what = {
      sum: measure === "weight" ? "weight" : "measure",
      of: who ? "column" : "row",
      own: MEASURES[measure].own ? unit - first : -1,
    };
    const patches = values.subarray(first);
    const tints = scaleOf(measure, name, patches, unit - first, shared);
    const upTo = {
      layer: "the largest of this layer",
      all: "the largest of all heads",
      shared: "the most there can be",
      log: "",
    };
    const top = (measure === "weight" && upTo[name]) ?? "the largest on a patch";
    this.picture.paint(
      values,
      { chips: scale, tints },
      { ...what, top, unit: scaleText(tints, kind.unit, patches) },
      titles,
    );
  }

  #choose(unit) {
    const { reading } = this;
    if (reading?.run === this.run) this.selection.set({ [reading.side]: reading.units[unit].tokens[0] });
  }

  // The token that is spoken of stays the same when the direction turns.
  #turn(direction) {
    const only = this.measure.value !== "weight";
    if (only) direction = "looks";
    const turned = this.direction !== direction;
    this.direction = direction;
    for (const button of this.switch.children)
      button.setAttribute("aria-pressed", String(button.dataset.direction === direction));
    this.switch.lastChild.disabled = only;
    this.switch.lastChild.title = only ? "Columns are there for attention weights only" : "";
    if (!this.run) return;
    const { query, key } = this.selection;
    if (turned) this.selection.set(direction === "who" ? { key: query } : { query: key });
    this.load();
  }

  #controls() {
    const turn = (direction, text) =>
      el(
        "button",
        {
          type: "button",
          class: "viz-small",
          "data-direction": direction,
          "aria-pressed": String(direction === this.direction),
          onclick: () => this.#turn(direction),
        },
        text,
      );
    this.switch = el(
      "span",
      { class: "viz-switch", role: "group", "aria-label": "Shaded by" },
      turn("looks", "where it looks"),
      turn("who", "who looks at it"),
    );
    return el(
      "div",
      { class: "viz-controls" },
      this.switch,
      el("label", { class: "viz-control" }, "Shade by", this.measure),
    );
  }
}

// A number for each unit; at once where the whole map is here.
async function valuesOf(reading, token, signal) {
  const { run, selection, measure } = reading;
  const unit = reading.unitOf(token);
  if (reading.whole && unit >= 0) return { values: reading.fromWhole(unit) };
  if (measure !== "weight") {
    const { values, answer } = await run.measured(measure, { ...selection, query: token }, signal);
    return { answer, values: Float32Array.from(reading.units, ({ tokens }) => values[tokens[0]]) };
  }
  const { values } = await (reading.who
    ? run.shownColumn({ ...selection, key: token }, signal)
    : run.shownRow({ ...selection, query: token }));
  return { values };
}

// Where sub-words are merged, the numbers of those of the chosen word, for the chips to tell.
async function partsOf(reading) {
  if (!reading.merges) return null;
  const { run, who, units, chosen, token } = reading;
  const single = { ...reading.selection, words: false };
  const { tokens } = units[chosen] ?? { tokens: [token] };
  const each = await Promise.all(
    tokens.map((one) => (who ? run.shownColumn({ ...single, key: one }) : run.shownRow({ ...single, query: one }))),
  );
  return tokens.map((one, at) => ({ token: one, values: each[at].values }));
}

// The picture, or null where the run kept none: its patches are shown all the same.
async function picture(url) {
  const image = new Image();
  image.src = url;
  return image.decode().then(
    () => image,
    () => null,
  );
}
