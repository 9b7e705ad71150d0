// The languages of the lesson by their codes.

import { read } from "./sentences.js";
import { DE } from "./texts_de.js";
import { EN } from "./texts_en.js";

/** @import { Texts } from "./types.d.ts" */

/** @type {Record<string, Texts>} */
export const TEXTS = { en: read(EN), de: read(DE) };

/** The language that is spoken for a code; English for any other. @type {(code: string) => string} */
export const languageOf = (code) => (Object.hasOwn(TEXTS, code) ? code : "en");
