// In the place of ../texts.js where there is no server: the languages, with what this file says otherwise.

import { languageOf as usually, TEXTS as USUAL } from "../texts.js";

/** @import { Texts } from "../types.d.ts" */

/** @type {(texts: Texts) => Texts} */
const alone = (texts) => ({
  ...texts,
  tokens: { ...texts.tokens, note: texts.file.tokens },
  exercise: { ...texts.exercise, none: texts.file.questions },
  build: { ...texts.build, large: () => texts.file.build },
});

/** @type {Record<string, Texts>} */
export const TEXTS = Object.fromEntries(Object.entries(USUAL).map(([code, texts]) => [code, alone(texts)]));

export const languageOf = usually;
