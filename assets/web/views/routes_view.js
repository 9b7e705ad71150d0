// How it got there: tokens across, blocks upward, shares as nodes and links as curves.

import { inkOn, rgbText, signedColors } from "../core/colors.js";
import { control, el, onWidth, svg } from "../core/dom.js";
import { fitted } from "../core/labels.js";
import { afterBlocks } from "../core/states.js";
import { isolated } from "../core/token_names.js";
import { View } from "../core/view.js";
import { amountSaid, curves, folded, linkSaid, roomy, shareSaid, widthOf } from "./routes_layout.js";

/** @import { Columns, Curve } from "./routes_layout.js" */
/** @typedef {{ token: (token: number) => unknown, link: (edge: RouteEdge) => unknown,
 *   say: (sentence: string) => unknown, from?: () => number }} Acts `from`: the token that arrow keys leave, if not the asked */

const [LEFT, NAMES] = [64, 26]; // pixels of the blocks' names, and of the tokens'
const [ROW, LOW, NODE] = [47, 43, 22]; // from block to block, also on a phone, and the height of a node
const [WIDE, NARROW] = [84, 44]; // of a column, at most and at least
const [THICK, THIN] = [7, 1.2]; // curves
const NAMED = 6; // curves that bear their share and head
const PLACES = [0.4, 0.6, 0.25, 0.75]; // of a label on its curve

export class RoutesView extends View {
  /** @type {Explained | null} */ found = null;
  token = -1; // whose name is marked
  /** @type {Columns} */ #columns = { groups: [], nodes: [] };
  slide = el("input", {
    ...{ type: "range", class: "viz-slider", id: "viz-route-least", min: 0, max: 100, value: 0 },
    ...{ title: "Draw only stronger links", "aria-label": "Links above", oninput: () => this.draw() },
  });
  said = el("output", { for: this.slide.id });
  least = Object.assign(control("links above", this.said, this.slide), { htmlFor: this.slide.id });
  drawing = svg("svg", { class: "viz-routes-drawing", tabindex: "0", role: "application" });
  node = el("div", { class: "viz-routes" }, this.drawing);

  /** @param {Acts} acts */
  constructor(acts) {
    super();
    this.acts = acts;
    this.drawing.setAttribute("aria-roledescription", "graph of tokens and blocks");
    this.drawing.addEventListener("click", (event) => this.#press(event.target));
    this.drawing.addEventListener("pointerover", (event) => this.#tell(event.target));
    this.drawing.addEventListener("keydown", (event) => this.#key(/** @type {KeyboardEvent} */ (event)));
    onWidth(this.node, () => this.draw());
  }

  /** @type {(run: Run, found: Explained, token: number) => void} */
  show(run, found, token) {
    [this.run, this.found, this.token] = [run, found, token];
    this.draw();
  }

  draw() {
    const { run, found } = this;
    const room = this.node.clientWidth - LEFT;
    if (!run || !found || room <= 0) return;
    const most = Math.max(3, Math.floor(room / NARROW));
    this.#columns = folded(found, most, this.token);
    const { groups, nodes } = this.#columns;
    // Effects of the folded tokens are no sum.
    const several = groups.flatMap((tokens, at) => (tokens.length > 1 ? at : []));
    if (found.adds === false) for (const row of nodes) for (const at of several) row[at] = 0;
    const wide = Math.min(WIDE, room / groups.length);
    const high = wide < 60 && room < 400 ? LOW : ROW;
    const height = high * (nodes.length - 1) + NODE + NAMES;
    const width = LEFT + wide * groups.length;
    const place = placed(wide, high, nodes.length, groups.length);
    const least = this.#least(found);
    const drawn = curves(
      found.edges.filter(({ share }) => Math.abs(share) >= least),
      groups,
    );
    this.drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.drawing.setAttribute("width", String(width));
    this.drawing.setAttribute("height", String(height));
    this.drawing.setAttribute(
      "aria-label",
      `${found.sentence} Left and right ${this.acts.from ? "choose another token" : "ask of the final state of another token"}.`,
    );
    this.drawing.replaceChildren(
      ...nodes.map((_, state) =>
        svg("text", { class: "viz-route-block", x: 0, y: place.y(state) + 4 }, blockName(state)),
      ),
      ...drawn.toReversed().map((curve) => this.#curve(curve, place, drawn[0])),
      ...nodes.flatMap((row, state) => row.map((share, at) => this.#node(share, state, at, place))),
      ...groups.map((tokens, at) => this.#name(tokens, at, place)),
      ...this.#labels(drawn, place),
    );
  }

  // The share of the weakest link that is drawn, between those of the weakest and of the strongest one.
  #least(/** @type {Explained} */ found) {
    const [strongest, weakest] = [0, -1].map((at) => Math.abs(found.edges.at(at)?.share ?? 0));
    const least = weakest + (Number(this.slide.value) / 100) * (strongest - weakest);
    const part = Math.abs(found.large ? (100 * least) / found.score : least);
    const said =
      part < (found.large ? 1 : 0.01) ? String(Number(part.toPrecision(1))) : part.toFixed(found.large ? 0 : 2);
    this.said.textContent = this.slide.ariaValueText = `${said}${found.large ? "%" : ""}`;
    this.least.hidden = !found.edges.length;
    return least;
  }

  /** @type {(curve: Curve, place: Place, strongest: Curve) => SVGElement} */
  #curve({ edge, from, to }, place, strongest) {
    const [x, y] = [place.x(from), place.y(edge.layer) - NODE / 2];
    const [over, top] = [place.x(to), place.y(edge.layer + 1) + NODE / 2];
    const middle = (y + top) / 2;
    const thick = thickness(edge, strongest);
    const kind = edge.share < 0 ? "viz-route viz-route-against" : "viz-route";
    const d = `M${x},${y} C${x},${middle} ${over},${middle} ${over},${top}`;
    const at = this.found?.edges.indexOf(edge) ?? -1;
    return svg("path", { class: kind, d, "stroke-width": thick.toFixed(1), "data-edge": at });
  }

  /** @type {(share: number, state: number, at: number, place: Place) => SVGElement} */
  #node(share, state, at, place) {
    const { found } = this;
    const said = found ? shareSaid(share, found) : "";
    const [x, y] = [place.x(at), place.y(state)];
    const group = { class: "viz-route-node", "data-column": at, "data-state": state };
    if (!said) return svg("g", group, svg("circle", { cx: x, cy: y, r: 1.5 }));
    const color = signedColors()(share / this.#largest);
    const box = { x: x - place.wide / 2 + 2, y: y - NODE / 2, width: place.wide - 4, height: NODE, rx: 4 };
    return svg(
      "g",
      group,
      svg("rect", { ...box, fill: rgbText(color) }),
      svg("text", { x, y: y + 4, fill: inkOn(color) }, said),
    );
  }

  get #largest() {
    return Math.max(...this.#columns.nodes.flat().map(Math.abs)) || 1;
  }

  /** @type {(tokens: number[], at: number, place: Place) => SVGElement} */
  #name(tokens, at, place) {
    const others = place.wide > 60 ? `${tokens.length} others` : `+${tokens.length}`;
    const name = tokens.length > 1 ? others : (this.found?.names[tokens[0]] ?? "");
    const chosen = tokens.length === 1 && tokens[0] === this.token;
    const small = place.wide < 76;
    const kind = `viz-route-name${chosen ? " viz-route-chosen" : ""}${small ? " viz-route-small" : ""}`;
    const short = fitted(name, (place.wide - 4) * (small ? 1 : 12 / 14));
    const y = place.y(0) + NODE / 2 + 16;
    return svg(
      "text",
      { class: kind, x: place.x(at), y, "data-column": at },
      svg("title", {}, isolated(name)),
      isolated(short),
    );
  }

  /** @type {(drawn: Curve[], place: Place) => SVGElement[]} */
  #labels(drawn, place) {
    const { found } = this;
    if (!found) return [];
    const all = drawn.slice(0, NAMED).map(({ edge, from, to }) => {
      const [start, end] = [place.x(from), place.x(to)];
      const span = /** @type {[number, number]} */ ([Math.min(start, end), Math.max(start, end)]);
      const y = (place.y(edge.layer) + place.y(edge.layer + 1)) / 2 + 4; // between the cells
      const text = linkSaid(edge, found);
      const half = widthOf(text) / 2;
      const others = drawn.filter((other) => other.edge !== edge && other.edge.layer === edge.layer);
      const isFree = (/** @type {number} */ x) =>
        Math.min(x - LEFT, place.right - x) >= half &&
        !others.some((one) => Math.abs(2 * x - place.x(one.from) - place.x(one.to)) < 2 * half + place.long(one));
      const within = PLACES.map((part) => start + part * (end - start)).filter(() => span[1] - span[0] > 3 * half);
      const xs = [...within, ...[span[1] + half, span[0] - half].filter(isFree)];
      return xs.length
        ? { xs, y, span, text }
        : { xs: [(start + end) / 2], y, span, text: shareSaid(edge.share, found) };
    });
    return roomy(all).flatMap(({ x, y, text }) => {
      const wide = widthOf(text);
      const ground = { x: x - wide / 2, y: y - 11, width: wide, height: 14 };
      return [
        svg("rect", { class: "viz-route-ground", ...ground }),
        svg("text", { class: "viz-route-label", x, y }, text),
      ];
    });
  }

  // A curve leads to its head and cell; a node or a name asks of that token.
  #press(/** @type {EventTarget | null} */ target) {
    const { edge, column } = this.#at(target);
    if (this.found?.names.length !== this.run?.n) return; // columns of two runs are no tokens of this one
    if (edge) return this.acts.link(edge);
    const tokens = this.#columns.groups[column] ?? [];
    if (tokens.length === 1) this.acts.token(tokens[0]);
  }

  #tell(/** @type {EventTarget | null} */ target) {
    const { run, found } = this;
    const { edge, column, state } = this.#at(target);
    if (!run || !found) return;
    const name = (/** @type {number} */ token) => `${token} “${found.names[token]}”`;
    if (edge) {
      const head = `${edge.layer}.${edge.head}`;
      const by = edge.by_head === null ? "" : `, of which head ${head} has ${amountSaid(edge.by_head, found)}`;
      this.acts.say(
        `Block ${edge.layer}: ${name(edge.key)} to ${name(edge.query)}: ${amountSaid(edge.share, found)} over all heads${by}`,
      );
    } else if (state >= 0) {
      const tokens = this.#columns.groups[column];
      const who = tokens.length > 1 ? `${tokens.length} other tokens` : name(tokens[0]);
      this.acts.say(`${who}, ${afterBlocks(state)}: ${amountSaid(this.#columns.nodes[state][column], found)}`);
    }
  }

  #at(/** @type {EventTarget | null} */ target) {
    const part = target instanceof Element ? target.closest("[data-edge], [data-column]") : null;
    const { edge, column, state } = part instanceof SVGElement ? part.dataset : {};
    return { edge: this.found?.edges[Number(edge ?? -1)], column: Number(column ?? -1), state: Number(state ?? -1) };
  }

  #key(/** @type {KeyboardEvent} */ event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const { run } = this;
    const token = this.acts.from?.() ?? this.token;
    if (!by || !run || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.acts.token(Math.min(run.n - 1, Math.max(0, token + by)));
  }
}

/** @type {(edge: RouteEdge, strongest: Curve) => number} */
const thickness = ({ share }, { edge }) => Math.max(THIN, (THICK * Math.abs(share)) / Math.abs(edge.share));

/** @typedef {ReturnType<typeof placed>} Place */
/** Middles of nodes. @param {number} wide @param {number} high @param {number} states @param {number} columns */
const placed = (wide, high, states, columns) => ({
  wide,
  right: LEFT + wide * columns,
  x: (/** @type {number} */ column) => LEFT + wide * (column + 0.5),
  y: (/** @type {number} */ state) => high * (states - 1 - state) + NODE / 2,
  long: (/** @type {Curve} */ { from, to }) => wide * Math.abs(from - to),
});

const blockName = (/** @type {number} */ state) => (state ? `block ${state - 1}` : "input");
