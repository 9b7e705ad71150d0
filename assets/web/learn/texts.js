// The languages of the lesson, each of one file, of which the page takes what is its own.

import DE from "../../lessons/de.json" with { type: "json" };
import EN from "../../lessons/en.json" with { type: "json" };
import { AXES } from "../core/labels.js";
import { CHOICE } from "../views/token_choice.js";
import { SCREEN } from "../views/full_screen.js";
import { read } from "./sentences.js";

/** @import { Texts } from "./types.d.ts" */

// What all tabs say is English there.
export const SHARED = { axes: AXES, choice: CHOICE, screen: SCREEN };

/** @type {Record<string, Texts>} */
export const TEXTS = { en: read({ ...EN.language, ...EN.page, ...SHARED }), de: read({ ...DE.language, ...DE.page }) };

/** The language that is spoken for a code; English for any other. @type {(code: string) => string} */
export const languageOf = (code) => (Object.hasOwn(TEXTS, code) ? code : "en");
