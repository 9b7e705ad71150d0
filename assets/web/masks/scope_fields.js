// Two fields that say in which layers and heads the mask applies, as the server reads them; empty is all of them.

import { alertLine, caption, control, controls, count, el } from "../core/dom.js";
import { Latest } from "../core/latest.js";
import { scopeOf } from "./requests.js";

/** @typedef {MaskResult["scope"]} Scope its code is "" where it is all layers and heads */

/** @type {Scope} */
const ALL = { code: "", words: "all layers and heads", heads: 0 };
const READING = "Reading the layers and heads …";
const PAUSE = 150; // ms without another letter before the server is asked

export class ScopeFields {
  /** @type {Run | null} */
  run = null;
  scope = ALL;
  wrong = ""; // why there is no scope in what is typed; "" where there is one
  layers = this.#field("viz-mask-layers", "all layers");
  heads = this.#field("viz-mask-heads", "all heads");
  says = caption();
  fault = Object.assign(alertLine(), { id: "viz-mask-scope-fault" });
  node = el(
    "details",
    { class: "viz-mask-scope viz-folded" },
    el("summary", {}, "Only in some layers or heads"),
    controls(control("In layers", this.layers), control("heads", this.heads)),
    ...[this.says, this.fault],
  );
  #asked = new Latest((sentence) => this.#tell(sentence));

  /** `changed` is called with another scope, and where what is typed is none. @param {() => unknown} changed */
  constructor(changed) {
    this.changed = changed;
  }

  /** The scope to begin with. @param {Run} run @param {Scope} [scope] */
  start(run, scope = ALL) {
    const [layers = "", heads = ""] = scope.code.split(":");
    this.#asked.stop();
    [this.run, this.scope] = [run, scope];
    this.node.open ||= Boolean(scope.code);
    Object.assign(this.layers, { value: layers });
    Object.assign(this.heads, { value: heads });
    this.#say("");
  }

  #typed() {
    const [{ run }, layers, heads] = [this, this.layers.value, this.heads.value];
    if (!run) return;
    this.wrong ||= READING;
    this.changed();
    return this.#asked.run(
      async (fresh) => {
        this.scope = await fresh(scopeOf(run, layers, heads));
        this.#tell("");
      },
      { pause: PAUSE },
    );
  }

  #tell(/** @type {string} */ wrong) {
    this.#say(wrong);
    this.changed();
  }

  #say(/** @type {string} */ wrong) {
    const { code, heads, words } = this.scope;
    this.wrong = this.fault.textContent = wrong;
    for (const field of [this.layers, this.heads]) field.setAttribute("aria-invalid", String(Boolean(wrong)));
    this.says.hidden = Boolean(wrong); // the scope of before is not what is typed
    const of = count((this.run?.nLayers ?? 0) * (this.run?.nHeads ?? 0));
    this.says.textContent = code
      ? `The mask applies to ${count(heads)} of ${of} heads: ${words}. All others run without it.`
      : "The mask applies to all layers and heads.";
  }

  #field(/** @type {string} */ id, /** @type {string} */ placeholder) {
    return el("input", {
      ...{ type: "text", class: "viz-mask-places", id, placeholder, autocomplete: "off" },
      ...{ "aria-describedby": "viz-mask-scope-fault", oninput: () => this.#typed() },
    });
  }
}

/** That of a code such as "3-5:1,4"; an Error says why it is none. @type {(run: Run, code: string) => Promise<Scope>} */
export async function scopeIn(run, code) {
  const [layers = "", heads = ""] = code.split(":");
  return code ? scopeOf(run, layers, heads) : ALL;
}
