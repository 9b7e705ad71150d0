// The languages of the lesson by their codes.

import { DE } from "./texts_de.js";
import { EN } from "./texts_en.js";

/** @import { Texts } from "./texts_en.js" */

/** @type {Record<string, Texts>} */
export const TEXTS = { en: EN, de: DE };

/** The language that is spoken for a code; English for any other. @type {(code: string) => string} */
export const languageOf = (code) => (Object.hasOwn(TEXTS, code) ? code : "en");
