// What the server says, in the language of the lesson: its sentences are English.

/** @import { Texts } from "./types.d.ts" */

/** The sentence as the lesson says it; one that it does not know is marked as the server's own.
 * @type {(texts: Texts, sentence: string) => string} */
export function spoken({ server, serverSays }, sentence) {
  if (!server.length || !sentence) return sentence;
  for (const [said, put] of server) {
    const found = said.exec(sentence);
    if (found) return put(...found.slice(1));
  }
  return serverSays + sentence;
}
