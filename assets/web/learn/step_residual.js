// Step 6: the vector after each part of the block, and each norm worked out for one number.

import { el } from "../core/dom.js";
import { asksFor } from "./cover.js";
import { NormPlacement } from "./norm_placement.js";
import { addingUp, fixed, signedText } from "./printed.js";
import { StepView } from "./step_view.js";
import { VectorRows } from "./vector_rows.js";

/** @import { Row } from "./vector_rows.js" */
/** @import { Norm, Stage, Texts } from "./types.d.ts" */

const ASKED = /** @type {Record<string, string>} */ ({
  residual_attention: "residual-cell",
  norm_attention: "normed-cell",
});

export class ResidualStep extends StepView {
  norms = el("div", { class: "viz-learn-norms" });
  placement = new NormPlacement(this.acts);
  views = [this.placement];
  rows = new VectorRows(this.acts);
  node = el("div", {}, this.rows.node, this.norms, this.note, this.placement.node);

  headline() {
    const { run, place, numbers, texts } = this.shown;
    const own = (numbers.stages ?? []).filter(({ id }) => id !== "norm_final"); // the block's
    const lengths = own.flatMap(({ vector, length }) => (vector && length !== null ? [length] : []));
    if (!lengths.length) return [];
    const [first, last] = [lengths[0], lengths[lengths.length - 1]];
    return texts.residual.headline(run.tokens[place.query], fixed(first, 1), fixed(last, 1));
  }

  draw() {
    const { place, numbers, texts } = this.shown;
    const stages = numbers.stages ?? [];
    /** @type {Row[]} */
    const rows = stages.flatMap(({ id, title, vector }) =>
      vector ? [{ name: stageName(texts, { id, title }), values: vector, ...(ASKED[id] && { asks: ASKED[id] }) }] : [],
    );
    if (!rows.length) return;
    this.rows.show(texts.residual.stages, rows, place.around, texts, 2);
    const first = stages.find(({ norm }) => norm); // of which it is said what a norm does
    const worked = stages.flatMap((stage, at) => [
      ...added(stages, at, place.around, texts),
      ...(stage.norm
        ? [normed(stage, stage.norm, place.around, texts, stages[at - 1]?.id ?? "", stage === first)]
        : []),
    ]);
    this.norms.replaceChildren(...worked);
    this.note.textContent = texts.residual.note;
  }
}

/** The name of a stage in the language of the texts.
 * @type {(texts: Texts, stage: { id: string, title: string }) => string} */
export const stageName = ({ stages }, { id, title }) => /** @type {Record<string, string>} */ (stages)[id] ?? title;

/** One cell of a residual sum: its old value, and the addend.
 * @type {(stages: Stage[], at: number, around: number, texts: Texts) => HTMLElement[]} */
function added(stages, at, around, texts) {
  const { id, title, vector } = stages[at];
  const before = stages.slice(0, at).findLast((stage) => stage.vector && (stage.id === "x" || isResidual(stage)));
  if (!isResidual({ id }) || !vector || !before?.vector) return [];
  const dim = Math.min(around, vector.length - 1);
  const [was, part] = addingUp([before.vector[dim], vector[dim] - before.vector[dim]], 3, vector[dim]);
  const sum = asked(id, dim, fixed(vector[dim], 3));
  const said = [texts.residual.one(dim), asked(before.id, dim, fixed(was, 3)), ` ${signedText(part, 3)} = `, sum];
  return [el("p", { class: "viz-learn-equation" }, el("b", {}, `${stageName(texts, { id, title })}. `), ...said)];
}

// A number, which may be what an exercise asks for.
const asked = (/** @type {string} */ id, /** @type {number} */ cell, /** @type {string} */ text) =>
  el("span", ASKED[id] ? asksFor(ASKED[id], { cell }) : {}, text);

const isResidual = (/** @type {{ id: string }} */ { id }) => id.startsWith("residual");

/** One cell of the vector through a norm.
 * @type {(stage: Stage, norm: Norm, around: number, texts: Texts, into: string, explained: boolean) => HTMLElement} */
function normed({ id, title }, norm, around, texts, into, explained) {
  const words = texts.residual;
  const at = Math.min(around, norm.before.length - 1);
  const [given, out] = [norm.before[at], norm.after[at]];
  const mean = norm.mean === null ? "" : fixed(norm.mean, 4);
  const x = asked(into, at, fixed(given, 3));
  const centered = norm.mean === null ? [x] : ["(", x, ` ${signedText(-norm.mean, 4)})`];
  const weight = norm.weight ? ` × ${fixed(norm.weight[at], 3)}` : "";
  const bias = norm.bias ? ` ${signedText(norm.bias[at], 3)}` : "";
  return el(
    "p",
    { class: "viz-learn-equation" },
    el("b", {}, `${stageName(texts, { id, title })}. `),
    ...(explained ? [words.norm(norm.kind, mean, fixed(norm.std, 4)), el("br")] : []),
    ...[words.one(at), ...centered, ` ÷ ${fixed(norm.std, 4)}${weight}${bias} = `, asked(id, at, fixed(out, 3))],
  );
}
