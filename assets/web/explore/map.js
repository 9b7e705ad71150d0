// The big map of one head: rows are queries, columns are keys; zoom to single cells with their value.

import { drawBorders } from "../core/border.js";
import { CHANGE, makeScale } from "../core/colors.js";
import { el, onWidth } from "../core/dom.js";
import { drawLabels } from "../core/labels.js";
import { sentenceOf } from "../core/latest.js";
import { zoomButtons } from "../views/cell_canvas.js";
import { fullScreen } from "../views/full_screen.js";
import { Legend } from "./legend.js";
import { drawOver, drawTiles, paintTile } from "./map_drawing.js";
import { Gestures } from "./map_gestures.js";
import { cellSaid, heading } from "./map_heading.js";
import { MapSheet } from "./map_sheet.js";
import { Tiles } from "./tiles.js";

/** @import { Emitter } from "../core/emitter.js" */

const PAUSE = 60; // milliseconds without a move, before what is in sight is asked for
const VIEW = "map.view"; // in the link
const RELOADING = ["layer", "head", "hide", "renorm", "words", "scale"];

export class AttentionMap extends MapSheet {
  #latest = this.latest();
  /** @type {Shown | null} */ #laid = null; // what it was laid out for
  scale = makeScale("head", 1);
  /** @type {Cell | null} */ hovered = null;
  #linked = ""; // the part in view that the link opens with
  /** @type {Signed[]} */ inPlace = []; // what may be shown in place of the weights
  title = el("h3");
  told = el("p", { class: "viz-readout viz-map-told", "aria-hidden": "true" }); // where the tab's own is out of sight
  parts = new Tiles(this);
  legend = new Legend();

  constructor(/** @type {PageSelection} */ selection, /** @type {(sentence: string) => void} */ say) {
    super(selection);
    this.#linked = selection.noted(VIEW);
    this.say = (/** @type {string} */ sentence) => {
      this.told.textContent = sentence;
      say(sentence);
    };
    this.node = el("section", { class: "viz-map", "aria-label": "Map of one head" });
    const zoom = el("span", { class: "viz-zoom" }, ...zoomButtons(this));
    zoom.append(fullScreen(this.node, () => this.run && this.layout()));
    const tools = el(
      "details",
      { class: "viz-map-tools viz-folded" },
      el("summary", { title: "Zoom, full screen" }, "Zoom"),
      zoom,
    );
    this.node.append(this.title, tools, this.stage, this.told, this.legend.node);
    new Gestures(this);
    selection.on((changed) => this.#changed(changed), this.signal);
    onWidth(this.node, () => this.run && this.layout());
  }

  // What is shown in place of the weights; null where the map is shown as it is.
  get signed() {
    return this.inPlace.find((one) => one.shows && one.run === this.run) ?? null;
  }

  /** Show it in place of the weights, while it is of anything. @param {Signed & Emitter<[]>} signed */
  lend(signed) {
    this.inPlace.push(signed);
    let before = signed.shows;
    signed.on(() => {
      const other = before !== signed.shows;
      before = signed.shows;
      if (!this.run || signed.run !== this.run) return; // another run is on its way
      if (other) this.#reload();
      else if (before) {
        this.draw(); // the scale's end is known, and the unit
        this.tellSelected();
      }
    }, this.signal);
  }

  // Another run is on its way to the page, in which places may be chosen that the one before has not.
  clear() {
    super.clear();
    this.#latest.stop();
    this.parts.expect(null); // what was aimed at is of the run that is left
    this.run = null;
  }

  show(/** @type {Run} */ run) {
    this.run = run;
    this.#list(run);
    return this.load();
  }

  // Fetch what is in sight, once it has been so for `pause`, and what its colors need.
  load(pause = 0) {
    const work = async (/** @type {Fresh} */ fresh) => {
      const { run, signed } = this;
      // Why there are no such numbers is told by the answer, too, in whose place the weights come.
      const refused = (/** @type {unknown} */ fault) => {
        if (!signed) throw fault;
        if (!fresh.signal.aborted) this.say(sentenceOf(fault));
      };
      if (!run || !(await this.parts.load(run, fresh).catch(refused))) return;
      await this.#share(run, fresh);
    };
    return this.#latest.run(work, { pause });
  }

  // A part has come. Another map of the same tokens needs no new room: to measure it would lay out
  // the whole page.
  arrived() {
    if (this.#laid === this.shown) this.draw();
    else this.layout();
    this.tellSelected();
  }

  get tiles() {
    return this.parts.list;
  }

  layout() {
    this.#laid = this.shown;
    this.measure(this.node.clientWidth);
    this.draw();
  }

  draw() {
    const { context, selection } = this;
    if (!this.run || !this.#laid) return;
    context.clearRect(0, 0, this.width, this.height);
    const found = this.tiles.at(0);
    const { signed } = this;
    const title = heading(selection, this.tiles, signed);
    this.title.textContent = title;
    if (!found) return this.#drawOver();
    const top = this.#top(found);
    this.scale = this.#scaleOf(found);
    drawTiles(this);
    drawBorders(this);
    drawLabels(this);
    const alone = Boolean(found.about?.rows?.length || found.about?.keys?.length);
    this.legend.draw(this.scale, this.run.vocabulary.scales, found.masked, top, { alone, signed });
    this.canvas.setAttribute("aria-label", `${title}. Arrow keys move the query and the key.`);
    this.canvas.style.touchAction = this.view.zoomed ? "none" : "pan-y";
    this.#drawOver();
  }

  // A map that may be chosen next is painted by now.
  prepare(/** @type {Tile} */ tile) {
    if (this.#laid === this.shown) paintTile(this, tile, this.#scaleOf(tile));
  }

  #top(/** @type {Tile} */ { most }) {
    const { signed, selection } = this;
    return signed ? Math.max(signed.most, most) : selection.scale === "row" ? 1 : most;
  }

  #scaleOf(/** @type {Tile} */ tile) {
    const { scale, layer } = this.selection;
    const shared = this.run?.largest(scale, layer, this.selection);
    return makeScale(this.signed ? CHANGE : scale, this.#top(tile), shared, tile.values);
  }

  hover(/** @type {Cell | null} */ place) {
    this.hovered = place && whole(place);
    this.#drawOver();
    if (this.hovered) this.tellCell(...this.hovered);
    else this.tellSelected();
  }

  choose(/** @type {Cell} */ [row, col]) {
    this.selection.set({ query: this.#token(row, "query"), key: this.#token(col, "key") });
  }

  /** The places of the chosen query and key among the shown tokens, -1 where they are hidden. @returns {Cell} */
  get chosen() {
    return [this.shown.places[this.selection.query], this.shown.places[this.selection.key]];
  }

  moved() {
    this.selection.note({ [VIEW]: this.view.written });
    this.draw();
    this.#reload(PAUSE);
  }

  tellCell(/** @type {number} */ row, /** @type {number} */ col) {
    this.say(cellSaid(this, row, col));
  }

  tellSelected() {
    const [row, col] = this.chosen;
    if (!this.run || !this.tiles.length) return;
    if (row >= 0 && col >= 0) return this.tellCell(row, col);
    const side = row < 0 ? "query" : "key";
    const token = this.selection[side];
    this.say(`The chosen ${side} ${this.run.named(token)} is hidden.`);
  }

  #reload(pause = 0) {
    this.load(pause).catch((fault) => this.say(sentenceOf(fault)));
  }

  #changed(/** @type {Set<string>} */ changed) {
    if (!this.run) return;
    if (changed.has("hide") || changed.has("words")) this.#list(this.run, true);
    if (changed.has("scale")) this.draw();
    if (RELOADING.some((name) => changed.has(name))) return this.#reload();
    if (changed.has("query") || changed.has("key")) this.#reveal();
    this.draw();
    this.tellSelected();
  }

  #reveal() {
    const [row, col] = this.chosen;
    if (row < 0 || col < 0) return;
    const before = [this.view.row, this.view.col].join();
    this.view.reveal(row, col);
    if ([this.view.row, this.view.col].join() !== before) this.moved();
  }

  // List the tokens along the sides.
  #list(/** @type {Run} */ run, stays = false) {
    this.list(run, this.selection, stays);
    this.view.read(this.#linked);
    this.#linked = "";
    this.selection.note({ [VIEW]: this.view.written });
  }

  /** A word's own token stays chosen when its cell is chosen again. @type {(place: number, side: "query" | "key") => number} */
  #token(place, side) {
    const { tokens } = this.shown[Math.floor(place)];
    return tokens.includes(this.selection[side]) ? this.selection[side] : tokens[0];
  }

  // Colors shared by heads need the statistics of all of them, which come after the map.
  async #share(/** @type {Run} */ run, /** @type {Fresh} */ fresh) {
    const { scale, layer, hide, renorm, words } = this.selection;
    const kept = { hide, renorm, words };
    if (!(scale === "layer" || scale === "all") || run.largest(scale, layer, kept) !== null) return;
    const layers = scale === "all" ? Array(run.nLayers).keys() : [layer];
    for (const each of layers) await fresh(run.measureLargest(each, kept));
    this.draw();
  }

  #drawOver() {
    if (!this.#laid || !this.view.n) return;
    drawOver(this);
    if (this.hovered) drawLabels(this, this.hovered);
  }
}

const whole = (/** @type {Cell} */ [row, col]) => /** @type {Cell} */ ([Math.floor(row), Math.floor(col)]);
