// The effects of a grid as a table: a line a head, with what was measured, in what, and how.

/** @import { HeadEffects, Maybe, Patched, TextEffects } from "../core/payloads.d.ts" */
/** @import { Saved } from "../views/save_row.js" */
/** @typedef {{ mode: string, measure: string, unit: string, values: Maybe[][], spread?: Maybe[][] }} Part */

/** @type {Record<string, string>} */
const UNITS = { masked: "logits", logit: "logits", pooled: "1 − cosine", state: "1 − cosine" };

/** `name` is the measure's short one. @type {(effects: HeadEffects, name: string) => Part[]} */
export const removed = ({ values, how, measure }, name) => [
  { mode: `removed: ${how} in place of the head's output`, measure, unit: UNITS[name] ?? "", values },
];

/** @type {(found: Patched) => Part[]} */
export const patchedBothWays = ({ noising, denoising, measure }) =>
  [
    { mode: "noising: patched from the twin", values: noising },
    { mode: "denoising: patched into the twin", values: denoising },
  ].map((part) => ({ ...part, measure, unit: "share of the whole difference" }));

/** @type {(found: TextEffects, how: string, name: string) => Part[]} */
export const overTexts = ({ mean, spread, n, measure }, how, name) => [
  { mode: `removed (${how}), mean of ${n} texts`, measure, unit: UNITS[name] ?? "", values: mean, spread },
];

/** @type {(parts: Part[]) => string} */
export function csvOf(parts) {
  const spread = parts.some((part) => part.spread);
  const titles = ["layer", "head", "effect", ...(spread ? ["spread"] : []), "unit", "mode", "measure"];
  const lines = parts.flatMap((part) =>
    part.values.flatMap((heads, layer) =>
      heads.map((value, head) => {
        const apart = spread ? [part.spread?.[layer]?.[head] ?? ""] : [];
        return [layer, head, value ?? "", ...apart, ...[part.unit, part.mode, part.measure].map(quotedField)];
      }),
    ),
  );
  return `${[titles, ...lines].map((line) => line.join(",")).join("\r\n")}\r\n`;
}

/** @type {(parts: Part[], model: string) => Saved} */
export function tableFile(parts, model) {
  const name = `${model}-effects.csv`.replace(/[^A-Za-z0-9_.+-]+/g, "-");
  return { blob: new Blob([csvOf(parts)], { type: "text/csv;charset=utf-8" }), name };
}

const quotedField = (/** @type {string} */ text) => `"${text.replaceAll('"', '""')}"`;
