// Every key's way from q·k to its weight: scores can be dragged and keys forbidden, and softmax follows at once.

import { el, fillTable, rowWith, tableHead } from "../core/dom.js";
import { oneStop } from "../views/one_stop.js";
import { asksFor } from "./cover.js";
import { addingUp, choosing, fixed, listed } from "./printed.js";
import { softmax } from "./arithmetic.js";

/** @import { Softmax } from "./arithmetic.js" */
/** @import { Acts, SeenAttention, Shown, Texts } from "./types.d.ts" */
/** @typedef {{ scores: number[], allowed: boolean[] }} Edited */
/** @typedef {{ weight: HTMLElement, was: HTMLElement, bar: HTMLElement, exp: HTMLElement, row: HTMLElement,
 *   slider: HTMLElement, minus: HTMLElement }} Cells */

const [MOST_LISTED, BELOW_WIDE] = [16, 10]; // keys that all have a row: as many as question 4.2 lists, or as there is room
const NARROW = 16; // numbers of a head whose products take one line

export class ScoreTable {
  node = el("table", { class: "viz-learn-scores" });
  /** @type {Edited} */
  edited = { scores: [], allowed: [] };
  /** @type {Softmax} */
  now = { max: 0, exps: [], sum: 0, weights: [] };
  /** @type {SeenAttention | null} */
  ran = null;
  /** @type {Map<number, Cells>} */
  #cells = new Map();

  /** `choose` is told the key of a row; `changed` of every number that was changed here.
   * @param {Acts["choose"]} choose @param {() => unknown} changed */
  constructor(choose, changed) {
    this.choose = choose;
    this.changed = changed;
    oneStop(this.node, "button, input, [role=slider]");
  }

  // Whether any score or mask differs from what ran.
  get touched() {
    const { ran, edited } = this;
    return Boolean(ran?.dots.some((_, key) => edited.allowed[key] !== Boolean(ran.allowed[key]) || this.#moved(key)));
  }

  /** @type {(shown: Shown, attention: SeenAttention, divided: boolean) => void} */
  show({ run, place, texts }, attention, divided) {
    this.ran = attention;
    this.divided = divided;
    this.edited = { scores: this.#scores(), allowed: attention.allowed.map(Boolean) };
    const keys = listed(attention.weights, [place.key], attention.q.length > NARROW ? BELOW_WIDE : MOST_LISTED);
    const words = texts.attention;
    const { columns } = words;
    const by = divided ? divisor(attention) : words.undivided;
    const titles = [columns.dot, el("span", {}, `${by} (${words.drag})`), columns.allowed, columns.exp, columns.weight];
    this.#cells.clear();
    const rows = keys.map((key) => this.#row(run.tokens[key], key, key === place.key, texts));
    const left = attention.weights.length - keys.length;
    const foot = el("tfoot", { hidden: !left }, el("tr", {}, el("td", { colspan: 6 })));
    fillTable(this.node, tableHead(columns.key, ...titles), rows, foot);
    this.left = left ? { keys, texts } : null;
    this.#update();
  }

  #scores() {
    const { ran, divided } = this;
    if (!ran) return [];
    return ran.dots.map((dot, key) => (divided ? dot * ran.scale : dot) + (ran.bias?.[key] ?? 0));
  }

  #moved(/** @type {number} */ key) {
    return this.ran !== null && Math.abs(this.edited.scores[key] - this.#ranScore(key)) > 1e-9;
  }

  #ranScore(/** @type {number} */ key) {
    const { ran } = this;
    return ran ? ran.dots[key] * ran.scale + (ran.bias?.[key] ?? 0) : 0;
  }

  /** @type {(name: string, key: number, chosen: boolean, texts: Texts) => HTMLTableRowElement} */
  #row(name, key, chosen, { attention: words }) {
    const { edited, ran } = this;
    const slider = scrubber(
      edited.scores[key],
      words.dragged(name),
      (score) => {
        edited.scores[key] = score;
        this.#update();
      },
      () => this.changed(),
    );
    const check = el("input", {
      type: "checkbox",
      checked: edited.allowed[key],
      "aria-label": words.look(name),
      onchange: ({ currentTarget }) => {
        edited.allowed[key] = currentTarget.checked;
        this.#update();
        this.changed();
      },
    });
    const [score, asked] = chosen ? [asksFor("score"), asksFor("weight-of-key")] : [{}, {}];
    const [exp, weight, was, bar] = [el("td"), el("span", asked), el("small", asked), el("i")];
    const minus = el("span", {}, "−∞"); // the score of a key that is not allowed
    const pick = choosing(name, () => this.choose({ key }));
    const row = rowWith(
      { class: chosen ? "viz-chosen" : "", "data-key": key },
      pick,
      fixed(ran?.dots[key] ?? 0, 2),
      el("td", {}, el("span", score, slider), minus),
      el("label", { class: "viz-learn-box" }, check),
      exp,
      el("td", { class: "viz-learn-weight" }, bar, " ", weight, " ", was),
    );
    this.#cells.set(key, { weight, was, bar, exp, row, slider, minus });
    return row;
  }

  #update() {
    const { ran, edited } = this;
    if (!ran) return;
    this.now = softmax(edited.scores, edited.allowed, ran.sink);
    const { touched } = this;
    const exps = addingUp(this.now.exps, 4, ran.sink === null ? this.now.sum : undefined);
    for (const [key, { weight, was, bar, exp, row, slider, minus }] of this.#cells) {
      [slider.hidden, minus.hidden] = [!edited.allowed[key], edited.allowed[key]];
      exp.textContent = edited.allowed[key] ? fixed(exps[key], 4) : "0";
      weight.textContent = edited.allowed[key] ? fixed(this.now.weights[key], 3) : "0";
      weight.dataset.weight = String(this.now.weights[key]);
      bar.style.setProperty("--weight", String(this.now.weights[key]));
      was.textContent = touched ? `(${fixed(ran.weights[key], 3)})` : "";
      row.classList.toggle("viz-learn-forbidden", !edited.allowed[key]);
    }
    const foot = this.node.tFoot?.querySelector("td");
    if (foot && this.left) {
      const others = this.now.weights.filter((_, key) => !this.#cells.has(key));
      const share = others.reduce((sum, weight) => sum + weight, 0);
      foot.textContent = this.left.texts.attention.others(others.length, fixed(share, 3));
    }
  }
}

// "÷ √16", or "× 0.1768" where the scale is another.
export function divisor(/** @type {SeenAttention} */ { scale, q }) {
  return Math.abs(scale * Math.sqrt(q.length) - 1) < 1e-6 ? `÷ √${q.length}` : `× ${fixed(scale, 4)}`;
}

const [PER_PIXEL, STEP] = [0.03, 0.1];

/** `changed` is told each new number; `done` that the dragging has ended.
 * @type {(value: number, label: string, changed: (value: number) => unknown, done: () => unknown) => HTMLElement} */
function scrubber(value, label, changed, done) {
  const node = el("span", { class: "viz-learn-scrub", role: "slider", tabindex: "0", "aria-label": label });
  let [now, from, start] = [value, 0, value];
  const show = () => {
    node.textContent = fixed(now, 2);
    node.ariaValueNow = String(now);
    node.ariaValueText = fixed(now, 2);
  };
  const set = (/** @type {number} */ next) => {
    now = Math.max(-99, Math.min(99, next));
    show();
    changed(now);
  };
  node.addEventListener("pointerdown", (event) => {
    [from, start] = [event.clientX, now];
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (node.hasPointerCapture(event.pointerId)) set(start + (event.clientX - from) * PER_PIXEL);
  });
  node.addEventListener("lostpointercapture", done);
  node.addEventListener("keydown", (event) => {
    const by = { ArrowRight: STEP, ArrowLeft: -STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault(); // the arrows' meaning for the whole tab
    event.stopPropagation();
    set(now + by);
  });
  node.addEventListener("keyup", (event) => event.key.startsWith("Arrow") && done());
  show();
  return node;
}
