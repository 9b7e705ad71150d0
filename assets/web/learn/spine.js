// The parts of one block in the order in which the model has them, with those that a step is about lit.

import { el } from "../core/dom.js";
import { STEPS } from "./steps.js";

/** @import { Stage } from "./types.d.ts" */

/**
 * If no stages can be read, those of every attention layer.
 * @type {Pick<Stage, "id" | "title">[]}
 */
const USUAL = [
  { id: "x", title: "x" },
  { id: "qkv", title: "q k v" },
  { id: "scores", title: "scores" },
  { id: "softmax", title: "softmax" },
  { id: "values", title: "· V" },
];

export class Spine {
  node = el("ol", { class: "viz-learn-spine" });

  /** `go` is told the number of the step that is about a part. @param {(step: number) => unknown} go */
  constructor(go) {
    this.go = go;
  }

  /** @type {(stages: Stage[] | null, step: number) => void} */
  show(stages, step) {
    const { parts } = STEPS[step - 1];
    this.node.replaceChildren(
      ...(stages ?? USUAL).map(({ id, title }) => {
        const lit = isOf(id, parts);
        const about = STEPS.findIndex((each) => isOf(id, each.parts)) + 1;
        const press = { type: /** @type {const} */ ("button"), disabled: !about, onclick: () => this.go(about) };
        return el("li", { class: lit ? "viz-learn-lit" : "", "data-part": id }, el("button", press, title));
      }),
    );
  }
}

// "norm" is about "norm_attention" and "norm_ffn".
const isOf = (/** @type {string} */ id, /** @type {string[]} */ parts) =>
  parts.some((part) => id === part || id.startsWith(`${part}_`));
