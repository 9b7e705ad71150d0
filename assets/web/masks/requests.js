// What the Masks tab asks of the server; a fault comes as the sentence that the server said.

import { Mask } from "./mask_bits.js";

export async function ask(run, path, { body, signal } = {}) {
  const response = await fetch(run.url(`mask/${path}`), {
    method: body === undefined ? "GET" : "POST",
    body,
    signal,
  }).catch((fault) => {
    throw signal?.aborted ? fault : new Error("The server does not answer; is it still running?");
  });
  if (response.ok) return response;
  const fault = await response.json().catch(() => ({}));
  throw new Error(fault.message || `The server answered ${response.status}; try again.`);
}

export async function bits(run, path, more) {
  const response = await ask(run, path, more);
  return Mask.unpack(run.n, new Uint8Array(await response.arrayBuffer()));
}

export const json = async (run, path, more) => (await ask(run, path, more)).json();

export const text = async (run, path, more) => (await ask(run, path, more)).text();

// Intended, passed, observed and leaking of one map, on cells of `step` tokens.
export async function panels(run, layer, head, signal) {
  const response = await ask(run, `panels?layer=${layer}&head=${head}`, { signal });
  const [, n] = response.headers.get("x-shape").split(",").map(Number);
  const values = new Float32Array(await response.arrayBuffer());
  const part = (at) => values.subarray(at * n * n, (at + 1) * n * n);
  return { n, intended: part(0), passed: part(1), observed: part(2), leaking: part(3) };
}

// One mask a layer: whom each token can know of after it.
export async function reach(run, body, signal) {
  const response = await ask(run, "reach", { body, signal });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const cells = run.n * run.n;
  return Array.from({ length: run.nLayers }, (_, layer) => Mask.unpack(run.n, bytes, layer * cells));
}
