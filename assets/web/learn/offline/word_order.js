// Two words swapped, with positions and without; viz_encoder/effects/word_order.py does the same.

import { lengthOf } from "../arithmetic.js";
import { forward } from "./forward.js";

/** @import { Order } from "../requests.js" */
/** @import { Model } from "./forward.js" */
/** @import { Read } from "./vocabulary.js" */

const ALIKE = "Swapping takes two different words, and this text does not have them; type another word.";

/** @type {(model: Model, read: Read, query: number, key: number) => Order | { message: string }} */
export function wordOrder(model, { ids, special, padding }, query, key) {
  const pair = pairOf(ids, special, query, key);
  if (!pair) return { message: ALIKE };
  const [one, two] = pair;
  const order = ids.map((_, at) => (at === one ? two : at === two ? one : at));
  const moved = order.map((at) => ids[at]);
  const both = [true, false].map((positions) => {
    const ran = [ids, moved].map((read) => forward(model, read, { positions, padding }));
    const [before, after] = ran.map(({ last }) => last.map(({ out }) => out));
    return [before, order.map((at) => after[at])];
  });
  const apart = both.map(([before, after]) => {
    const real = before.flatMap((vector, at) => (padding.includes(at) ? [] : [{ vector, other: after[at] }]));
    const shares = real.map(({ vector, other }) => lengthOf(vector.map((x, dim) => x - other[dim])) / lengthOf(vector));
    return shares.reduce((sum, share) => sum + share, 0) / shares.length;
  });
  const vectors = both.map((each) => each.map((states) => states[query]));
  return { one, two, vectors, apart: [apart[0], apart[1]] };
}

/** @type {(ids: number[], special: boolean[], one: number, two: number) => [number, number] | null} */
function pairOf(ids, special, one, two) {
  const own = ids.flatMap((_, at) => (special[at] ? [] : [at]));
  if (own.includes(one) && own.includes(two) && ids[one] !== ids[two]) return [one, two];
  const first = own.includes(one) ? one : own[0];
  const other = own.find((at) => ids[at] !== ids[first]);
  return other === undefined ? null : [first, other];
}
