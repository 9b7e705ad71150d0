// Which lines are drawn between tokens: each query's strongest, up to a share of its weight.

export const FAINT = 0.0004; // a weight below this makes a line that no screen shows

// What the pairs of a filter such as "AB" are: from text A (0) to text B (1).
export const PAIRS = { all: null, AA: [0, 0], AB: [0, 1], BA: [1, 0], BB: [1, 1] };

// The lines of one map of rows × keys (row-major, NaN = masked). `sides` are the segments of rows
// and keys; a filter picks from the lines and leaves the shares as they are.
// Gives the lines' queries, keys and weights, how many are too faint, and how many cells there are.
export function strongest(values, rows, keys, share, pair, sides) {
  const found = { query: [], key: [], weight: [], faint: 0, cells: 0 };
  for (let row = 0; row < rows; row++) {
    if (pair && sides.rows[row] !== pair[0]) continue;
    const weights = values.subarray(row * keys, (row + 1) * keys);
    const least = cutoff(weights, share);
    for (let key = 0; key < keys; key++) {
      const weight = weights[key];
      if (weight !== weight || (pair && sides.keys[key] !== pair[1])) continue;
      found.cells++;
      if (!(weight >= least)) continue;
      if (weight < FAINT) {
        found.faint++;
        continue;
      }
      found.query.push(row);
      found.key.push(key);
      found.weight.push(weight);
    }
  }
  return found;
}

// The smallest weight among the strongest that together reach the share; as strong ones come with it.
function cutoff(weights, share) {
  const sorted = weights.filter((weight) => weight > 0).sort();
  if (!sorted.length) return Infinity;
  if (share >= 1) return sorted[0];
  const whole = sorted.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  for (let at = sorted.length - 1; at >= 0; at--) {
    sum += sorted[at];
    if (sum >= share * whole) return sorted[at];
  }
  return sorted[0];
}

// The lines in the order of the tokens at one of their ends, and where each token's begin there:
// pointing at a token must not cost a look at every line.
export function byToken(ends, tokens) {
  const starts = new Uint32Array(tokens + 1);
  for (const end of ends) starts[end + 1]++;
  for (let at = 0; at < tokens; at++) starts[at + 1] += starts[at];
  const next = starts.slice();
  const lines = new Uint32Array(ends.length);
  ends.forEach((end, line) => {
    lines[next[end]++] = line;
  });
  return { starts, lines };
}

// The lines of one head that begin (side "query") or end (side "key") at one token.
export function eachAt({ by }, { side, at }, visit) {
  const { starts, lines } = by[side];
  for (let i = starts[at]; i < starts[at + 1]; i++) visit(lines[i]);
}

// The least weight among so many of one token's strongest lines; 0 where it has no more than that.
export function leastOf(sets, only, most) {
  const weights = [];
  for (const set of sets) eachAt(set, only, (i) => weights.push(set.weight[i]));
  return weights.length > most ? Float32Array.from(weights).sort().at(-most) : 0;
}

// The tokens that the lines of one token join, itself among them.
export function linked(sets, only) {
  const joined = { query: new Set(), key: new Set() };
  joined[only.side].add(only.at);
  for (const set of sets) {
    eachAt(set, only, (i) => {
      joined.query.add(set.query[i]);
      joined.key.add(set.key[i]);
    });
  }
  return joined;
}
