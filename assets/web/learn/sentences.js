// Sentences of the lesson, as its files of texts write them: "{n}" is what is given, "{n|1=a block|{n} blocks}" a choice by
// it, else the last; the key of a sentence names what it is given, as in "reach(n)".

/** @import { Given, Texts } from "./types.d.ts" */

const TAKES = /^(\w+)\((.*)\)$/;
const PLACE = /\{(\w+)(?:\|((?:[^{}]|\{\w+\})*))?\}/g;

/** A sentence with what is given in its places. @type {(sentence: string, given: Record<string, Given>) => string} */
export function filled(sentence, given) {
  return sentence.replace(PLACE, (_, name, choices) => {
    const said = String(given[name] ?? "");
    if (choices === undefined) return said;
    const all = /** @type {string} */ (choices).split("|");
    const chosen = all.find((each) => each.startsWith(`${said}=`));
    return filled(chosen === undefined ? all[all.length - 1] : chosen.slice(said.length + 1), given);
  });
}

/** The texts of a file: a function of each sentence that is given something. @param {object} words @returns {any} */
export function read(words) {
  const entries = Object.entries(words).map(([key, text]) => {
    const [, name, listed] = TAKES.exec(key) ?? [];
    const names = listed?.split(", ") ?? [];
    const say = (/** @type {Given[]} */ ...given) =>
      filled(text, Object.fromEntries(names.map((each, at) => [each, given[at]])));
    if (name) return [name, say];
    return [key, typeof text === "object" && !Array.isArray(text) ? read(text) : text];
  });
  return Object.fromEntries(entries);
}

/** A sentence with nodes in place of its marks "\u0000", in their order. @type {(sentence: string, ...nodes: (string | Node)[]) => (string | Node)[]} */
export const woven = (sentence, ...nodes) =>
  sentence.split("\u0000").flatMap((text, at) => (at ? [nodes[at - 1], text] : [text]));

const THOUSANDS = /^\d{1,3}(?:,\d{3})+$/;

/** The sentence as the lesson says it; one that it does not know is marked as the server's own.
 * @type {(texts: Texts, sentence: string) => string} */
export function spoken({ server, serverSays }, sentence) {
  if (!serverSays || !sentence) return sentence;
  for (const [said, put] of Object.entries(server)) {
    const found = new RegExp(said).exec(sentence);
    const given = found?.map((part) => (THOUSANDS.test(part) ? part.replaceAll(",", ".") : part));
    if (given) return filled(put, Object.fromEntries(given.entries()));
  }
  return serverSays + sentence;
}
