// Two fields that say in which layers and heads the mask applies; empty is all of them.

import { caption, control, controls, count, el } from "../core/dom.js";
import { sentenceOf } from "../core/latest.js";
import { MaskScope } from "./mask_scope.js";

/** @import { Model } from "./mask_scope.js" */

export class ScopeFields {
  /** @type {Model} */
  model = { nLayers: 1, nHeads: 1 };
  scope = new MaskScope(this.model);
  layers = this.#field("viz-mask-layers", "all layers");
  heads = this.#field("viz-mask-heads", "all heads");
  says = caption();
  fault = el("p", { class: "viz-alert", role: "alert", hidden: true, id: "viz-mask-scope-fault" });
  node = el(
    "details",
    { class: "viz-mask-scope viz-folded" },
    el("summary", {}, "Only in some layers or heads"),
    controls(control("In layers", this.layers), control("heads", this.heads)),
    ...[this.says, this.fault],
  );

  /** `changed` is called with another scope, and where what is typed is none. @param {() => unknown} changed */
  constructor(changed) {
    this.changed = changed;
  }

  // Why there is no scope in what is typed; "" where there is one.
  get wrong() {
    return this.fault.textContent ?? "";
  }

  /** The scope to begin with. @type {(model: Model, code: string) => void} */
  start(model, code) {
    this.model = model;
    this.scope = MaskScope.from(code, model);
    this.node.open ||= !this.scope.whole;
    const { layers, heads } = this.scope.written;
    Object.assign(this.layers, { value: layers });
    Object.assign(this.heads, { value: heads });
    this.#tell("");
  }

  #typed() {
    const { scope, wrong } = this;
    try {
      this.scope = MaskScope.typed(this.layers.value, this.heads.value, this.model);
      this.#tell("");
    } catch (fault) {
      this.#tell(`${sentenceOf(fault)}.`);
    }
    if (this.scope.code !== scope.code || this.wrong !== wrong) this.changed();
  }

  #tell(/** @type {string} */ wrong) {
    const { scope } = this;
    this.fault.textContent = wrong;
    this.fault.hidden = !wrong;
    for (const field of [this.layers, this.heads]) field.setAttribute("aria-invalid", String(Boolean(wrong)));
    this.says.hidden = Boolean(wrong); // the scope of before is not what is typed
    this.says.textContent = scope.whole
      ? "The mask applies to all layers and heads."
      : `The mask applies to ${count(scope.many)} of ${count(scope.of)} heads: ${scope.words}. All others run without it.`;
  }

  #field(/** @type {string} */ id, /** @type {string} */ placeholder) {
    return el("input", {
      ...{ type: "text", class: "viz-mask-places", id, placeholder, autocomplete: "off" },
      ...{ "aria-describedby": "viz-mask-scope-fault", oninput: () => this.#typed() },
    });
  }
}
