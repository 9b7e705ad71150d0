// An answer that takes its time, in lines of JSON: how much of it is done, and then the result.

import { ask } from "./server.js";

/** @typedef {(done: number) => unknown} Tell is told the share that is done, 0 … 1 */

const CUT = "The server stopped before the result was ready; try again.";

/** Ask for it; whoever aborts the signal stops the server's work too.
 * @template Result @param {string} path @param {Tell} tell @param {Sent} [sent] @returns {Promise<Result>} */
export async function streamed(path, tell, sent) {
  const response = await ask(path, sent);
  for await (const line of linesOf(response.body, sent?.signal)) {
    const said = parsed(line);
    if ("result" in said) return said.result;
    if ("message" in said) throw new Error(said.message);
    tell(said.done);
  }
  throw new Error(CUT);
}

// Each line as it is whole; text comes in pieces that may end anywhere, within a letter too.
/** @type {(body: ReadableStream<Uint8Array> | null, signal?: AbortSignal) => AsyncGenerator<string>} */
async function* linesOf(body, signal) {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    while (reader) {
      const { done, value } = await reader.read().catch((fault) => {
        throw signal?.aborted ? fault : new Error(CUT);
      });
      const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      yield* lines.filter((line) => line.trim());
      if (done) return;
    }
  } finally {
    reader?.cancel().catch(() => {}); // stops the server's work if the result is no longer needed
  }
}

/** @type {(line: string) => any} */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(CUT);
  }
}
