// The block as a drawing, in the order that the model has: what bypasses attention and the FFN, where norms stand, and
// the followed token's vector on its way.

import { rgbText, signedColors } from "../core/colors.js";
import { button, caption, el, svg } from "../core/dom.js";
import { Latest, rest } from "../core/latest.js";
import { INSIDE, isOf, partsOf, reachedBy, stripsOf } from "./block_parts.js";
import { quoted } from "./printed.js";
import { stageName } from "./step_residual.js";
import { STEPS } from "./steps.js";

/** @import { Part } from "./block_parts.js" */
/** @import { Shown, Texts } from "./types.d.ts" */

const [WIDE, LEFT, BOX, RIGHT] = [150, 6, 104, 132]; // of the drawing; of a box, and of the bypass
const HIGH = { box: 20, add: 18, fork: 6, dropout: 16 };
const [GAP, MIDDLE] = [7, 58];
const [STRIP, THIN] = [{ box: 8, add: 9, fork: 0, dropout: 0 }, 6]; // more height with a strip; its own

export class BlockDrawing {
  drawing = el("div");
  flow = new BlockFlow((at) => this.#move(at));
  node = el("div", { class: "viz-learn-block" }, this.flow.play, this.drawing, this.flow.said);
  /** @type {Place[]} */
  places = [];

  /** `go` is told the number of the step that is about a part. @param {(step: number) => unknown} go */
  constructor(go) {
    this.go = go;
  }

  /** @type {(shown: Shown, step: number) => void} */
  show({ run, place: { layer, query, head }, numbers, texts }, step) {
    const { stages } = numbers;
    const strips = stripsOf(numbers);
    this.places = placed(partsOf(stages), strips);
    const titles = new Map(stages?.map((stage) => [stage.id, stage]));
    const bottom = this.places.at(-1)?.bottom ?? 0;
    const line = svg("path", { class: "viz-learn-wire", d: `M${MIDDLE} 12V${bottom + 12}` });
    const name = (/** @type {string} */ id) => stageName(texts, titles.get(id) ?? { id, title: id });
    const { places } = this;
    this.drawing.replaceChildren(
      svg(
        "svg",
        { viewBox: `0 0 ${WIDE} ${bottom + 16}`, width: WIDE, role: "img", "aria-label": told(places, name, texts) },
        ...[line, ...bypasses(places, texts), group(places, texts)].filter((each) => each !== null),
        ...places.map((place) => this.#part(place, step, name(place.id), texts)),
        svg("path", { class: "viz-learn-tip", d: `M${MIDDLE - 4} ${bottom + 8}h8l-4 7z` }),
        svg("circle", { class: "viz-learn-dot", cx: MIDDLE + BOX / 2 - 2, cy: 0, r: 4 }),
      ),
    );
    this.flow.play.hidden = !strips.size || step === 1 || step === STEPS.length; // before there is a vector; of another model
    const [words, at] = [texts.block, `${layer}.${head}`];
    /** @type {Record<string, string>} */
    const says = {
      ...words.says,
      ...{ x: words.x(quoted(run.tokens[query]), layer), residual_ffn: words.out(layer + 1) },
      ...{ qkv: words.query(at), scores: words.scores(at) },
    };
    this.flow.show([...strips.keys()], step, texts, (id) => `${name(id)}: ${says[id] ?? ""}`);
  }

  // The parts that it has come to show their strips, and the dot is at the last of them.
  #move(/** @type {number} */ at) {
    const { ids } = this.flow;
    for (const strip of this.drawing.querySelectorAll("[data-strip]")) {
      const place = ids.indexOf(/** @type {SVGElement} */ (strip).dataset.strip ?? "");
      strip.setAttribute("data-reached", String(place <= at));
      strip.parentElement?.classList.toggle("viz-learn-here-now", place === at);
    }
    const here = this.places.find(({ id }) => id === ids[at]);
    const dot = /** @type {SVGElement | null} */ (this.drawing.querySelector(".viz-learn-dot"));
    dot?.toggleAttribute("data-away", !here);
    dot?.style.setProperty("cy", `${here ? here.top + 8 : 0}px`);
  }

  /** @type {(place: Place, step: number, name: string, texts: Texts) => SVGElement} */
  #part({ kind, id, top, strip }, step, name, texts) {
    if (kind === "fork") return svg("circle", { class: "viz-learn-fork", cx: MIDDLE, cy: top + 3, r: 2.5 });
    const about = STEPS.findIndex(({ parts }) => isOf(id, parts)) + 1;
    const lit = isOf(id, STEPS[step - 1].parts);
    const high = HIGH[kind] + (strip && kind === "box" ? STRIP.box : 0);
    const text = kind === "add" ? "+" : kind === "dropout" ? texts.block.dropout : name;
    const drawn = kind === "add" ? circle(top) : svg("rect", { x: LEFT, y: top, width: BOX, height: high, rx: 6 });
    const at = { x: MIDDLE, y: top + HIGH[kind] / 2, "text-anchor": "middle", "dominant-baseline": "central" };
    const part = svg(
      "g",
      { class: `viz-learn-${kind}`, "data-part": id, "data-lit": String(lit) },
      drawn,
      svg("text", at, text),
      ...(strip ? [drawnStrip(id, strip, top + HIGH[kind] + (kind === "add" ? 2 : 0))] : []),
    );
    if (kind === "dropout") part.append(svg("title", {}, texts.block.dropoutSays));
    if (about) {
      part.classList.add("viz-learn-goes");
      part.addEventListener("click", () => this.go(about));
    }
    return part;
  }
}

/** @typedef {{ values: Float32Array, largest: number }} Strip */
/** @typedef {Part & { top: number, bottom: number, strip?: Strip }} Place */

/** @type {(parts: Part[], strips: Map<string, Strip>) => Place[]} */
function placed(parts, strips) {
  let y = 2;
  return parts.map((part) => {
    const [top, strip] = [y, strips.get(part.id)];
    const high = HIGH[part.kind] + (strip ? STRIP[part.kind] : 0);
    y += high + (part.kind === "dropout" || part.kind === "fork" ? GAP / 2 : GAP);
    return { ...part, top, bottom: top + high, strip };
  });
}

// The numbers as colors, on a scale of their own: lengths are in the tables.
function drawnStrip(/** @type {string} */ id, /** @type {Strip} */ { values, largest }, /** @type {number} */ y) {
  const color = signedColors();
  const wide = (BOX - 12) / values.length;
  const cells = Array.from(values, (value, at) =>
    svg("rect", {
      x: LEFT + 6 + at * wide,
      y,
      width: wide + 0.2,
      height: THIN,
      style: `--cell:${rgbText(color(value / largest))}`,
    }),
  );
  return svg("g", { class: "viz-learn-strip", "data-strip": id }, ...cells);
}

// From each fork around what follows, to the sum.
function bypasses(/** @type {Place[]} */ places, /** @type {Texts} */ { block }) {
  const forks = places.filter(({ kind }) => kind === "fork");
  return forks.flatMap(({ top }) => {
    const sum = places.find((place) => place.kind === "add" && place.top > top);
    if (!sum) return [];
    const [from, to] = [top + 3, sum.top + HIGH.add / 2];
    const half = (from + to) / 2;
    const label = { x: RIGHT + 8, y: half, "text-anchor": "middle", transform: `rotate(90 ${RIGHT + 8} ${half})` };
    return [
      svg("path", { class: "viz-learn-bypass", d: `M${MIDDLE} ${from}H${RIGHT}V${to}H${MIDDLE + 10}` }),
      svg("text", { class: "viz-learn-small", ...label }, block.bypass),
    ];
  });
}

// A frame around the parts of attention.
function group(/** @type {Place[]} */ places, /** @type {Texts} */ { block }) {
  const own = places.filter(({ id }) => INSIDE.includes(id));
  if (!own.length) return null;
  const [top, bottom] = [own[0].top - 3, own[own.length - 1].bottom + 3];
  return svg(
    "g",
    { class: "viz-learn-group" },
    svg("rect", { x: LEFT - 4, y: top, width: BOX + 8, height: bottom - top, rx: 8 }),
    svg("title", {}, block.attention),
  );
}

const circle = (/** @type {number} */ top) => svg("circle", { cx: MIDDLE, cy: top + HIGH.add / 2, r: HIGH.add / 2 });

/** @type {(places: Place[], name: (id: string) => string, texts: Texts) => string} */
function told(places, name, { block, spine }) {
  const [norm, into] = ["norm_attention", "qkv"].map((id) => places.findIndex((place) => place.id === id));
  const order = places.flatMap(({ kind, id }) => (kind === "box" || kind === "add" ? [name(id)] : []));
  const kind = norm < 0 ? "" : norm < into ? ` (${block.pre})` : ` (${block.post})`;
  return `${spine}${kind}: ${order.join(", ")}`;
}

const PAUSE = 1100; // milliseconds at a part
const WHOLE = 8; // the first step that is about the whole of the block

// How far the vector has come: by the step, or by Play.
class BlockFlow {
  #playing = new Latest();
  #still = matchMedia("(prefers-reduced-motion: reduce)");
  at = -1; // of `ids`, the part that it has come to
  /** @type {string[]} */
  ids = [];
  play = button("", () => (this.#still.matches ? this.#go((this.at + 1) % this.ids.length) : this.#play()));
  said = caption();
  /** @type {(id: string) => string} */
  say = () => "";

  /** `moved` is told that the vector is elsewhere. @param {(at: number) => unknown} moved */
  constructor(moved) {
    this.moved = moved;
  }

  /** @type {(ids: string[], step: number, texts: Texts, say: (id: string) => string) => void} */
  show(ids, step, { block }, say) {
    this.#playing.stop();
    Object.assign(this, { ids, say });
    this.play.textContent = this.#still.matches ? block.next : block.play;
    const told = STEPS.slice(0, step).flatMap(({ parts }) => parts);
    this.#go(step < WHOLE ? reachedBy(ids, told) : ids.length - 1);
  }

  // From the input to the output, a part after the other.
  #play() {
    this.#playing.run(async (fresh) => {
      for (const at of this.ids.keys()) {
        this.#go(at);
        await fresh(rest(PAUSE));
      }
    });
  }

  #go(/** @type {number} */ at) {
    this.at = at;
    this.said.textContent = at < 0 ? "" : this.say(this.ids[at]);
    this.moved(at);
  }
}
