// Where routes stand, and their numbers: tokens across, of which weak ones are folded into one column; blocks upward.

/** @typedef {{ groups: number[][], nodes: number[][] }} Columns the tokens of each, and "state column" shares */
/** @typedef {{ edge: RouteEdge, from: number, to: number }} Curve from the key's column to the query's */
/** @typedef {{ xs: number[], y: number, text: string, span: [left: number, right: number] }} Label of a curve: where its
 *   middle may be, the best place first, and from where to where the curve goes */

const LINE = 15; // pixels of a label
const GAP = 4; // between two labels

/** At most so many columns: that of the token asked about, those that hold most in some row, and last all others together.
 * @type {(columns: Columns, most: number, asked?: number) => Columns} */
export function folded({ groups, nodes }, most, asked = -1) {
  if (groups.length <= most) return { groups, nodes };
  const largest = (/** @type {number} */ at) => Math.max(...nodes.map((row) => Math.abs(row[at])));
  const held = groups.map((tokens, at) => (tokens.includes(asked) ? Infinity : largest(at)));
  const single = groups.flatMap((tokens, at) => (tokens.length === 1 ? at : []));
  const strongest = single.sort((a, b) => held[b] - held[a] || a - b).slice(0, most - 1);
  const kept = strongest.sort((a, b) => a - b);
  const others = groups.flatMap((_, at) => (kept.includes(at) ? [] : at));
  const sum = (/** @type {number[]} */ row) => others.reduce((all, at) => all + row[at], 0);
  return {
    groups: [...kept.map((at) => groups[at]), others.flatMap((at) => groups[at])],
    nodes: nodes.map((row) => [...kept.map((at) => row[at]), sum(row)]),
  };
}

/** The links between columns, the strongest first. @type {(edges: RouteEdge[], groups: number[][]) => Curve[]} */
export function curves(edges, groups) {
  const place = new Map(groups.flatMap((tokens, at) => tokens.map((token) => [token, at])));
  return edges.flatMap((edge) => {
    const [from, to] = [place.get(edge.key) ?? -1, place.get(edge.query) ?? -1];
    return from >= 0 && to >= 0 && from !== to ? { edge, from, to } : [];
  });
}

/** Pixels of a label, with the ground around it. */
export const widthOf = (/** @type {string} */ text) => 7.2 * text.length + 8;

/** Each label at the first of its places where it lies on no earlier label and on no earlier label's curve; one without
 * such a place is left out. @param {Label[]} labels */
export function roomy(labels) {
  /** @type {{ x: number, y: number, text: string }[]} */ const kept = [];
  const half = (/** @type {string} */ text) => widthOf(text) / 2;
  for (const [at, { xs, y, text }] of labels.entries()) {
    const onLabel = (/** @type {number} */ x) =>
      kept.some((one) => Math.abs(one.y - y) < LINE && Math.abs(one.x - x) < half(one.text) + half(text) + GAP);
    const onCurve = (/** @type {number} */ x) =>
      labels.slice(0, at).some(({ y: row, span: [left, right] }) => {
        const beside = x + half(text) < left || x - half(text) > right;
        return Math.abs(row - y) < LINE && !beside;
      });
    const x = xs.find((each) => !onLabel(each) && !onCurve(each));
    if (x !== undefined) kept.push({ x, y, text });
  }
  return kept;
}

/** A part of the score in percent where that says much, else the share itself; "" of what would read as zero.
 * @type {(share: number, found: { score: number, large: boolean }) => string} */
export function shareSaid(share, { score, large }) {
  const part = share / score;
  const said = large ? `${Math.round(100 * part)}%` : `${share > 0 ? "+" : ""}${share.toFixed(2)}`;
  return /^[+-]?0(\.00)?%?$/.test(said) ? "" : said.replace("-", "−");
}

/** A part of the score beside the whole, where that says much, or in its unit. @type {(share: number, found: Explained) => string} */
export function amountSaid(share, { score, large, unit }) {
  const amount = `${share > 0 ? "+" : ""}${share.toFixed(4)}`;
  const said = large
    ? `${((100 * share) / score).toFixed(1).replace(/^-0\.0$/, "0.0")}% (${amount} of ${score.toFixed(2)})`
    : `${amount} ${unit === "logits" ? "logits" : "in length"}`;
  return said.replaceAll("-", "−");
}

/** A curve's label: what it moved, and the head that has most of it. @type {(edge: RouteEdge, found: Explained) => string} */
export function linkSaid({ share, layer, head, by_head }, found) {
  const much = by_head === null ? "" : shareSaid(by_head, found);
  const by = much && ` (${layer}.${head}: ${much})`;
  return `${shareSaid(share, found)}${by}`;
}
