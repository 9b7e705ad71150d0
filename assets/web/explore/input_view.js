// The words or the picture themselves, shaded by where one token looks, or by who looks at it.

import { makesText } from "../core/change_codes.js";
import { changedRun, codesOf } from "../core/changed_run.js";
import { makeScale } from "../core/colors.js";
import { button, controls, el, number, onWidth, painted } from "../core/dom.js";
import { inLink } from "../core/link_notes.js";
import { partners } from "../core/token_alignment.js";
import { View } from "../core/view.js";
import { fullScreen } from "../views/full_screen.js";
import { Player } from "../views/layer_player.js";
import { Picture } from "../views/picture_overlay.js";
import { gradient, scaleOf, scaleText } from "../views/shading.js";
import { Words } from "../views/token_strip.js";
import { PictureHeads } from "./picture_heads.js";
import { rowSaves, RowView } from "./row_view.js";
import { WordArcs } from "./word_arcs.js";

const PATIENCE = 60; // milliseconds the pointer rests before a row is asked for
const DIRECTIONS = { looks: "where it looks", who: "who looks at it" };
/** @type {Record<string, string>} */ const UP_TO = {
  layer: "the largest of this layer",
  all: "the largest of all heads",
  shared: "maximum (1)",
  log: "",
};

const brief = (/** @type {number} */ end) => String(Number(number(end)));

/**
 * How the shown row was processed.
 * @type {(selection: { hide: boolean, renorm: boolean }) => string}
 */
export function kept({ hide, renorm }) {
  const hidden = hide ? " Special tokens are hidden." : "";
  if (renorm) return `${hidden} The row is divided by its sum over the tokens shown.`;
  return hide || renorm ? `${hidden} The row is not renormalized.` : "";
}

export class InputView extends View {
  #latest = this.latest((sentence) => this.#failed(sentence));
  #previewing = this.latest((sentence) => this.told.replaceChildren(sentence));
  /** @type {RowView | null} */ #wanted = null;
  /** @type {RowView | null} */ #shown = null;
  /** @type {HTMLImageElement | null} */ #image = null;
  /** @type {number | null} */ #pointed = null;
  /** @type {Direction} */ #direction = "looks";
  /** @type {Promise<unknown>} */ #loading = Promise.resolve();
  title = el("h3");
  switch = el(
    "span",
    { class: "viz-switch", role: "group", "aria-label": "Shaded by" },
    ...Object.entries(DIRECTIONS).map(([direction, text]) =>
      button(text, () => this.#turn(/** @type {Direction} */ (direction)), { "data-direction": direction }),
    ),
  );
  told = el("p", { class: "viz-source-told", role: "status" });
  bar = el("i", { class: "viz-stat-bar" });
  low = el("span");
  high = el("span");
  scaleLine = el("p", { class: "viz-caption viz-stat-scale" }, this.low, this.bar, this.high);
  says = el("p", { class: "viz-caption viz-says" });
  body = el("div", { class: "viz-source-body" });

  /** @param {PageSelection} selection @param {(sentence: string) => void} say @param {Reference} reference */
  constructor(selection, say, reference) {
    super(selection);
    this.say = say;
    this.reference = reference;
    const preview = (/** @type {number | null} */ unit) => this.#preview(unit);
    const choose = (/** @type {number} */ unit) => this.#choose(unit);
    this.words = new Words({ label: "The tokens. Arrow keys move, Enter chooses.", preview, choose });
    this.arcs = new WordArcs(this.words, this.body);
    this.picture = new Picture({ preview, choose });
    inLink("picture.opacity", this.picture.opacity.input, this.signal);
    inLink("picture.keep", this.picture.keep.input, this.signal);
    if (selection.noted("attention.who")) this.#direction = "who";
    this.heads = new PictureHeads(selection, say);
    this.views = [this.heads];
    const other = el("details", { class: "viz-source-more viz-folded" }, el("summary", {}, "Shading and playback"));
    this.player = new Player(selection, () => this.#loading, this.signal);
    this.node = el(
      "section",
      { class: "viz-source", "aria-label": "The words or the picture in place" },
      el("div", { class: "viz-source-head" }, this.title, this.scaleLine),
      ...[this.words.parts, this.body, this.told, other],
      el("div", { class: "viz-source-aside" }, this.heads.node),
    );
    other.append(
      controls(
        this.switch,
        this.player.node,
        rowSaves(() => this.#shown),
        fullScreen(this.node, () => (this.run?.grid ? this.row && this.draw() : this.#settle())),
      ),
      this.says,
      this.picture.more,
    );
    this.#press();
    selection.on(() => this.run && this.load(), this.signal);
    reference.measures.on(
      () => this.run && (this.#wanted ?? this.#shown)?.against !== this.#against && this.load(),
      this.signal,
    );
    onWidth(this.node, () => (this.run?.grid ? this.row && this.draw() : this.#settle()));
  }

  // Another run is on its way to the page, in which places may be chosen that the one before has not.
  clear() {
    super.clear();
    this.#latest.stop();
    this.run = null;
    this.behind();
  }

  async show(/** @type {Run} */ run) {
    this.clear();
    [this.run, this.#shown, this.#wanted, this.#image, this.#pointed] = [run, null, null, null, null];
    this.heads.show(run, null);
    const image = run.grid ? await run.picture() : null;
    if (this.run !== run) return;
    this.#image = image;
    this.body.classList.toggle("viz-source-picture", Boolean(run.grid));
    this.node.classList.toggle("viz-pictured", Boolean(run.grid));
    this.arcs.show(run.grid ? this.picture.node : null);
    if (run.grid) this.words.parts.hidden = true;
    this.picture.more.hidden = !run.grid;
    this.player.show(run);
    this.heads.show(run, image);
    await this.load();
  }

  // Bring it up to date; a row that is on its way already is not asked for again.
  load() {
    const wanted = this.run && new RowView(this.run, this.selection, this.#direction, this.#against);
    this.heads.load();
    if (!wanted) return this.#loading;
    if (this.#wanted?.asked === wanted.asked) {
      this.#wanted.selection = wanted.selection;
      return this.#loading;
    }
    this.#wanted = wanted;
    this.#previewing.stop(); // else what was pointed at before would be told after what is chosen now
    this.#pointed = null;
    const tell = (/** @type {number} */ seconds) => {
      this.behind(); // nothing moves when it comes
      this.told.textContent = `Computing …${seconds ? ` ${seconds} s` : ""}`;
    };
    const work = async (/** @type {Fresh} */ fresh) => {
      await wanted.fetch(fresh, this.#before(wanted.run));
      if (wanted.whole) await fresh(painted()); // the map is of the same numbers, and comes first
      this.#arrived(wanted);
    };
    this.#loading = this.#latest.run(work, { tell, patience: PATIENCE });
    return this.#loading;
  }

  // The run that this one was made from, or another of the same model that it is compared with, token by token.
  #before(/** @type {Run} */ run) {
    const codes = codesOf(run);
    if (codes.length) return makesText(codes) ? null : changedRun.plainOf(run);
    const { other } = this.reference;
    const same = other?.model === run.model && other.n === run.n;
    return same && partners(run, other).every((to, at) => to === at) ? other : null;
  }

  get #against() {
    return this.reference.other?.key ?? "";
  }

  #failed(/** @type {string} */ sentence) {
    if (this.#wanted) this.#arrived(Object.assign(this.#wanted, { fault: sentence, values: null }));
  }

  #arrived(/** @type {RowView} */ wanted) {
    this.behind(false);
    [this.#shown, this.#wanted] = [wanted, null];
    this.draw();
    if (wanted.values) this.painted(wanted.asked);
  }

  // Everything again, from what is known already: all that is said is of the numbers that are here,
  // whatever has been chosen since.
  draw() {
    const shown = this.#shown;
    if (!shown) return;
    const { run, units, chosen, values, selection } = shown;
    this.#previewing.stop();
    this.#pointed = null;
    if (!run.grid) this.words.show(units, run.segments, chosen);
    else if (this.picture.units === units) this.picture.layout();
    else this.picture.show(/** @type {Run & { grid: Grid }} */ (run), this.#image, units);
    this.title.textContent = shown.heading(chosen);
    this.says.textContent = shown.kind.says + kept(selection);
    this.#view.point(null);
    if (run.grid) this.picture.mark(shown.unitOf(selection.query), shown.unitOf(selection.key), chosen);
    else this.words.mark(chosen);
    if (values) this.#paint(shown, values, chosen, (unit) => shown.cell(values, unit));
    else if (run.grid) this.picture.blank();
    else {
      this.words.paint(null, null, () => "");
      this.arcs.draw(null, chosen);
    }
    this.told.textContent = values ? shown.sentence(chosen, values) : shown.fault;
    this.heads.draw();
  }

  get row() {
    return this.#shown?.values;
  }

  // The words have another width.
  #settle() {
    const shown = this.#shown;
    if (shown?.values) this.#arcs(shown, shown.values, shown.chosen);
    this.words.reveal();
  }

  get #view() {
    return this.run?.grid ? this.picture : this.words;
  }

  // A row or column shown for as long as the pointer or the focus rests on a token.
  #preview(/** @type {number | null} */ unit) {
    const shown = this.#shown;
    if (!shown || unit === this.#pointed) return;
    this.#pointed = unit;
    const { whole, values, who, units } = shown;
    if (unit === null || whole)
      this.#previewing.run(async (fresh) => {
        await fresh(new Promise(requestAnimationFrame));
        this.#show(shown, unit, unit === null || !whole ? values : shown.fromWhole(whole, unit));
      });
    else if (!who) {
      const ask = () => shown.valuesOf(units[unit].tokens[0]);
      this.#previewing.run(async (fresh) => this.#show(shown, unit, await fresh(ask())), { pause: PATIENCE });
    } else {
      this.#previewing.stop();
      this.told.textContent = `${shown.named(unit)}: click to compute it.`;
    }
  }

  #show(/** @type {RowView} */ shown, /** @type {number | null} */ unit, /** @type {Float32Array | null} */ values) {
    if (!values) return this.draw();
    const of = unit ?? shown.chosen;
    this.#view.point(unit);
    this.#paint(shown, values, of, unit === null ? (one) => shown.cell(values, one) : undefined);
    this.title.textContent = shown.heading(of);
    this.told.textContent = shown.sentence(of, values);
    // Relation of the chosen token to the hovered one, or to the chosen one of the other side.
    const { query, key } = this.selection;
    const other = unit ?? shown.unitOf(shown.who ? query : key);
    if (shown.values) this.say(other >= 0 ? shown.cell(shown.values, other) : "");
    this.node.dataset.previewed = String(unit ?? "");
  }

  // Of what is chosen, the other end of the pair has its mark; of what is pointed at, the strongest.
  #arcs(/** @type {RowView} */ shown, /** @type {Float32Array} */ values, /** @type {number} */ unit) {
    const { query, key } = this.selection;
    const marked = unit === shown.chosen ? shown.unitOf(shown.who ? query : key) : undefined;
    this.arcs.draw(values, unit, shown.wasOf(unit), marked);
  }

  /** @type {(shown: RowView, values: Float32Array, unit: number, titles?: Titles) => void} */
  #paint(shown, values, unit, titles) {
    const { run, who, selection, kind } = shown;
    const name = this.selection.scale;
    const shared = ["layer", "all"].includes(name) ? run.largest(name, selection.layer, selection) : null;
    // Words have one scale, whatever is chosen, unless another is asked for.
    const scale = run.grid || name !== "head" ? scaleOf(name, values, shared) : makeScale("sqrt", 1);
    const { first } = this.picture;
    this.scaleLine.hidden = Boolean(run.grid && !first);
    this.bar.style.background = gradient("right", scale);
    this.low.textContent = `${run.grid ? "Prefix tokens: " : ""}${brief(scale.low)}`;
    this.high.textContent = `${brief(scale.high)}, ${scaleText(scale, kind.unit, values)}`;
    if (!run.grid) {
      this.words.side = who ? "query" : "key";
      this.words.paint(values, scale, titles);
      return this.#arcs(shown, values, unit);
    }
    const patches = values.subarray(first);
    const tints = scaleOf(name, patches, shared);
    const what = {
      of: who ? "column" : "row",
      top: UP_TO[name] ?? "the largest on a patch",
      unit: scaleText(tints, kind.unit, patches),
    };
    this.picture.paint(values, { chips: scale, tints }, what, titles);
  }

  #choose(/** @type {number} */ unit) {
    const shown = this.#shown;
    if (!shown || shown.run !== this.run) return;
    const [token] = shown.units[unit].tokens;
    if (shown.who) this.selection.set({ key: token });
    else this.selection.ask(token);
  }

  // The token that is spoken of stays the same when the direction turns.
  #turn(/** @type {Direction} */ to) {
    const turned = this.#direction !== to;
    this.#direction = to;
    this.selection.note({ "attention.who": to === "who" ? "1" : "" });
    this.#press();
    if (!this.run) return;
    const { query, key } = this.selection;
    if (turned) this.selection.set(to === "who" ? { key: query } : { query: key });
    this.load();
  }

  #press() {
    for (const each of this.switch.querySelectorAll("button"))
      each.ariaPressed = String(each.dataset.direction === this.#direction);
  }
}
