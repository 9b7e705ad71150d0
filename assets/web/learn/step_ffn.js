// Step 7: the feed-forward network of one token: its units, their activation, and what comes out.

import { css, el, svg, tableRow } from "../core/dom.js";
import { fixed } from "./printed.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

/** @import { FfnNumbers, Texts } from "./types.d.ts" */

const [WIDTH, HEIGHT, EDGE] = [420, 190, 26];

export class FfnStep extends StepView {
  title = el("h4");
  curve = el("div", { class: "viz-learn-curve" });
  strongest = el("table", { class: "viz-learn-plain" });
  /** @type {number | null} whose numbers are printed, once one is chosen */
  unit = null;
  units = new VectorRows({ choose: ({ around = 0 }) => this.print(around) });
  out = new VectorRows(this.acts);
  two = el("div", { class: "viz-learn-two" }, el("div", {}, this.title, this.curve), this.strongest);
  node = el("div", {}, this.units.node, this.two, this.out.node, this.note);

  headline() {
    const { run, place, numbers, texts } = this.shown;
    const found = numbers.ffn;
    return found ? texts.ffn.headline(run.tokens[place.query], found.on, found.after.length) : [];
  }

  draw() {
    const { place, numbers, texts } = this.shown;
    const [found, words] = [numbers.ffn, texts.ffn];
    if (!found) return;
    const [[strongest] = [0]] = found.strongest;
    const before = { name: words.before(found.activation), values: found.before };
    const after = { name: words.after(found.activation), values: found.after, asks: "activation" };
    this.units.show(words.units, [before, after], this.unit ?? strongest, texts);
    this.title.textContent = words.curve(found.activation);
    this.curve.replaceChildren(curveOf(found, texts));
    this.strongest.replaceChildren(
      el("caption", {}, words.strongest),
      ...found.strongest.map(([at, value]) => tableRow(String(at), fixed(found.before[at], 3), "→", fixed(value, 3))),
    );
    this.out.show(words.out, [{ name: words.out, values: found.out }], place.around, texts, 3);
    this.note.textContent = words.note(found.out.length, found.after.length);
  }

  print(/** @type {number} */ unit) {
    this.unit = this.units.dim = unit;
    this.units.draw();
  }
}

// Every unit as a dot on the curve: what went in, and what came out.
function curveOf(/** @type {FfnNumbers} */ { before, after, activation }, /** @type {Texts} */ { ffn }) {
  const [low, high] = [Math.min(...before, -1), Math.max(...before, 1)];
  const [bottom, top] = [Math.min(...after, -0.5), Math.max(...after, 1)];
  const x = (/** @type {number} */ value) => EDGE + ((value - low) / (high - low)) * (WIDTH - 2 * EDGE);
  const y = (/** @type {number} */ value) => HEIGHT - EDGE - ((value - bottom) / (top - bottom)) * (HEIGHT - 2 * EDGE);
  const line = css("--border-color-primary");
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": ffn.curve(activation) },
    svg("line", { x1: x(low), x2: x(high), y1: y(0), y2: y(0), stroke: line }),
    svg("line", { x1: x(0), x2: x(0), y1: y(bottom), y2: y(top), stroke: line }),
    ...before.map((value, at) =>
      svg("circle", {
        cx: x(value),
        cy: y(after[at]),
        r: 2.2,
        class: after[at] > 0 ? "viz-learn-on" : "viz-learn-off",
      }),
    ),
    label(x(low), HEIGHT - 8, fixed(low, 1), "start"),
    label(x(high), HEIGHT - 8, fixed(high, 1), "end"),
    label(x(0) + 4, y(top) + 4, fixed(top, 1), "start"),
  );
}

/** @type {(x: number, y: number, text: string, anchor: string) => SVGElement} */
function label(x, y, text, anchor) {
  return svg("text", { x, y, "text-anchor": anchor }, text);
}
