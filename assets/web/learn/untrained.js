// Pre-norm and post-norm by depth: one small untrained encoder in doubles, whose blocks may lack a part.

import { added, attended, cosine, lengthOf, linear } from "./arithmetic.js";

/** @import { Vector } from "./arithmetic.js" */
/** @import { Tensor } from "./offline/tensors.js" */
/** @typedef {{ q: Tensor, k: Tensor, v: Tensor, o: Tensor, up: Tensor, down: Tensor }} Weights of a block */
/** @typedef {{ post: boolean, residual: boolean, norm: boolean }} Blocks where the norm stands, and what there is */
/** @typedef {{ length: number, left: number, alike: number }} Told of one token's state: its length; what of the
 *   embedding came by the residual connections alone, as a part of it; its mean cosine to the other tokens' states */

export const DEPTHS = [0, 1, 2, 3, 6, 12]; // blocks after which the state is told
const [WIDTH, HEADS, EPS, SEED, MOST] = [64, 4, 1e-5, 1, 128]; // tokens of a long text that are read

/** @type {(names: string[], at: number, blocks: Blocks) => Told[]} */
export function byDepth(names, at, { post, residual, norm }) {
  const { weights, embedded } = made(names.slice(0, Math.max(MOST, at + 1)));
  let [x, way] = [embedded, embedded[at]]; // the way of the embedding past all attention and FFN
  const told = [measured(x, way, at)];
  for (const block of weights) {
    for (const part of [mixed, fed]) {
      const out = part(norm && !post ? x.map((each) => scaled(each)) : x, block);
      [x, way] = residual ? [x.map((each, token) => added(each, out[token])), way] : [out, way.map(() => 0)];
      if (norm && post) [way, x] = [scaled(way, x[at]), x.map((each) => scaled(each))];
    }
    told.push(measured(x, way, at));
  }
  return DEPTHS.map((depth) => told[depth]);
}

// Equal names get equal vectors, from N(0, 1), and sinusoids by their places; the weights are Xavier's.
function made(/** @type {string[]} */ names) {
  const random = uniform(SEED);
  const weights = Array.from({ length: Math.max(...DEPTHS) }, () => {
    const [q, k, v, o] = Array.from({ length: 4 }, () => xavier(random, WIDTH, WIDTH));
    return { q, k, v, o, up: xavier(random, 4 * WIDTH, WIDTH), down: xavier(random, WIDTH, 4 * WIDTH) };
  });
  /** @type {Map<string, Vector>} */
  const known = new Map();
  for (const name of names)
    if (!known.has(name))
      known.set(
        name,
        Array.from({ length: WIDTH }, () => normal(random)),
      );
  return { weights, embedded: names.map((name, place) => added(known.get(name) ?? [], sinusoids(place, WIDTH))) };
}

/** Numbers in [0, 1), the same each time (mulberry32). @type {(seed: number) => () => number} */
function uniform(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

// By Box and Muller.
const normal = (/** @type {() => number} */ random) =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Glorot and Bengio (2010). @type {(random: () => number, rows: number, columns: number) => Tensor} */
function xavier(random, rows, columns) {
  const most = Math.sqrt(6 / (rows + columns));
  return {
    shape: [rows, columns],
    values: Float64Array.from({ length: rows * columns }, () => most * (2 * random() - 1)),
  };
}

/** The position's row of the sinusoidal table: sines in even cells, cosines in odd ones.
 * @type {(place: number, width: number) => Vector} */
export const sinusoids = (place, width) =>
  Array.from({ length: width }, (_, cell) => {
    const turned = place / 10_000 ** ((cell - (cell % 2)) / width);
    return cell % 2 ? Math.cos(turned) : Math.sin(turned);
  });

/** Less its mean, divided by the standard deviation of itself or of another. @type {(x: Vector, by?: Vector) => Vector} */
function scaled(x, by = x) {
  const mean = (/** @type {Vector} */ all) => all.reduce((sum, each) => sum + each, 0) / all.length;
  const [middle, other] = [mean(x), mean(by)];
  const divisor = Math.sqrt(mean(by.map((each) => (each - other) ** 2)) + EPS);
  return x.map((each) => (each - middle) / divisor);
}

/** @type {(x: Vector[], weights: Weights) => Vector[]} */
function mixed(x, { q, k, v, o }) {
  const all = [q, k, v].map((weight) => x.map((each) => linear(each, weight)));
  const allowed = x.map(() => x.map(() => true));
  const heads = Array.from({ length: HEADS }, (_, head) => attended(WIDTH / HEADS, all, head, allowed));
  return x.map((_, token) =>
    linear(
      heads.flatMap(({ outs }) => outs[token]),
      o,
    ),
  );
}

/** @type {(x: Vector[], weights: Weights) => Vector[]} */
const fed = (x, { up, down }) =>
  x.map((each) =>
    linear(
      linear(each, up).map((unit) => Math.max(0, unit)),
      down,
    ),
  );

/** @type {(x: Vector[], way: Vector, at: number) => Told} */
function measured(x, way, at) {
  const length = lengthOf(x[at]);
  const cosines = x.flatMap((each, token) => (token === at ? [] : [cosine(each, x[at])]));
  const alike = cosines.length ? cosines.reduce((sum, each) => sum + each, 0) / cosines.length : 1;
  return { length, left: lengthOf(way) / length, alike };
}
