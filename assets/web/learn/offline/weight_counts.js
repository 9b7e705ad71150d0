// Counts an encoder's weights part by part, and one layer's cost.

/** @import { Built, Sizes } from "../step_build.js" */

const MOST = 10 ** 7; // largest size
const BUCKETS = 32; // for relative positions
const LEAST = /** @type {Record<string, number>} */ ({ V: 6 }); // five special tokens and a word
const COUNTS = ["V", "d_model", "n_layers", "n_heads", "d_ff", "T"];

/** @type {Sizes} */
const ORIGINAL = {
  ...{ V: "10000", d_model: "512", n_layers: "6", n_heads: "8", d_ff: "2048", T: "128" },
  ...{ positions: "sinusoidal", norm: "post", activation: "relu" },
};
const LARGE = { V: "30522", T: "512", positions: "learned", norm: "post", activation: "gelu" };
/** @type {Record<string, Sizes>} */
const PRESETS = {
  small: { ...LARGE, d_model: "256", n_layers: "6", n_heads: "8", d_ff: "1024" },
  base: { ...LARGE, d_model: "768", n_layers: "12", n_heads: "12", d_ff: "3072" },
  original: ORIGINAL,
};

/** Sizes not given are the original encoder's (arXiv:1706.03762); returns a message if impossible.
 * @type {(sizes: Sizes) => Built | { message: string }} */
export function weightCounts(sizes) {
  const asked = { ...ORIGINAL, ...sizes };
  const message = refused(asked);
  if (message) return { message };
  const [V, D, L, h, wide, T] = COUNTS.map((name) => Number(asked[name]));
  const parts = [
    part("token embeddings", "V · D", V * D),
    ...(asked.positions === "learned" ? [part("position embeddings", "T · D", T * D)] : []),
    part("attention: W_q, W_k, W_v, W_O", "L · (4 · D² + 4 · D)", L * (4 * D * D + 4 * D)),
    part("feed-forward network", "L · (2 · D · D_ff + D_ff + D)", L * (2 * D * wide + wide + D)),
    part("norms", "L · 2 · 2 · D", L * 4 * D),
    ...(asked.positions === "relative" ? [part("relative positions", "buckets · h", BUCKETS * h)] : []),
    ...(asked.norm === "pre" ? [part("final norm", "2 · D", 2 * D)] : []),
  ];
  return {
    ...{ asked, parts, total: parts.reduce((sum, { count }) => sum + count, 0), presets: PRESETS, T },
    ...{ scores_cost: 2 * T * T * D, ffn_cost: 2 * T * D * wide, projections_cost: 4 * T * D * D, equal_at: wide },
    ...{ runs: false, most: 0 },
  };
}

const part = (/** @type {string} */ name, /** @type {string} */ formula, /** @type {number} */ count) => ({
  ...{ name, formula, count },
});

/** Why there is no encoder of these sizes; "" where there is one. @type {(asked: Sizes) => string} */
function refused(asked) {
  for (const name of COUNTS) {
    const [least, value] = [LEAST[name] ?? 1, asked[name]];
    if (!/^\d{1,9}$/.test(value) || Number(value) < least || Number(value) > MOST) {
      return `${name} is ${value || "empty"}; it must be ${least} to ${MOST.toLocaleString("en-US")}.`;
    }
  }
  const [wide, heads] = [Number(asked.d_model), Number(asked.n_heads)];
  if (wide % heads) {
    return `d_model = ${wide} cannot be divided among ${heads} heads; choose a multiple of ${heads}.`;
  }
  if (asked.positions === "rotary" && (wide / heads) % 2) {
    return `d_head = ${wide / heads} cannot be rotated in pairs; choose an even one.`;
  }
  return "";
}
