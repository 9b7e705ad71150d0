// Colors of effects on one scale from −largest by 0 to largest, with its legend.

import { inkOn, makeScale, rgbText, SIGNED } from "../core/colors.js";
import { el } from "../core/dom.js";
import { signedColors, signedRamp } from "../core/signed_colors.js";
import { digitsFor, largestAmount, legendOf, signedFixed } from "./wording.js";

/** @import { Colors, Scale } from "../core/colors.js" */
/** @import { Maybe } from "../core/payloads.d.ts" */

export class EffectColors {
  /** @param {Iterable<Maybe>} values @param {string} answer how the model's own is named, "" where it gives none */
  constructor(values, answer) {
    const all = Array.from(values);
    this.largest = largestAmount(all);
    this.signed = answer !== "" || all.some((value) => value !== null && value < 0);
    this.missing = all.includes(null);
    this.said = legendOf(answer);
    this.sign = this.said.turned ? -1 : 1;
    this.color = signedColors();
  }

  /** Background and ink. @type {(value: Maybe) => [background: string, ink: string]} */
  of(value) {
    const color = this.color(value === null ? null : (this.sign * value) / (this.largest || 1));
    return [rgbText(color), inkOn(color)];
  }

  /** Colors in the form chips take. @returns {{ scale: Scale, colors: Colors }} */
  get chips() {
    return { scale: makeScale(SIGNED, this.largest), colors: signedRamp(this.color, this.sign) };
  }

  /** A bar from the lowest to the largest, and what its sides mean. @type {(unit: string) => HTMLElement} */
  legend(unit) {
    const low = this.signed ? -this.largest : 0;
    const stops = Array.from({ length: 9 }, (_, at) => this.of(low + (at / 8) * (this.largest - low))[0]);
    const bar = el("i", { style: `background: linear-gradient(to right, ${stops.join(", ")})` });
    const said = (/** @type {number} */ value, /** @type {string} */ words) =>
      el("span", {}, `${signedFixed(value, digitsFor(this.largest))} ${words}`);
    const none = el("b", { style: `background: ${this.of(null)[0]}` });
    return el(
      "div",
      { class: "viz-whatif-legend" },
      ...[said(low, this.signed ? this.said.low : ""), bar, said(this.largest, this.said.high)],
      ...(this.missing ? [el("span", {}, none, " not measured")] : []),
      ...(unit ? [el("em", {}, unit)] : []),
    );
  }
}
