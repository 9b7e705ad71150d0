// What the Hidden states tab asks of the server, each answer kept with its run; and small sums of it.

const REMEMBERED = 64;
const kept = new WeakMap(); // run → latest answers, by path

// { values, shape, about } of raw numbers, or what was sent as JSON.
export async function ask(run, path, signal) {
  if (!kept.has(run)) kept.set(run, new Map());
  const known = kept.get(run);
  if (known.has(path)) return known.get(path);
  const response = await fetch(run.url(`hidden/${path}`), { signal }).catch((fault) => {
    throw signal?.aborted ? fault : new Error("The server does not answer; is it still running?");
  });
  const json = response.headers.get("content-type")?.includes("json");
  const content = json ? await response.json().catch(() => null) : await response.arrayBuffer();
  if (!response.ok || !content)
    throw new Error(content?.message || `The server answered ${response.status}; press Run again.`);
  const { headers } = response;
  const answer = json
    ? content
    : {
        values: new Float32Array(content),
        shape: headers.get("x-shape").split(",").map(Number),
        about: JSON.parse(decodeURIComponent(headers.get("x-about"))),
      };
  known.set(path, answer);
  if (known.size > REMEMBERED) known.delete(known.keys().next().value);
  return answer;
}

// The real tokens of a run, by their numbers, with or without those the model put there.
export function keptTokens(run, special) {
  return run.tokens.map((_, at) => at).filter((at) => run.valid[at] && (special || !run.special[at]));
}

// The middle value, of those that are defined.
export function median(values) {
  const sorted = Float64Array.from(values.filter((value) => !Number.isNaN(value))).sort();
  const half = sorted.length >> 1;
  if (!sorted.length) return NaN;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

export const named = (run, token) => `${token} “${run.tokens[token]}”`;

// A number as a chart says it: four digits, and a word where there is none.
export const digits = (value) =>
  value == null || Number.isNaN(value)
    ? "not defined"
    : Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-4)
      ? value.toExponential(2)
      : Number(value.toPrecision(4)).toString();

// How many blocks were passed, in words.
export const passed = (layer) =>
  layer === 0 ? "after the embeddings" : layer === 1 ? "after 1 block" : `after ${layer} blocks`;
