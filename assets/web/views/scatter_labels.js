// Places the names of points in a scatter plot without overlaps.

/** @typedef {{ x: number, y: number, name: string }} Point pixels */
/** @typedef {{ name: string, x: number, y: number, anchor: "start" | "end" | "middle" }} Label `x` and `y` of its base line */
/** @typedef {{ left: number, right: number, top: number, bottom: number }} Box pixels */

const [LETTER, HEIGHT, GAP, DOT] = [7, 12, 10, 5];

/** The places of points that stand out: the largest amounts first, then the furthest to the right.
 * @type {(values: number[], along: number[], count: number) => number[]} */
export function outstanding(values, along, count) {
  const known = values.map((_, at) => at).filter((at) => Number.isFinite(values[at]) && Number.isFinite(along[at]));
  const by = (/** @type {number[]} */ of) =>
    known.toSorted((a, b) => Math.abs(of[b]) - Math.abs(of[a])).slice(0, count);
  return [...new Set([...by(values), ...by(along)])];
}

/** A label for each of the wanted points, in their order; one for which there is no room has none.
 * @type {(points: Point[], wanted: number[], frame: Box) => Label[]} */
export function placed(points, wanted, frame) {
  const taken = points.map(({ x, y }) => ({ left: x - DOT, right: x + DOT, top: y - DOT, bottom: y + DOT }));
  /** @type {Label[]} */
  const labels = [];
  for (const at of wanted) {
    const label = choices(points[at]).find((each) => {
      const box = boxOf(each);
      return inside(box, frame) && !taken.some((other) => overlap(box, other));
    });
    if (!label) continue;
    labels.push(label);
    taken.push(boxOf(label));
  }
  return labels;
}

/** @type {(point: Point) => Label[]} */
const choices = ({ x, y, name }) => [
  { name, x: x - GAP, y: y + 4, anchor: "end" },
  { name, x: x + GAP, y: y + 4, anchor: "start" },
  { name, x, y: y - GAP, anchor: "middle" },
  { name, x, y: y + GAP + HEIGHT - 2, anchor: "middle" },
];

/** The room that a label takes. @type {(label: Label) => Box} */
export function boxOf({ name, x, y, anchor }) {
  const width = LETTER * name.length;
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return { left, right: left + width, top: y - HEIGHT + 2, bottom: y + 2 };
}

/** @type {(box: Box, frame: Box) => boolean} */
const inside = (box, frame) =>
  box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;

/** @type {(one: Box, two: Box) => boolean} */
export const overlap = (one, two) =>
  one.left < two.right && two.left < one.right && one.top < two.bottom && two.top < one.bottom;
