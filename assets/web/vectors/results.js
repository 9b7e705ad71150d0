// Numbers, cells and color scales as poolings are shown.

import { makeScale, SIGNED } from "../core/colors.js";
import { enumerated } from "../core/dom.js";
import { toldApart } from "../core/token_names.js";
import { scaleBar } from "../views/shading.js";

// For labels and seeds; repeats after eight.
export const HUES = ["#4269d0", "#d08b00", "#e0503f", "#2a9d8f", "#8a5cc2", "#5c8a2f", "#c2578f", "#7a6a58"];

/** @type {(value: Maybe | undefined, digits?: number) => string} */
export const fixed = (value, digits = 3) =>
  value == null || Number.isNaN(value) ? "–" : value.toFixed(digits).replace("-", "−");

// A drift: three digits, in powers of ten where it is only rounding.
export function small(/** @type {Maybe} */ value) {
  if (value === null) return "–";
  if (value === 0) return "0";
  return Math.abs(value) < 0.0005 ? value.toExponential(1) : value.toPrecision(3);
}

/** A bar of colors between two numbers. @type {(scale: Scale, low: string, high: string, unit: string) => (string | Node)[]} */
export const bar = (scale, low, high, unit) => [`${low} `, scaleBar(scale), ` ${high}, ${unit}`];

export const COSINES = makeScale(SIGNED, 1);

/**
 * Color bar of the signed scale, or of its upper half if it starts at 0.
 * @type {(low: string, high: string, unit: string) => (string | Node)[]}
 */
export const signedBar = (low, ...more) =>
  bar(low === "0" ? { ...COSINES, at: (share) => share } : COSINES, low, ...more);

/** @type {(text: string, most: number) => string} */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// The method that a model's own files declare, as sentence-transformers computes it.
export const OWN = "declared";

/** A pooling as it is called on the page. @param {string} method */
export const called = (method) => (method === OWN ? "the model’s own" : method);

/** The same within a sentence. @param {string} method */
export const spoken = (method) => (method === OWN ? "the model’s own pooling" : `“${method}”`);

/** Whether the chosen method is the model's own, in a sentence. @type {(own: string, method: string) => string} */
export function ownOrNot(own, method) {
  if (!own) return "";
  return method === OWN
    ? `The chosen row is the model's own pooling, as sentence-transformers computes it: ${own}.`
    : `The chosen row is ${spoken(method)}, not the model's own pooling: ${own}.`;
}

const SAME = 0.99995; // such as a mean that is normalized, beside the mean

const MOST = 3; // tokens that are named

/** The tokens with the largest shares; none where they are as large as the ones behind them.
 * @type {(what: string, tokens: string[], values: Maybe[]) => string} */
function partsSaid(what, tokens, values) {
  const sorted = values.map((share, at) => ({ at, share: Number(share) })).toSorted((a, b) => b.share - a.share);
  if (!sorted.length) return what;
  const [first, next] = [0, MOST].map((at) => `${(100 * (sorted[at]?.share ?? 0)).toFixed(0)}%`);
  if (sorted.length > MOST && first === next)
    return `${what} has no larger part than ${first}, from several of its ${sorted.length} tokens`;
  const named = sorted.slice(0, MOST).map(({ at, share }) => `${(100 * share).toFixed(0)}% ${toldApart(tokens, at)}`);
  const end = named.pop();
  return `${what} is ${named.length ? `${named.join(", ")} and ` : ""}${end}`;
}

/** Which tokens make most of a vector. @type {(tokens: string[], method: string, values: Maybe[], text?: boolean) => string} */
export function madeOf(tokens, method, values, text = true) {
  const whole = text ? "The sentence vector" : "The model’s own vector";
  return `${partsSaid(method === OWN ? whole : `The ${spoken(method)} vector`, tokens, values)}.`;
}

/** Which other poolings point the way of one, and which is nearest to it and which farthest.
 * @type {(method: string, found: Pick<Pooled, "methods" | "cosines">) => string} */
export function besideOthers(method, { methods, cosines }) {
  const own = methods.findIndex(({ name }) => name === method);
  const all = (cosines[own] ?? [])
    .map((cosine, at) => ({ name: spoken(methods[at].name), cosine }))
    .filter(({ cosine }, at) => at !== own && cosine !== null)
    .toSorted((a, b) => Number(b.cosine) - Number(a.cosine));
  const equal = all.filter(({ cosine }) => Number(cosine) >= SAME).map(({ name }) => name);
  const others = all.slice(equal.length);
  const [near, far] = [others[0], others[others.length - 1]];
  const same = equal.length ? [`${enumerated(equal)} ${equal.length === 1 ? "points" : "point"} the same way`] : [];
  const beside =
    far && near !== far
      ? [`${near.name} is nearest (cosine ${fixed(near.cosine, 2)}) and ${far.name} farthest (${fixed(far.cosine, 2)})`]
      : [];
  const said = [...same, ...beside].join("; ");
  return said && `Of the other poolings, ${said}.`;
}

/** @typedef {{ name: string, cosine: number, any: number | null, share: number }} Alike of two texts by one pooling; `any`
 *   two texts have that cosine, and `share` is the way from there to 1 */

/** By each pooling, the closest first: poolings differ in how close any two texts are.
 * @type {(alike: Record<string, Maybe>, usual: Record<string, Maybe>) => Alike[]} */
export function closest(alike, usual) {
  const known = Object.entries(alike).flatMap(([name, cosine]) => (cosine === null ? [] : [{ name, cosine }]));
  return known
    .map(({ name, cosine }) => {
      const any = usual[name] ?? null;
      return { name, cosine, any, share: any === null || any > 1 - 1e-6 ? cosine : (cosine - any) / (1 - any) };
    })
    .toSorted((one, other) => other.share - one.share);
}

/** Which pooling finds two texts most alike, beside the cosine of any two texts and the model's own.
 * @type {(alike: Record<string, Maybe>, usual: Record<string, Maybe>) => string} */
export function alikeSaid(alike, usual) {
  const all = closest(alike, usual);
  const [best] = all;
  if (!best) return "No pooling gives these two a cosine.";
  const numbers = (/** @type {Alike} */ { cosine, any }) =>
    `cosine ${fixed(cosine, 2)}${any === null ? "" : `, where those have ${fixed(any, 2)}`}`;
  const equal = all.filter(({ share, cosine }) => best.share - share < 5e-4 && Math.abs(best.cosine - cosine) < 5e-4);
  const names = equal.map(({ name }) => spoken(name));
  const start =
    best.any !== null && best.share <= 0
      ? `By no pooling are these two more alike than texts on different topics; by ${enumerated(names)}: ${numbers(best)}.`
      : `${best.any === null ? "These" : "Against texts on different topics, these"} two are most alike by ${enumerated(names)}: ${numbers(best)}.`;
  const top = all.reduce((one, other) => (other.cosine > one.cosine ? other : one));
  const own = all.find(({ name }) => name === OWN);
  const more = [top, own].filter((one, at, both) => one && !equal.includes(one) && both.indexOf(one) === at);
  const told = more.map((one) => {
    const { name, cosine, any } = /** @type {Alike} */ (one);
    const beside = any === null ? "" : `, where those have ${fixed(any, 2)}`;
    return ` By ${spoken(name)} it is ${fixed(cosine, 2)}${beside}.`;
  });
  return start + told.join("");
}
