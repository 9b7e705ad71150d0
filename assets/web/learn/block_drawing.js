// The block as a drawing, in the order that the model has: what bypasses attention and the FFN, and where norms stand.

import { el, svg } from "../core/dom.js";
import { INSIDE, partsOf } from "./block_parts.js";
import { stageName } from "./step_residual.js";
import { STEPS } from "./steps.js";

/** @import { Part } from "./block_parts.js" */
/** @import { Stage, Texts } from "./types.d.ts" */

const [WIDE, LEFT, BOX, RIGHT] = [150, 6, 104, 132]; // of the drawing; of a box, and of the bypass
const HIGH = { box: 24, add: 18, fork: 6, dropout: 16 };
const [GAP, MIDDLE] = [8, 58];

export class BlockDrawing {
  node = el("div", { class: "viz-learn-block" });

  /** `go` is told the number of the step that is about a part. @param {(step: number) => unknown} go */
  constructor(go) {
    this.go = go;
  }

  /** @type {(stages: Stage[] | null, step: number, texts: Texts) => void} */
  show(stages, step, texts) {
    const places = placed(partsOf(stages));
    const titles = new Map(stages?.map((stage) => [stage.id, stage]));
    const bottom = places.at(-1)?.bottom ?? 0;
    const line = svg("path", { class: "viz-learn-wire", d: `M${MIDDLE} 12V${bottom + 12}` });
    const name = (/** @type {string} */ id) => stageName(texts, titles.get(id) ?? { id, title: id });
    this.node.replaceChildren(
      svg(
        "svg",
        { viewBox: `0 0 ${WIDE} ${bottom + 16}`, width: WIDE, role: "img", "aria-label": told(places, name, texts) },
        ...[line, ...bypasses(places, texts), group(places, texts)].filter((each) => each !== null),
        ...places.map((place) => this.#part(place, step, name(place.id), texts)),
        svg("path", { class: "viz-learn-tip", d: `M${MIDDLE - 4} ${bottom + 8}h8l-4 7z` }),
      ),
    );
  }

  #part(
    /** @type {Place} */ { kind, id, top },
    /** @type {number} */ step,
    /** @type {string} */ name,
    /** @type {Texts} */ texts,
  ) {
    if (kind === "fork") return svg("circle", { class: "viz-learn-fork", cx: MIDDLE, cy: top + 3, r: 2.5 });
    const about = STEPS.findIndex(({ parts }) => isOf(id, parts)) + 1;
    const lit = isOf(id, STEPS[step - 1].parts);
    const high = HIGH[kind];
    const text = kind === "add" ? "+" : kind === "dropout" ? texts.block.dropout : name;
    const drawn = kind === "add" ? circle(top) : svg("rect", { x: LEFT, y: top, width: BOX, height: high, rx: 6 });
    const at = { x: MIDDLE, y: top + high / 2, "text-anchor": "middle", "dominant-baseline": "central" };
    const part = svg(
      "g",
      { class: `viz-learn-${kind}`, "data-part": id, "data-lit": String(lit) },
      drawn,
      svg("text", at, text),
    );
    if (kind === "dropout") part.append(svg("title", {}, texts.block.dropoutSays));
    if (about) {
      part.classList.add("viz-learn-goes");
      part.addEventListener("click", () => this.go(about));
    }
    return part;
  }
}

/** @typedef {Part & { top: number, bottom: number }} Place */

/** @type {(parts: Part[]) => Place[]} */
function placed(parts) {
  let y = 2;
  return parts.map((part) => {
    const top = y;
    y += HIGH[part.kind] + (part.kind === "dropout" || part.kind === "fork" ? GAP / 2 : GAP);
    return { ...part, top, bottom: top + HIGH[part.kind] };
  });
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

// "norm" is about "norm_attention" and "norm_ffn".
const isOf = (/** @type {string} */ id, /** @type {string[]} */ parts) =>
  parts.some((part) => id === part || id.startsWith(`${part}_`));
